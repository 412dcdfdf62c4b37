//! /proc: the sandbox's own processes, without the kernel's knobs and secrets.

use crate::sys::mount::{self, Depth, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Hidden: they tell about the host, its hardware or its other users.
const MASKED: [&str; 13] = [
    "acpi",
    "asound",
    "cmdline",
    "interrupts",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
];

/// Shown, but nothing can be turned.
const UNTOUCHABLE: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

const BOOT_ID: &str = "boot_id";

const QUIET: u64 = NO_SUID | NO_DEVICES | NO_EXEC;

/// The whole of it, at `place`.
pub fn mount(place: BorrowedFd) -> io::Result<OwnedFd> {
    let proc = mount::new_filesystem(c"proc", &[], QUIET)?;
    mount::attach(&proc, place)?;
    for name in UNTOUCHABLE {
        if_present(freeze(proc.as_fd(), name))?;
    }
    for name in MASKED {
        if_present(mask(proc.as_fd(), name))?;
    }
    if_present(cover_boot_id(proc.as_fd()))?;
    Ok(proc)
}

/// One of this life of the sandbox: the machine's would tell which sandboxes are neighbours, and
/// programs that ask whether all was started anew would hear no. Made in the scratch mount.
fn cover_boot_id(proc: BorrowedFd) -> io::Result<()> {
    let mut id = String::new();
    let source = path::open(proc, "sys/kernel/random/uuid", libc::O_RDONLY, 0, NO_SYMLINKS)?;
    File::from(source).read_to_string(&mut id)?;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    File::from(path::open(HERE, BOOT_ID, flags, 0o444, 0)?).write_all(id.as_bytes())?;
    let place = path::open(proc, "sys/kernel/random/boot_id", libc::O_PATH, 0, NO_SYMLINKS)?;
    let cover = mount::clone_tree(HERE, Path::new(BOOT_ID), Depth::This)?;
    mount::set_attributes(&cover, Depth::This, QUIET | READ_ONLY, None)?;
    mount::attach(cover, place)?;
    path::unlink(HERE, BOOT_ID)
}

fn freeze(proc: BorrowedFd, name: &str) -> io::Result<()> {
    let place = path::open(proc, name, libc::O_PATH, 0, NO_SYMLINKS)?;
    let tree = mount::clone_tree(place.as_fd(), Path::new(""), Depth::This)?;
    mount::set_attributes(&tree, Depth::This, QUIET | READ_ONLY, None)?;
    mount::attach(tree, place)
}

fn mask(proc: BorrowedFd, name: &str) -> io::Result<()> {
    let place = path::open(proc, name, libc::O_PATH, 0, NO_SYMLINKS)?;
    let is_directory = path::stat(place.as_fd(), "")?.st_mode & libc::S_IFMT == libc::S_IFDIR;
    let cover: OwnedFd = if is_directory {
        mount::new_filesystem(c"tmpfs", &[(c"nr_inodes", c"1")], QUIET | READ_ONLY)?
    } else {
        let cover = mount::clone_tree(HERE, Path::new("/dev/null"), Depth::This)?;
        mount::set_attributes(&cover, Depth::This, NO_SUID | NO_EXEC | READ_ONLY, None)?;
        cover
    };
    mount::attach(cover, place)
}

/// Kernels differ in what they have.
fn if_present(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
