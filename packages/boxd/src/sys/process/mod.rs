//! Making, watching and ending processes.

mod clone;
mod limit;
mod reap;
mod signal;

use super::checked;
pub use clone::{Clone, EVERY_NAMESPACE, clone_into, clone_into_group};
pub use limit::{FileLimit, no_core_dumps};
pub use reap::{Exit, Reaped, await_end, reap_any, reap_code, reap_pidfd, reap_successful};
pub use signal::{peer_of, pidfd_open, signal_everyone, signal_group, signal_one, signal_pidfd};
use std::io;

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

pub fn set_umask(mask: u32) {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::umask(mask) };
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
