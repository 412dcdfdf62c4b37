//! Names in archives, which may say anything.

use crate::wire::failure::Failure;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const LONGEST: usize = 4096;

/// The path an archive names, relative and without detours. Empty stands for where the archive
/// is unpacked. Names that would lead elsewhere condemn the archive: an honest one has none.
pub fn checked(path: &[u8], most_depth: usize) -> Result<PathBuf, Failure> {
    let refused = |why: &str| {
        let shown = String::from_utf8_lossy(&path[..path.len().min(200)]);
        Failure::invalid(format!("the archive names {shown:?}, which {why}"))
    };
    if path.is_empty() || path.contains(&0) {
        return Err(refused("is no path"));
    }
    if path.len() > LONGEST {
        return Err(refused("is too long"));
    }
    if path.starts_with(b"/") {
        return Err(refused("is absolute"));
    }
    let mut whole = PathBuf::new();
    let parts = path.split(|&byte| byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    for (depth, part) in (1..).zip(parts) {
        if part == b".." {
            return Err(refused("leads out"));
        }
        if depth > most_depth {
            return Err(refused("is too deep"));
        }
        whole.push(OsStr::from_bytes(part));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_inside_pass() {
        let path = |text: &str| checked(text.as_bytes(), 8).map(|path| path.display().to_string());
        for (given, clean) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            ("./", ""),
            ("...", "..."),
            ("-rf", "-rf"),
            ("C:..\\x", "C:..\\x"),
        ] {
            assert_eq!(path(given).as_deref(), Ok(clean));
        }
        for outside in ["", "/a", "../a", "a/../../b", "a/..", "a\0b", "1/2/3/4/5/6/7/8/9"] {
            assert!(path(outside).is_err(), "{outside:?}");
        }
        assert!(path(&"x".repeat(5_000)).is_err());
    }
}
