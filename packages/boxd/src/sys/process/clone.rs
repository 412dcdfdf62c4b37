//! New processes, in namespaces of their own or in ours.

use crate::sys::checked;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

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
