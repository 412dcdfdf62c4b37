//! Directories below one that nothing leaves, made as they are needed. No link is followed.

use crate::sys::path::{self, PLAIN};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

pub const NEW_DIRECTORY: u32 = 0o755;

/// A directory below `base`, made where it is missing.
pub fn make(base: BorrowedFd, path: Option<&Path>) -> io::Result<OwnedFd> {
    match path::open_directory(base, here(path), PLAIN) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        outcome => return outcome,
    }
    let mut parent = path::open_directory(base, ".", PLAIN)?;
    for part in path.unwrap_or(Path::new("")) {
        match path::make_directory(parent.as_fd(), part, NEW_DIRECTORY) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => parent = path::open_directory(parent.as_fd(), part, PLAIN)?,
        }
    }
    Ok(parent)
}

/// Takes away what is there, unless it is a directory.
pub fn make_room(parent: BorrowedFd, name: &OsStr) -> io::Result<()> {
    match path::unlink(parent, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

pub fn here(path: Option<&Path>) -> &Path {
    path.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
