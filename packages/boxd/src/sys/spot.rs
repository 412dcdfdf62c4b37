//! Where a folder is, as the kernel tells it.

use super::checked;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What is above a folder depends on the mount that it was reached by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Spot {
    /// Device and inode.
    pub identity: (u64, u64),
    /// None where the kernel does not tell.
    pub mount: Option<u64>,
}

pub fn of(folder: BorrowedFd) -> io::Result<Spot> {
    let mut found = MaybeUninit::<libc::statx>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
    let wanted = libc::STATX_INO | libc::STATX_MNT_ID;
    // SAFETY: `found` has room for one statx, which is filled when the call succeeds.
    let found = unsafe {
        let place = found.as_mut_ptr();
        checked(libc::statx(folder.as_raw_fd(), c"".as_ptr(), flags, wanted, place))?;
        found.assume_init()
    };
    let device = libc::makedev(found.stx_dev_major, found.stx_dev_minor);
    let tells_mount = found.stx_mask & libc::STATX_MNT_ID != 0;
    let mount = tells_mount.then_some(found.stx_mnt_id);
    Ok(Spot { identity: (device, found.stx_ino), mount })
}
