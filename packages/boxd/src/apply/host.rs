//! What is at a path of the folder now.

use crate::sys::path::{self, PLAIN, SAME_FILESYSTEM};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How every folder on the way is entered: below, through no link, on no other filesystem.
pub const STRICT: u64 = PLAIN | SAME_FILESYSTEM;

pub struct Thing {
    pub handle: OwnedFd,
    pub found: libc::stat,
}

impl Thing {
    pub fn is_folder(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    pub fn kind(&self) -> u32 {
        self.found.st_mode & libc::S_IFMT
    }

    pub fn mode(&self) -> u32 {
        self.found.st_mode & 0o7777
    }

    pub fn changed_ns(&self) -> i64 {
        self.found.st_ctime * 1_000_000_000 + self.found.st_ctime_nsec
    }

    /// What stays the same when it is only renamed.
    pub fn print(&self) -> [u64; 3] {
        print(&self.found)
    }
}

pub fn print(found: &libc::stat) -> [u64; 3] {
    let written = (found.st_mtime * 1_000_000_000).wrapping_add(found.st_mtime_nsec);
    [found.st_ino, written as u64, found.st_size as u64]
}

/// None where there is nothing; an error where something that is no folder is on the way.
pub fn at(root: BorrowedFd, path: &Path) -> io::Result<Option<Thing>> {
    match path::open(root, path, libc::O_PATH | libc::O_NOFOLLOW, 0, STRICT) {
        Ok(handle) => {
            let found = path::stat(handle.as_fd(), "")?;
            Ok(Some(Thing { handle, found }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    }
}

/// The folder a path is in, and its name there.
pub fn parent<'a>(root: BorrowedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((path::open_directory(root, folder_of(path), STRICT)?, name))
}
