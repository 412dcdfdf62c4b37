//! Signals to others, by descriptor where that can be.

use crate::sys::{checked, checked_fd, unix_socket};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    checked_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

/// Who connected; none where that is gone, or lives where it has no number for us.
pub fn peer_of(socket: impl AsFd) -> Option<OwnedFd> {
    let pid = unix_socket::peer_pid(socket).ok().filter(|pid| *pid > 0)?;
    pidfd_open(pid).ok()
}

pub fn signal_pidfd(pidfd: impl AsFd, signal: i32) -> io::Result<()> {
    let fd = pidfd.as_fd().as_raw_fd();
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo is allowed.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, 0) })?;
    Ok(())
}

/// Sends a signal to the process group `leader` leads.
pub fn signal_group(leader: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::kill(-leader, signal) })?;
    Ok(())
}

/// Sends a signal to one process, which may be gone by now. Never to us, a group or everyone.
pub fn signal_one(pid: i32, signal: i32) {
    if pid > 1 && pid as u32 != std::process::id() {
        // SAFETY: takes no pointers.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Sends a signal to every process of this pid namespace but ourselves, if we are its init.
/// Anybody else's "everyone" would be the machine.
pub fn signal_everyone(signal: i32) {
    if std::process::id() == 1 {
        // SAFETY: takes no pointers.
        unsafe { libc::kill(-1, signal) };
    }
}
