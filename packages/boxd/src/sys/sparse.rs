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

/// A part of a file to the same place in another, and how many bytes of it came to be there.
pub fn copy(from: &File, to: &File, part: Range<u64>) -> io::Result<u64> {
    let (mut read_at, mut write_at) = (part.start as i64, part.start as i64);
    let (source, target) = (from.as_raw_fd(), to.as_raw_fd());
    let length = (part.end - part.start) as usize;
    // SAFETY: both places are live and written by the kernel.
    let copied = unsafe {
        libc::copy_file_range(source, &raw mut read_at, target, &raw mut write_at, length, 0)
    };
    match checked(copied as i64)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count as u64),
    }
}
