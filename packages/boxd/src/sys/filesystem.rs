//! How full a filesystem is.

use super::{c_string, checked};
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;

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
