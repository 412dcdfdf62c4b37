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
