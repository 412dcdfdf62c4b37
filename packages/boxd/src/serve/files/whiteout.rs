//! Names in a layer that say what is gone.

use super::folders::{self, here};
use crate::sys::overlay;
use crate::sys::path::{self, PLAIN};
use crate::tar::{OPAQUE, WHITEOUT};
use crate::tree::listing::next_names;
use crate::tree::removal::Removal;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(PartialEq, Eq, Debug)]
pub enum Gone {
    This(PathBuf),
    /// All that is in it.
    Within(PathBuf),
}

/// What a path of a layer says is gone, if that is what it says.
pub fn named(path: &Path) -> Option<Gone> {
    let name = path.file_name()?.as_bytes();
    if name == OPAQUE.as_bytes() {
        return Some(Gone::Within(path.parent()?.to_owned()));
    }
    let gone = name.strip_prefix(WHITEOUT)?;
    let is_name = !matches!(gone, b"" | b"." | b"..");
    is_name.then(|| Gone::This(path.with_file_name(OsStr::from_bytes(gone))))
}

pub fn obey(base: BorrowedFd, gone: &Gone) -> io::Result<()> {
    match gone {
        Gone::This(path) => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            match path::open_directory(base, here(path.parent()), PLAIN) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                parent => remove(parent?, name),
            }
        }
        Gone::Within(path) => {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            let folder = path::open(base, here(Some(path)), flags, 0, PLAIN)?;
            while let Some(names) = next_names(folder.as_fd())? {
                for entry in names {
                    remove(folder.try_clone()?, &entry.name)?;
                }
            }
            Ok(())
        }
    }
}

/// As an overlay has it. What this very layer puts there is never gone.
pub fn keep(base: BorrowedFd, gone: &Gone) -> io::Result<()> {
    let path = match gone {
        Gone::Within(folder) => {
            return overlay::make_opaque(folders::make(base, Some(folder))?.as_fd());
        }
        Gone::This(path) => path,
    };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = folders::make(base, path.parent())?;
    match path::stat(parent.as_fd(), name) {
        Ok(found) if found.st_mode & libc::S_IFMT == libc::S_IFDIR => {
            overlay::make_opaque(path::open_directory(parent.as_fd(), name, PLAIN)?.as_fd())
        }
        Ok(_) => Ok(()),
        Err(_) => overlay::make_whiteout(parent.as_fd(), name),
    }
}

fn remove(parent: OwnedFd, name: &OsStr) -> io::Result<()> {
    match path::unlink(parent.as_fd(), name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {
            let mut removal = Removal::of_directory(parent, name, true)?;
            while !removal.step(usize::MAX)? {}
            Ok(())
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_gone() {
        let gone = |path: &str| named(Path::new(path));
        assert_eq!(gone("a/.wh.b"), Some(Gone::This("a/b".into())));
        assert_eq!(gone(".wh.b"), Some(Gone::This("b".into())));
        assert_eq!(gone("a/.wh..wh..opq"), Some(Gone::Within("a".into())));
        for other in ["a/b", "a/.wh.", "a/.wh..", "a/.wh...", "wh.a"] {
            assert_eq!(gone(other), None, "{other}");
        }
    }
}
