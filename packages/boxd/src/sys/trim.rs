//! What a filesystem does not use any more, given back to the file that it lies in.

use super::{checked, path};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const FITRIM: libc::Ioctl = 0xC018_5879_u32 as libc::Ioctl;

#[repr(C)]
struct Range {
    start: u64,
    length: u64,
    shortest: u64,
}

/// Every stretch of at least so many bytes.
pub fn stretches(root: BorrowedFd, shortest: u64) -> io::Result<()> {
    let root = path::open(root, ".", libc::O_RDONLY | libc::O_DIRECTORY, 0, 0)?;
    let mut range = Range { start: 0, length: u64::MAX, shortest };
    // SAFETY: `range` has the layout of the kernel's struct and outlives the call.
    checked(unsafe { libc::ioctl(root.as_raw_fd(), FITRIM, &raw mut range) })?;
    Ok(())
}
