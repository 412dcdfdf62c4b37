//! What is written, on the disk.

use super::checked;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Everything that was written to the filesystem that holds this.
pub fn filesystem(of: BorrowedFd) -> io::Result<()> {
    // A handle that is only a path does not do.
    let file = super::path::open(of, ".", libc::O_RDONLY | libc::O_DIRECTORY, 0, 0)?;
    // SAFETY: takes no pointers.
    checked(unsafe { libc::syncfs(file.as_raw_fd()) })?;
    Ok(())
}

/// What was written to a file, and not yet what the filesystem has to remember of it.
pub fn data(of: BorrowedFd) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: takes no pointers.
    checked(unsafe { libc::sync_file_range(of.as_raw_fd(), 0, 0, flags) })?;
    Ok(())
}
