//! Pseudo-terminals.

use super::path::{self, HERE};
use super::{checked, checked_fd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A new terminal as (our side, the program's side).
pub fn open_pair(cols: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = path::open(HERE, "/dev/ptmx", libc::O_RDWR, 0, path::NO_MAGIC)?;
    let locked: libc::c_int = 0;
    // SAFETY: TIOCSPTLCK reads one int.
    checked(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSPTLCK, &locked) })?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: TIOCGPTPEER takes open flags by value and returns a new descriptor.
    let theirs = checked_fd(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags) })?;
    resize(&ours, cols, rows)?;
    Ok((ours, theirs))
}

pub fn resize(terminal: impl AsFd, cols: u16, rows: u16) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads one winsize.
    checked(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSWINSZ, &size) })?;
    Ok(())
}
