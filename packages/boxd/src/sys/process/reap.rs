//! The ends of children.

use std::os::fd::{AsFd, AsRawFd};

/// Lets a dead child of ours go. One that is not our child is somebody else's to reap.
pub fn reap_pidfd(pidfd: impl AsFd) {
    let fd = pidfd.as_fd().as_raw_fd() as libc::id_t;
    let options = libc::WEXITED | libc::WNOHANG;
    // SAFETY: an all-zero siginfo is a valid place for the kernel to write to.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PIDFD, fd, &mut info, options);
    }
}

/// The same, and whether it had done what it was to do.
pub fn reap_successful(pidfd: impl AsFd) -> bool {
    reap_code(pidfd) == Some(0)
}

/// The same, and what it said at its end; none where it was ended.
pub fn reap_code(pidfd: impl AsFd) -> Option<i32> {
    let fd = pidfd.as_fd().as_raw_fd() as libc::id_t;
    // SAFETY: an all-zero siginfo is a valid place for the kernel to write to, and of a child that
    // is over its status is there.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let outcome = libc::waitid(libc::P_PIDFD, fd, &mut info, libc::WEXITED | libc::WNOHANG);
        (outcome == 0 && info.si_code == libc::CLD_EXITED).then(|| info.si_status())
    }
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

pub enum Reaped {
    One(i32, Exit),
    NoneYet,
    NoChildren,
}

/// Reaps any one dead child.
pub fn reap_any() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid int.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    match pid {
        0 => Reaped::NoneYet,
        -1 => Reaped::NoChildren,
        _ if libc::WIFSIGNALED(status) => Reaped::One(pid, Exit::Signal(libc::WTERMSIG(status))),
        _ => Reaped::One(pid, Exit::Code(libc::WEXITSTATUS(status))),
    }
}

/// Waits for the end of a child of ours that is about to end by itself, and lets it go.
pub fn await_end(pidfd: impl AsFd) {
    let fd = pidfd.as_fd().as_raw_fd() as libc::id_t;
    // SAFETY: an all-zero siginfo is a valid place for the kernel to write to.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PIDFD, fd, &mut info, libc::WEXITED);
    }
}
