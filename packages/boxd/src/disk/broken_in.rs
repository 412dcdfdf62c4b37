//! The first changes to a disk make the kernel read from it, block after block and each by way of
//! a worker. They are made and undone before anybody waits.

use super::FOLDERS;
use crate::sys::path;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const TRIAL: &str = "trial";
const SOMEBODY: u32 = 1;

/// The disk as it was, with all that a sandbox needs first at hand.
pub fn broken_in(disk: OwnedFd) -> io::Result<OwnedFd> {
    for name in FOLDERS {
        let folder = path::open_directory(disk.as_fd(), name, 0)?;
        try_out(folder.as_fd())?;
        path::set_owner(disk.as_fd(), name, SOMEBODY)?;
        path::set_owner(disk.as_fd(), name, 0)?;
    }
    Ok(disk)
}

fn try_out(folder: BorrowedFd) -> io::Result<()> {
    path::make_directory(folder, TRIAL, 0o700)?;
    let inner = path::open_directory(folder, TRIAL, 0)?;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    path::open(inner.as_fd(), TRIAL, flags, 0o600, 0)?;
    path::unlink(inner.as_fd(), TRIAL)?;
    path::remove_directory(folder, TRIAL)
}
