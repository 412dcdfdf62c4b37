//! How a layer tells an overlay what is gone.

use super::{c_string, checked, xattr};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// Nothing of this name, whatever the layers below have. The one device that anybody may make: it
/// is none.
pub fn make_whiteout(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<()> {
    let name = c_string(name)?;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::mknodat(at.as_raw_fd(), name.as_ptr(), libc::S_IFCHR, 0) })?;
    Ok(())
}

pub fn is_whiteout(found: &libc::stat) -> bool {
    found.st_mode & libc::S_IFMT == libc::S_IFCHR && found.st_rdev == 0
}

const OPAQUE: &CStr = c"user.overlay.opaque";

/// Nothing that the layers below have in this directory is in it.
pub fn make_opaque(directory: BorrowedFd) -> io::Result<()> {
    xattr::set(directory, OPAQUE, b"y")
}

pub fn is_opaque(directory: BorrowedFd) -> bool {
    xattr::is(directory, OPAQUE, b"y")
}
