//! Thin wrappers over system calls. All unsafe code of boxd lives below this folder.

pub mod abstract_socket;
pub mod attribute;
pub mod credentials;
pub mod descriptor;
pub mod epoll;
pub mod filesystem;
pub mod filter;
pub mod inotify;
pub mod link;
pub mod loop_device;
pub mod memory;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod network;
pub mod overlay;
pub mod path;
pub mod poll;
pub mod process;
pub mod random;
pub mod share;
pub mod signal;
pub mod sparse;
pub mod spawn;
pub mod splice;
pub mod spot;
pub mod steps;
pub mod sync;
pub mod time;
pub mod title;
pub mod trim;
pub mod tty;
pub mod unix_socket;
pub mod xattr;

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The kernel's `-1 and errno` as a `Result`.
fn checked(outcome: impl Into<i64>) -> io::Result<i64> {
    match outcome.into() {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// The same for calls that return a new descriptor.
fn checked_fd(outcome: impl Into<i64>) -> io::Result<OwnedFd> {
    let fd = checked(outcome)? as RawFd;
    // SAFETY: the kernel has just made this descriptor for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A path or argument for the kernel; one with a NUL in it cannot be named.
pub fn c_string(path: impl AsRef<Path>) -> io::Result<CString> {
    CString::new(path.as_ref().as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}
