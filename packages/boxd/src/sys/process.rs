//! Making, watching and ending processes.

use super::{checked, checked_fd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub const EVERY_NAMESPACE: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

pub enum Clone {
    Child,
    Parent { pid: i32, pidfd: OwnedFd },
}

#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces. The child goes on from here with a copy of everything.
///
/// Callers are single-threaded, so the child may use the allocator and all of Rust.
pub fn clone_into(namespaces: i32) -> io::Result<Clone> {
    clone_into_group(namespaces, None)
}

/// The same, with the child in the control group whose folder this is.
pub fn clone_into_group(namespaces: i32, group: Option<BorrowedFd>) -> io::Result<Clone> {
    let mut pidfd: RawFd = -1;
    let into_group = if group.is_some() { CLONE_INTO_CGROUP } else { 0 };
    let arguments = CloneArguments {
        flags: namespaces as u64 | libc::CLONE_PIDFD as u64 | into_group,
        cgroup: group.map_or(0, |folder| folder.as_raw_fd() as u64),
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    let size = size_of::<CloneArguments>();
    // SAFETY: without CLONE_VM this is a fork; `pidfd` is valid for the kernel to write.
    let pid = checked(unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) })?;
    if pid == 0 {
        return Ok(Clone::Child);
    }
    // SAFETY: the kernel has stored a new descriptor in `pidfd`.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Clone::Parent { pid: pid as i32, pidfd })
}

/// Ends this process at once, without running destructors or exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

/// A session of its own, without a controlling terminal. Fails only for who leads one already.
pub fn new_session() {
    // SAFETY: takes no pointers.
    unsafe { libc::setsid() };
}

pub fn be_last_in_line() {
    // SAFETY: takes no pointers; a refusal costs nothing but politeness.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    checked_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

pub fn signal_pidfd(pidfd: impl AsFd, signal: i32) -> io::Result<()> {
    let fd = pidfd.as_fd().as_raw_fd();
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo is allowed.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, 0) })?;
    Ok(())
}

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
    let fd = pidfd.as_fd().as_raw_fd() as libc::id_t;
    // SAFETY: an all-zero siginfo is a valid place for the kernel to write to, and of a child that
    // is over its status is there.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let outcome = libc::waitid(libc::P_PIDFD, fd, &mut info, libc::WEXITED | libc::WNOHANG);
        outcome == 0 && info.si_code == libc::CLD_EXITED && info.si_status() == 0
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

pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })?;
    Ok(())
}

/// Keeps other processes of the same user from reading or tracing this one.
pub fn be_undumpable() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })?;
    Ok(())
}

/// One byte, not none: where the host pipes dumps to a program, the kernel ignores a limit of 0
/// and runs it, but takes 1 for "never". Where somebody has set none already, it stays.
pub fn no_core_dumps() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    unsafe {
        checked(libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit))?;
        let least = limit.rlim_max.min(1);
        limit = libc::rlimit { rlim_cur: least, rlim_max: least };
        checked(libc::setrlimit(libc::RLIMIT_CORE, &raw const limit))?;
    }
    Ok(())
}

/// How many descriptors this process was meant to have open.
#[derive(Clone, Copy)]
pub struct FileLimit(libc::rlimit);

impl FileLimit {
    /// Takes as many as allowed, and remembers what was meant: programs that find a huge limit
    /// tend to behave badly.
    pub fn raise() -> io::Result<FileLimit> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit fills one rlimit, setrlimit reads one.
        checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut before) })?;
        FileLimit(libc::rlimit { rlim_cur: before.rlim_max, ..before }).restore();
        Ok(FileLimit(before))
    }

    /// What was meant, or less where a sandbox shall have less.
    pub fn at_most(self, count: Option<u64>) -> FileLimit {
        match count.map(|count| count.min(self.0.rlim_max)) {
            Some(count) => FileLimit(libc::rlimit { rlim_cur: count, rlim_max: count }),
            None => self,
        }
    }

    pub fn restore(self) {
        // SAFETY: reads one rlimit. Lowering the soft limit cannot fail.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &self.0) };
    }
}

pub fn set_umask(mask: u32) {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::umask(mask) };
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

/// Ends this process when the one that made it ends.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    Ok(())
}

/// Stops this process until somebody lets it go on.
pub fn stop_here() {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
}
