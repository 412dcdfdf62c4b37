//! Leaving and entering namespaces, and what they are called.

use super::checked;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

pub fn set_hostname(name: &str) -> io::Result<()> {
    // SAFETY: the bytes are readable for the given length.
    checked(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })?;
    Ok(())
}

/// From here on this process's control groups are the top of what it can see of them.
pub fn new_cgroup_namespace() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) })?;
    Ok(())
}

/// From here on this process makes its sockets in a network of its own.
pub fn new_network_namespace() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Ok(())
}

pub fn new_user_namespace() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    Ok(())
}

/// Takes a single-threaded process; it has every capability there.
pub fn enter_user_namespace(namespace: impl AsFd) -> io::Result<()> {
    let fd = namespace.as_fd().as_raw_fd();
    // SAFETY: takes no pointers.
    checked(unsafe { libc::setns(fd, libc::CLONE_NEWUSER) })?;
    Ok(())
}
