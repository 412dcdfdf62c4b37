//! Extended attributes of a file that is open, be it only by its path.

use super::checked;
use super::path::through;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::BorrowedFd;

/// The kernel's own limits.
const MOST_NAMES: usize = 64 * 1024;
pub const MOST_VALUE: usize = 64 * 1024;

pub fn names(file: BorrowedFd) -> io::Result<Vec<CString>> {
    let path = through(file);
    let mut buffer = vec![0u8; MOST_NAMES];
    let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: the path is NUL-terminated, the buffer writable for the length that is passed.
    let length = checked(unsafe { libc::listxattr(path.as_ptr(), start, size) } as i64)?;
    let mut rest = &buffer[..length as usize];
    let mut found = Vec::new();
    while let Ok(name) = CStr::from_bytes_until_nul(rest) {
        rest = &rest[name.to_bytes_with_nul().len()..];
        found.push(name.to_owned());
    }
    Ok(found)
}

pub fn value(file: BorrowedFd, name: &CStr) -> io::Result<Vec<u8>> {
    let path = through(file);
    let mut buffer = vec![0u8; MOST_VALUE];
    let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: as above.
    let length =
        checked(unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), start, size) } as i64)?;
    buffer.truncate(length as usize);
    Ok(buffer)
}

/// Whether it has one of this name and value. Asked of every folder of a tree, so it makes no room
/// for values that are none.
pub fn is(file: BorrowedFd, name: &CStr, expected: &[u8]) -> bool {
    let path = through(file);
    let mut buffer = [0u8; 16];
    let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: as above.
    let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), start, size) };
    usize::try_from(length).is_ok_and(|length| &buffer[..length] == expected)
}

pub fn is_there(file: BorrowedFd, name: &CStr) -> bool {
    let path = through(file);
    // SAFETY: both are NUL-terminated; without a buffer only the length is told.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

pub fn set(file: BorrowedFd, name: &CStr, value: &[u8]) -> io::Result<()> {
    let path = through(file);
    let (start, size) = (value.as_ptr().cast(), value.len());
    // SAFETY: both texts are NUL-terminated, the value readable for the length that is passed.
    checked(unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), start, size, 0) })?;
    Ok(())
}

pub fn remove(file: BorrowedFd, name: &CStr) -> io::Result<()> {
    let path = through(file);
    // SAFETY: both are NUL-terminated.
    checked(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) })?;
    Ok(())
}
