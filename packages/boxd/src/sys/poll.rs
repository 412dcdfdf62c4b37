//! Waiting for one of a few descriptors.

use super::checked;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The first that has something to read, or whose other end is gone.
pub fn first_readable(among: &[BorrowedFd], patience: Duration) -> io::Result<Option<usize>> {
    let mut watched: Vec<libc::pollfd> = among
        .iter()
        .map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let milliseconds = patience.as_millis().min(i32::MAX as u128) as i32;
    // SAFETY: the slice is writable for its whole length.
    checked(unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as u64, milliseconds) })?;
    Ok(watched.iter().position(|one| one.revents != 0))
}
