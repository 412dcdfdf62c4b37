//! Files that share their blocks, and filesystems that stand still while they are shared.

use super::checked;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const FICLONE: libc::Ioctl = 0x4004_9409;
const FIFREEZE: libc::Ioctl = 0xC004_5877_u32 as libc::Ioctl;
const BLKFLSBUF: libc::Ioctl = 0x1261;
const FITHAW: libc::Ioctl = 0xC004_5878_u32 as libc::Ioctl;

/// `to` becomes the same as `from`, and nothing is copied. Fails where the filesystem cannot.
pub fn blocks(from: BorrowedFd, to: BorrowedFd) -> io::Result<()> {
    // SAFETY: takes a descriptor and no pointers.
    checked(unsafe { libc::ioctl(to.as_raw_fd(), FICLONE, from.as_raw_fd()) })?;
    Ok(())
}

/// All that was written to it is below, in order, and whoever writes waits until `thaw`.
pub fn freeze(root: BorrowedFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::ioctl(root.as_raw_fd(), FIFREEZE, 0) })?;
    Ok(())
}

pub fn thaw(root: BorrowedFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::ioctl(root.as_raw_fd(), FITHAW, 0) })?;
    Ok(())
}

/// Of a device, so that it is read anew.
pub fn forget_what_was_read(device: impl AsFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::ioctl(device.as_fd().as_raw_fd(), BLKFLSBUF, 0) })?;
    Ok(())
}
