//! Handing a system-call filter to the kernel.

use super::checked;
use libc::{sock_filter, sock_fprog};
use std::io;

/// From here on every system call of this process and its children passes `program` first.
/// Filters only ever add up: nothing can take this one away.
pub fn install(program: &[sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len())
        .map_err(|_| io::Error::other("the filter is longer than the kernel takes"))?;
    let program = sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel reads `length` instructions and copies them.
    checked(unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) })?;
    Ok(())
}
