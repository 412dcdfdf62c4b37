//! How full a filesystem is.

use super::{c_string, checked};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

pub struct Room {
    pub bytes: u64,
    /// What somebody without privilege can still have of them.
    pub free_bytes: u64,
}

/// Of the filesystem that holds this.
pub fn room(of: BorrowedFd) -> io::Result<Room> {
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `found` has room for one statvfs, which is filled when the call succeeds.
    let found = unsafe {
        checked(libc::fstatvfs(of.as_raw_fd(), found.as_mut_ptr()))?;
        found.assume_init()
    };
    let unit = found.f_frsize;
    Ok(Room { bytes: found.f_blocks * unit, free_bytes: found.f_bavail * unit })
}

pub fn used_bytes(path: &Path) -> io::Result<u64> {
    let path = c_string(path)?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `found` has room for one statvfs, which is filled when the call succeeds.
    let found = unsafe {
        checked(libc::statvfs(path.as_ptr(), found.as_mut_ptr()))?;
        found.assume_init()
    };
    Ok((found.f_blocks - found.f_bfree) * found.f_frsize)
}
