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

/// (columns, rows)
pub fn size(terminal: impl AsFd) -> io::Result<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ fills one winsize.
    checked(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &mut size) })?;
    Ok((size.ws_col, size.ws_row))
}

/// Whether a read would return at once, now or before so many milliseconds have passed.
pub fn has_input(terminal: impl AsFd, patience_ms: i32) -> bool {
    let mut asked =
        libc::pollfd { fd: terminal.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one pollfd.
    unsafe { libc::poll(&mut asked, 1, patience_ms) == 1 }
}

/// What a terminal makes of what is typed and shown.
#[derive(Clone, Copy)]
pub struct Settings(libc::termios);

impl Settings {
    pub fn of(terminal: impl AsFd) -> io::Result<Settings> {
        // SAFETY: all zero is a valid termios, and tcgetattr fills it.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            checked(libc::tcgetattr(terminal.as_fd().as_raw_fd(), &mut settings))?;
            Ok(Settings(settings))
        }
    }

    /// The same, but every byte goes through as it is.
    pub fn raw(mut self) -> Settings {
        // SAFETY: changes the struct alone.
        unsafe { libc::cfmakeraw(&mut self.0) };
        self
    }

    /// Also from the background: whoever does not want that has SIGTTOU blocked or gets it.
    pub fn apply(self, terminal: impl AsFd) -> io::Result<()> {
        let fd = terminal.as_fd().as_raw_fd();
        // SAFETY: reads one termios.
        checked(unsafe { libc::tcsetattr(fd, libc::TCSADRAIN, &self.0) })?;
        Ok(())
    }
}
