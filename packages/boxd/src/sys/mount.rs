//! Mounts as descriptors.

use super::{c_string, checked, checked_fd};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::null;

const OPEN_TREE_CLONE: u32 = 1;
const OPEN_TREE_CLOEXEC: u32 = libc::O_CLOEXEC as u32;
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 0x04;
const MOVE_MOUNT_T_EMPTY_PATH: u32 = 0x40;
const FSOPEN_CLOEXEC: u32 = 1;
const FSMOUNT_CLOEXEC: u32 = 1;
const FSCONFIG_SET_FLAG: u32 = 0;
const FSCONFIG_SET_STRING: u32 = 1;
const FSCONFIG_CMD_CREATE: u32 = 6;
const ATTR_IDMAP: u64 = 0x0010_0000;

pub const READ_ONLY: u64 = 0x01;
pub const NO_SUID: u64 = 0x02;
pub const NO_DEVICES: u64 = 0x04;
pub const NO_EXEC: u64 = 0x08;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    This,
    WithSubmounts,
}

impl Depth {
    fn flag(self) -> i32 {
        if self == Depth::WithSubmounts { libc::AT_RECURSIVE } else { 0 }
    }
}

/// A detached copy of the mount at `path` below `from`; an empty path means `from` itself.
pub fn clone_tree(from: BorrowedFd, path: &Path, depth: Depth) -> io::Result<OwnedFd> {
    let path = c_string(path)?;
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (libc::AT_EMPTY_PATH | depth.flag()) as u32;
    // SAFETY: `path` is NUL-terminated and outlives the call.
    checked_fd(unsafe {
        libc::syscall(libc::SYS_open_tree, from.as_raw_fd(), path.as_ptr(), flags)
    })
}

/// The folder at `path` as a mount of its own, to be read: nothing is above it.
pub fn view_of(from: BorrowedFd, path: &Path) -> io::Result<OwnedFd> {
    let view = clone_tree(from, path, Depth::This)?;
    set_attributes(&view, Depth::This, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, None)?;
    Ok(view)
}

/// The same, to be written to.
pub fn store_of(from: BorrowedFd, path: &Path) -> io::Result<OwnedFd> {
    let store = clone_tree(from, path, Depth::This)?;
    set_attributes(&store, Depth::This, NO_SUID | NO_DEVICES | NO_EXEC, None)?;
    Ok(store)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes, makes the mount private, and with `ids` shows it through that user
/// namespace's id map.
pub fn set_attributes(
    mount: impl AsFd,
    depth: Depth,
    attributes: u64,
    ids: Option<BorrowedFd>,
) -> io::Result<()> {
    let wanted = MountAttributes {
        set: attributes | if ids.is_some() { ATTR_IDMAP } else { 0 },
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: ids.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    let flags = libc::AT_EMPTY_PATH | depth.flag();
    // SAFETY: the path is the empty string, the attributes have the size that is passed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const wanted,
            size_of::<MountAttributes>(),
        )
    })?;
    Ok(())
}

/// Attaches a detached mount at the place `onto` names.
pub fn attach(mount: impl AsFd, onto: impl AsFd) -> io::Result<()> {
    let empty = c"".as_ptr();
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    let (from, to) = (mount.as_fd().as_raw_fd(), onto.as_fd().as_raw_fd());
    // SAFETY: both paths are the empty string.
    checked(unsafe { libc::syscall(libc::SYS_move_mount, from, empty, to, empty, flags) })?;
    Ok(())
}

/// A new, detached filesystem.
pub fn new_filesystem(
    kind: &CStr,
    options: &[(&CStr, &CStr)],
    attributes: u64,
) -> io::Result<OwnedFd> {
    new_filesystem_with(kind, options, &[], attributes)
}

/// The same, with options that take no value.
pub fn new_filesystem_with(
    kind: &CStr,
    options: &[(&CStr, &CStr)],
    flags: &[&CStr],
    attributes: u64,
) -> io::Result<OwnedFd> {
    // SAFETY: `kind` is NUL-terminated.
    let context =
        checked_fd(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) })?;
    let configure = |command: u32, key: *const libc::c_char, value: *const libc::c_char| {
        let fd = context.as_raw_fd();
        // SAFETY: key and value are null or NUL-terminated, as the command wants them.
        checked(unsafe { libc::syscall(libc::SYS_fsconfig, fd, command, key, value, 0) })
    };
    for (key, value) in options {
        configure(FSCONFIG_SET_STRING, key.as_ptr(), value.as_ptr())?;
    }
    for flag in flags {
        configure(FSCONFIG_SET_FLAG, flag.as_ptr(), null())?;
    }
    configure(FSCONFIG_CMD_CREATE, null(), null())?;
    let fd = context.as_raw_fd();
    // SAFETY: takes no pointers.
    checked_fd(unsafe { libc::syscall(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes) })
}

/// `volatile`, because the layer dies with the sandbox and a sync at its end helps nobody;
/// `userxattr`, because a user namespace may not write the trusted attributes.
pub fn overlay_options(lowers: &str, upper: &str, work: &str, is_kept: bool) -> CString {
    let volatile = if is_kept { "" } else { ",volatile" };
    let options = format!("lowerdir={lowers},upperdir={upper},workdir={work},userxattr{volatile}");
    CString::new(options).expect("made of names without NUL")
}

/// What `volatile` leaves in the folder of work keeps its layer from being used again.
pub fn forget_volatile(work: &str) -> io::Result<()> {
    let left = format!("{work}/work/incompat");
    match std::fs::remove_dir_all(left) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The classic call, with names relative to the working directory.
pub fn mount_overlay(onto: &CStr, options: &CStr) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: all strings are NUL-terminated and outlive the call.
    checked(unsafe {
        libc::mount(
            c"overlay".as_ptr(),
            onto.as_ptr(),
            c"overlay".as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })?;
    Ok(())
}

/// Cuts every mount of this namespace off from the namespace it was copied from.
pub fn make_everything_private() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: source, type and data may be null when only the propagation changes.
    checked(unsafe { libc::mount(null(), c"/".as_ptr(), null(), flags, null()) })?;
    Ok(())
}

/// Makes the working directory the root of this namespace. The old root then lies on top of it.
pub fn pivot_here() -> io::Result<()> {
    let here = c".".as_ptr();
    // SAFETY: the strings are NUL-terminated constants.
    checked(unsafe { libc::syscall(libc::SYS_pivot_root, here, here) })?;
    Ok(())
}

/// Lets go of the topmost mount on the working directory, and all mounts in it.
pub fn detach_topmost() -> io::Result<()> {
    // SAFETY: the string is a NUL-terminated constant.
    checked(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) })?;
    Ok(())
}

pub fn change_directory(to: impl AsFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::fchdir(to.as_fd().as_raw_fd()) })?;
    Ok(())
}
