//! Pipes, and which descriptors a process keeps.

use super::checked;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A pipe as (read end, write end), both closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0 as RawFd; 2];
    // SAFETY: `ends` has room for the two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

pub fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: plain fcntl calls on a live descriptor.
    let flags = checked(unsafe { libc::fcntl(fd, libc::F_GETFL) })? as i32;
    // SAFETY: as above.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Bytes that wait in a pipe.
pub fn bytes_waiting(fd: impl AsFd) -> io::Result<usize> {
    let mut waiting: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int.
    checked(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::FIONREAD, &mut waiting) })?;
    Ok(waiting.max(0) as usize)
}

pub fn read(fd: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the slice is writable for its whole length.
    let count = unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) };
    checked(count as i64).map(|count| count as usize)
}

/// Appends what lies at `offset` of a file, `most` bytes of it or less, without filling the room
/// for them first.
pub fn append_from(fd: impl AsFd, offset: u64, most: usize, to: &mut Vec<u8>) -> io::Result<usize> {
    to.reserve(most);
    let fd = fd.as_fd().as_raw_fd();
    let room = &mut to.spare_capacity_mut()[..most];
    let offset = offset.min(i64::MAX as u64) as libc::off_t;
    // SAFETY: the room is writable for its whole length.
    let count = unsafe { libc::pread(fd, room.as_mut_ptr().cast(), room.len(), offset) };
    let count = checked(count as i64)? as usize;
    // SAFETY: the kernel has written that many bytes behind the last.
    unsafe { to.set_len(to.len() + count) };
    Ok(count)
}

pub fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the slice is readable for its whole length.
    let count = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    checked(count as i64).map(|count| count as usize)
}

/// Points standard input, output and error at `target`.
pub fn replace_standard_streams(target: impl AsFd) -> io::Result<()> {
    for standard in 0..=2 {
        // SAFETY: dup2 onto the standard numbers, which Rust never owns.
        checked(unsafe { libc::dup2(target.as_fd().as_raw_fd(), standard) })?;
    }
    Ok(())
}

/// Points standard error at `target`.
pub fn replace_standard_error(target: impl AsFd) -> io::Result<()> {
    // SAFETY: as above.
    checked(unsafe { libc::dup2(target.as_fd().as_raw_fd(), 2) })?;
    Ok(())
}

/// Closes every descriptor above 2 that is not in `keep`.
///
/// Only for a process that has just been cloned and never uses the descriptors it inherited:
/// the owners of the closed numbers must not run again in it.
pub fn close_all_except(keep: &mut [RawFd]) -> io::Result<()> {
    keep.sort_unstable();
    let mut first = 3u32;
    for &mut fd in keep {
        let fd = fd as u32;
        if fd > first {
            close_range(first, fd - 1)?;
        }
        first = first.max(fd + 1);
    }
    close_range(first, u32::MAX)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the caller gives up these numbers.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })?;
    Ok(())
}
