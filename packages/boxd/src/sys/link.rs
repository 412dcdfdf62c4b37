//! What is said about a name in an open directory: other names, owners, times.

use super::{c_string, checked};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// Gives a file a second name. A link is not followed: it would get the name itself.
pub fn make_hard_link(
    from_at: BorrowedFd,
    from: impl AsRef<Path>,
    to_at: BorrowedFd,
    to: impl AsRef<Path>,
) -> io::Result<()> {
    let (from, to) = (c_string(from)?, c_string(to)?);
    // SAFETY: both names are NUL-terminated.
    checked(unsafe {
        libc::linkat(from_at.as_raw_fd(), from.as_ptr(), to_at.as_raw_fd(), to.as_ptr(), 0)
    })?;
    Ok(())
}

/// To a file that was made without one.
pub fn give_name(file: BorrowedFd, at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<()> {
    let (from, name) = (c_string(format!("/proc/self/fd/{}", file.as_raw_fd()))?, c_string(name)?);
    let flags = libc::AT_SYMLINK_FOLLOW;
    // SAFETY: both names are NUL-terminated.
    checked(unsafe {
        libc::linkat(libc::AT_FDCWD, from.as_ptr(), at.as_raw_fd(), name.as_ptr(), flags)
    })?;
    Ok(())
}

/// Of the name itself, even if it is a link.
pub fn set_owner(at: BorrowedFd, name: impl AsRef<Path>, uid: u32, gid: u32) -> io::Result<()> {
    let name = c_string(name)?;
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::fchownat(at.as_raw_fd(), name.as_ptr(), uid, gid, flags) })?;
    Ok(())
}

/// When it was last changed, in seconds; of the name itself, even if it is a link.
pub fn set_mtime(at: BorrowedFd, name: impl AsRef<Path>, seconds: i64) -> io::Result<()> {
    let name = c_string(name)?;
    let times = [
        libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
        libc::timespec { tv_sec: seconds, tv_nsec: 0 },
    ];
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated and two times are read.
    checked(unsafe { libc::utimensat(at.as_raw_fd(), name.as_ptr(), times.as_ptr(), flags) })?;
    Ok(())
}

/// To the nanosecond.
pub fn set_mtime_ns(at: BorrowedFd, name: impl AsRef<Path>, nanoseconds: i64) -> io::Result<()> {
    let name = c_string(name)?;
    let second = 1_000_000_000;
    let times = [
        libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
        libc::timespec {
            tv_sec: nanoseconds.div_euclid(second),
            tv_nsec: nanoseconds.rem_euclid(second),
        },
    ];
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is NUL-terminated and two times are read.
    checked(unsafe { libc::utimensat(at.as_raw_fd(), name.as_ptr(), times.as_ptr(), flags) })?;
    Ok(())
}

/// The same in seconds, for a file that is open.
pub fn set_mtime_of(file: BorrowedFd, seconds: i64) -> io::Result<()> {
    let times = [
        libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
        libc::timespec { tv_sec: seconds, tv_nsec: 0 },
    ];
    // SAFETY: two times are read.
    checked(unsafe { libc::futimens(file.as_raw_fd(), times.as_ptr()) })?;
    Ok(())
}
