//! Files with holes.

use super::checked;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// The next stretch of a file that is no hole.
pub fn next_data(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    let seek = |to: u64, what: i32| {
        // SAFETY: takes no pointers.
        checked(unsafe { libc::lseek(file.as_raw_fd(), to as i64, what) }).map(|at| at as u64)
    };
    let start = match seek(from, libc::SEEK_DATA) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        outcome => outcome?,
    };
    Ok(Some(start..seek(start, libc::SEEK_HOLE)?))
}
