//! Changes that a person has to name before they reach the host: what the host would run by itself,
//! and links that lead elsewhere.

use super::gather::{Incoming, What};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What git runs, or takes orders from.
const OF_GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// Why it is held back, unless it was named.
pub fn reason(incoming: &Incoming, named: &[PathBuf]) -> Option<&'static str> {
    let Incoming { path, what, .. } = incoming;
    if is_run_by_git(path, what) {
        let is_named = |one: &PathBuf| path.starts_with(one) && is_run_by_git(one, what);
        return (!named.iter().any(is_named)).then_some("git on this machine would run it");
    }
    match what {
        What::Link { target } if leads_away(path, target) && !named.contains(path) => {
            Some("the link leads out of the folder")
        }
        _ => None,
    }
}

fn is_run_by_git(path: &Path, what: &What) -> bool {
    let mut parts = path.components().skip_while(|part| part.as_os_str() != ".git");
    match (parts.next(), what) {
        (None, _) => false,
        // A file in its place says where the real one is.
        (Some(_), What::File { .. } | What::Link { .. }) if path.ends_with(".git") => true,
        _ => parts.any(|part| OF_GIT.iter().any(|name| part.as_os_str() == *name)),
    }
}

fn leads_away(path: &Path, target: &[u8]) -> bool {
    let target = Path::new(OsStr::from_bytes(target));
    let mut depth = path.components().count() as i64 - 1;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_held(path: &str, what: What, named: &[&str]) -> bool {
        let named: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
        reason(&Incoming { number: 0, path: path.into(), what, was_there: false }, &named).is_some()
    }

    #[test]
    fn what_git_runs_has_to_be_named() {
        let file = || What::File { mode: 0o755 };
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            "sub/.git/config",
            ".git/modules/x/hooks/post-checkout",
            ".git",
        ] {
            assert!(is_held(path, file(), &[]), "{path}");
            assert!(is_held(path, file(), &["."]), "{path}");
            assert!(!is_held(path, file(), &[path]), "{path}");
        }
        assert!(!is_held(".git/hooks/pre-commit", file(), &[".git/hooks"]));
        assert!(is_held(".git/hooks/pre-commit", file(), &[".git/config"]));
        for path in [".git/index", "hooks/x", "config", ".github/config", "a.git"] {
            assert!(!is_held(path, file(), &[]), "{path}");
        }
    }

    #[test]
    fn links_that_lead_away_have_to_be_named() {
        let link = |target: &str| What::Link { target: target.as_bytes().to_vec() };
        for (path, target) in
            [("a", "/etc/passwd"), ("a", ".."), ("a/b", "../../x"), ("a/b", "c/../../../x")]
        {
            assert!(is_held(path, link(target), &[]), "{path} {target}");
            assert!(!is_held(path, link(target), &[path]), "{path} {target}");
        }
        for (path, target) in [("a", "b"), ("a/b", "../c"), ("a/b", "./c/../d"), ("a", "..c")] {
            assert!(!is_held(path, link(target), &[]), "{path} {target}");
        }
    }
}
