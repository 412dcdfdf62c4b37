//! Extended attributes of the host's files.

use super::{c_string, checked};
use std::io;
use std::path::Path;

/// The value of a short attribute.
pub fn read(path: &Path, name: &str) -> io::Result<Vec<u8>> {
    let (path, name) = (c_string(path)?, c_string(name)?);
    let mut value = vec![0u8; 64];
    let (start, room) = (value.as_mut_ptr().cast(), value.len());
    // SAFETY: both names are NUL-terminated and the buffer is writable for its whole length.
    let length =
        checked(unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), start, room) } as i64)?;
    value.truncate(length as usize);
    Ok(value)
}
