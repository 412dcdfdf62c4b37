//! Names in directories that are open.

use super::{c_string, checked, checked_fd, steps};
use std::ffi::{CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The working directory, as a starting point for relative names.
pub const HERE: BorrowedFd<'static> = {
    // SAFETY: AT_FDCWD is a number every *at call understands, and it is never closed.
    unsafe { BorrowedFd::borrow_raw(libc::AT_FDCWD) }
};

/// Magic links of /proc lead out of any tree, so they are never followed.
pub const NO_MAGIC: u64 = libc::RESOLVE_NO_MAGICLINKS;
/// `/` and `..` stay below the starting directory.
pub const IN_ROOT: u64 = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
/// Exactly what is named: no link, no other filesystem, nothing above.
pub const PLAIN: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS;
pub const NO_SYMLINKS: u64 = libc::RESOLVE_NO_SYMLINKS;
pub const SAME_FILESYSTEM: u64 = libc::RESOLVE_NO_XDEV;

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Opens without waiting (for a FIFO's peer) and without taking a terminal.
pub fn open(
    from: BorrowedFd,
    path: impl AsRef<Path>,
    flags: i32,
    mode: u32,
    resolve: u64,
) -> io::Result<OwnedFd> {
    let name = path.as_ref();
    let path = c_string(name)?;
    let how = OpenHow {
        flags: (flags | libc::O_CLOEXEC | extra(flags)) as u64,
        mode: u64::from(mode),
        resolve,
    };
    loop {
        // SAFETY: `path` is NUL-terminated, `how` has the size that is passed.
        let outcome = checked_fd(unsafe {
            libc::syscall(
                libc::SYS_openat2,
                from.as_raw_fd(),
                path.as_ptr(),
                &raw const how,
                size_of::<OpenHow>(),
            )
        });
        match outcome {
            // openat2 says so when a rename raced with a restricted resolution.
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => continue,
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) && steps::are_allowed() => {
                return steps::open(from, name, flags | extra(flags), mode, resolve);
            }
            outcome => return outcome,
        }
    }
}

fn extra(flags: i32) -> i32 {
    if flags & libc::O_PATH != 0 { 0 } else { libc::O_NONBLOCK | libc::O_NOCTTY }
}

pub fn open_directory(
    from: BorrowedFd,
    path: impl AsRef<Path>,
    resolve: u64,
) -> io::Result<OwnedFd> {
    open(from, path, libc::O_PATH | libc::O_DIRECTORY, 0, resolve)
}

pub fn make_directory(at: BorrowedFd, name: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    let name = c_string(name)?;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::mkdirat(at.as_raw_fd(), name.as_ptr(), mode) })?;
    Ok(())
}

pub fn make_symlink(
    at: BorrowedFd,
    name: impl AsRef<Path>,
    target: impl AsRef<Path>,
) -> io::Result<()> {
    let (name, target) = (c_string(name)?, c_string(target)?);
    // SAFETY: both are NUL-terminated.
    checked(unsafe { libc::symlinkat(target.as_ptr(), at.as_raw_fd(), name.as_ptr()) })?;
    Ok(())
}

pub fn read_link(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<OsString> {
    let mut target = vec![0u8; libc::PATH_MAX as usize];
    let length = read_link_into(at, name, &mut target)?;
    target.truncate(length);
    Ok(OsString::from_vec(target))
}

/// As much of where a link leads as there is room for, and how much that is.
pub fn read_link_into(
    at: BorrowedFd,
    name: impl AsRef<Path>,
    target: &mut [u8],
) -> io::Result<usize> {
    let name = c_string(name)?;
    // SAFETY: the buffer is writable for the length that is passed.
    let length = checked(unsafe {
        libc::readlinkat(at.as_raw_fd(), name.as_ptr(), target.as_mut_ptr().cast(), target.len())
            as i64
    })?;
    Ok(length as usize)
}

/// What is at `name`, without following it if it is a link; an empty name means `at` itself.
pub fn stat(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<libc::stat> {
    let name = c_string(name)?;
    let mut found = MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
    // SAFETY: `found` has room for one stat, which is filled when the call succeeds.
    unsafe {
        checked(libc::fstatat(at.as_raw_fd(), name.as_ptr(), found.as_mut_ptr(), flags))?;
        Ok(found.assume_init())
    }
}

/// Whether the ids that file accesses are judged by may write to `name`.
pub fn check_writable(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<()> {
    let name = c_string(name)?;
    let (fd, flags) = (at.as_raw_fd(), libc::AT_EACCESS | libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::syscall(libc::SYS_faccessat2, fd, name.as_ptr(), libc::W_OK, flags) })?;
    Ok(())
}

pub fn rename(
    from_at: BorrowedFd,
    from: impl AsRef<Path>,
    to_at: BorrowedFd,
    to: impl AsRef<Path>,
) -> io::Result<()> {
    let (from, to) = (c_string(from)?, c_string(to)?);
    // SAFETY: both names are NUL-terminated.
    checked(unsafe {
        libc::renameat(from_at.as_raw_fd(), from.as_ptr(), to_at.as_raw_fd(), to.as_ptr())
    })?;
    Ok(())
}

/// Only where nothing has the new name.
pub fn rename_if_free(
    from_at: BorrowedFd,
    from: impl AsRef<Path>,
    to_at: BorrowedFd,
    to: impl AsRef<Path>,
) -> io::Result<()> {
    rename_with(from_at, from.as_ref(), to_at, to.as_ref(), libc::RENAME_NOREPLACE)
}

/// Each gets the other's name, at one instant.
pub fn rename_exchange(
    from_at: BorrowedFd,
    from: impl AsRef<Path>,
    to_at: BorrowedFd,
    to: impl AsRef<Path>,
) -> io::Result<()> {
    rename_with(from_at, from.as_ref(), to_at, to.as_ref(), libc::RENAME_EXCHANGE)
}

fn rename_with(
    from_at: BorrowedFd,
    from: &Path,
    to_at: BorrowedFd,
    to: &Path,
    flags: u32,
) -> io::Result<()> {
    let (from, to) = (c_string(from)?, c_string(to)?);
    let (from_fd, to_fd) = (from_at.as_raw_fd(), to_at.as_raw_fd());
    // SAFETY: both names are NUL-terminated.
    checked(unsafe {
        libc::syscall(libc::SYS_renameat2, from_fd, from.as_ptr(), to_fd, to.as_ptr(), flags)
    })?;
    Ok(())
}

pub fn unlink(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<()> {
    remove(at, name, 0)
}

pub fn remove_directory(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<()> {
    remove(at, name, libc::AT_REMOVEDIR)
}

fn remove(at: BorrowedFd, name: impl AsRef<Path>, flags: i32) -> io::Result<()> {
    let name = c_string(name)?;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::unlinkat(at.as_raw_fd(), name.as_ptr(), flags) })?;
    Ok(())
}

/// Changes the mode of `name`, which the caller knows to be no link.
pub fn set_mode_at(at: BorrowedFd, name: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    let name = c_string(name)?;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::fchmodat(at.as_raw_fd(), name.as_ptr(), mode, 0) })?;
    Ok(())
}

/// The path of a file that is open, for calls that take no descriptor. It leads to that very
/// file, whatever its names lead to by now.
pub fn through(file: BorrowedFd) -> CString {
    let digits = format!("/proc/self/fd/{}", file.as_raw_fd());
    CString::new(digits).unwrap_or_default()
}

/// Changes the mode of a file that is open only by its path.
pub fn set_mode_through(file: BorrowedFd, mode: u32) -> io::Result<()> {
    let path = through(file);
    // SAFETY: `path` is NUL-terminated.
    checked(unsafe { libc::chmod(path.as_ptr(), mode) })?;
    Ok(())
}

pub fn set_mode(file: BorrowedFd, mode: u32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::fchmod(file.as_raw_fd(), mode) })?;
    Ok(())
}

/// Reads the next bytes of a directory's raw listing; 0 at its end.
pub fn read_directory(directory: BorrowedFd, into: &mut [u8]) -> io::Result<usize> {
    let (start, length) = (into.as_mut_ptr(), into.len());
    // SAFETY: the buffer is writable for the length that is passed.
    let count = checked(unsafe {
        libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), start, length)
    })?;
    Ok(count as usize)
}

/// Gives `name`, which the caller knows to be no link, or `at` itself where it is empty, to the
/// user and group `id`.
pub fn set_owner(at: BorrowedFd, name: impl AsRef<Path>, id: u32) -> io::Result<()> {
    let name = c_string(name)?;
    // SAFETY: `name` is NUL-terminated.
    checked(unsafe { libc::fchownat(at.as_raw_fd(), name.as_ptr(), id, id, libc::AT_EMPTY_PATH) })?;
    Ok(())
}
