//! Which part of a workspace is meant.

use crate::wire::failure::Failure;
use std::path::{Component, Path, PathBuf};

/// Nothing named means everything.
#[derive(Default)]
pub struct Paths {
    named: Vec<PathBuf>,
    except: Vec<PathBuf>,
}

#[derive(PartialEq, Eq, Debug)]
pub enum Meant {
    Yes,
    /// Something below it is.
    Below,
    No,
}

impl Paths {
    /// Relative to the workspace, without detours.
    pub fn parse(paths: &[String]) -> Result<Paths, Failure> {
        let parse = |text: &String| {
            let refused = || Failure::invalid(format!("not a path of the workspace: {text:?}"));
            let mut whole = PathBuf::new();
            for part in Path::new(text).components() {
                match part {
                    Component::Normal(name) => whole.push(name),
                    Component::CurDir => {}
                    _ => return Err(refused()),
                }
            }
            if text.is_empty() || text.contains('\0') { Err(refused()) } else { Ok(whole) }
        };
        let named = paths.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Paths { named, except: Vec::new() })
    }

    /// Everything but these.
    pub fn all_but(except: impl IntoIterator<Item = PathBuf>) -> Paths {
        Paths { named: Vec::new(), except: except.into_iter().collect() }
    }

    /// Right below a folder: what is named, or is on the way to it.
    pub fn named_below(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        let below = move |named: &PathBuf| {
            let next = named.strip_prefix(folder).ok()?.components().next()?;
            Some(folder.join(next))
        };
        self.named.iter().filter_map(below)
    }

    pub fn meant(&self, path: &Path) -> Meant {
        if self.except.iter().any(|except| path.starts_with(except)) {
            Meant::No
        } else if self.named.is_empty() || self.named.iter().any(|named| path.starts_with(named)) {
            Meant::Yes
        } else if self.named.iter().any(|named| named.starts_with(path)) {
            Meant::Below
        } else {
            Meant::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_all_that_is_below_it() {
        let paths = |texts: &[&str]| {
            Paths::parse(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>())
        };
        let some = paths(&["./a/b/", "c"]).ok().unwrap();
        let meant = |path: &str| some.meant(Path::new(path));
        assert_eq!(
            [meant("a/b"), meant("a/b/x"), meant("c")],
            [Meant::Yes, Meant::Yes, Meant::Yes]
        );
        assert_eq!([meant("a"), meant("")], [Meant::Below, Meant::Below]);
        assert_eq!([meant("a/bc"), meant("d")], [Meant::No, Meant::No]);
        let below = |folder: &str| some.named_below(Path::new(folder)).collect::<Vec<_>>();
        assert_eq!(below(""), [PathBuf::from("a"), PathBuf::from("c")]);
        assert_eq!(below("a"), [PathBuf::from("a/b")]);
        assert_eq!(paths(&[]).ok().unwrap().meant(Path::new("x")), Meant::Yes);
        assert_eq!(paths(&["."]).ok().unwrap().meant(Path::new("x")), Meant::Yes);
        for wrong in ["", "/a", "../a", "a/../b", "a\0"] {
            assert!(paths(&[wrong]).is_err(), "{wrong:?}");
        }
    }
}
