//! /dev: the few devices that cannot hurt, a terminal multiplexer and shared memory.

use super::place::{self, PlaceKind};
use super::volatile;
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use crate::wire::failure::Failure;
use crate::wire::limits::Limits;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const BORROWED: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

pub fn mount(root: BorrowedFd, limits: &Limits) -> Result<(), Failure> {
    let place = place::open(root, Path::new("/dev"), PlaceKind::Directory, NO_SYMLINKS)?;
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    let options = [(c"mode", c"755"), (c"size", c"64k")];
    let dev =
        mount::new_filesystem(c"tmpfs", &options, NO_SUID | NO_EXEC).map_err(step("dev mount"))?;
    mount::attach(&dev, place).map_err(step("dev mount"))?;
    let dev = dev.as_fd();
    for name in BORROWED {
        borrow(dev, name).map_err(step("host device"))?;
    }
    for (name, target) in LINKS {
        path::make_symlink(dev, name, target).map_err(step("dev mount"))?;
    }
    terminals(dev).map_err(step("devpts mount"))?;
    shared_memory(dev, limits).map_err(step("shm mount"))?;
    // Nothing is ever added, so nothing can be replaced.
    let attributes = NO_SUID | NO_EXEC | READ_ONLY;
    mount::set_attributes(dev, Depth::This, attributes, None).map_err(step("dev mount"))
}

/// A device node cannot be made in a user namespace, but the host's can be bound.
fn borrow(dev: BorrowedFd, name: &str) -> io::Result<()> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    let place = path::open(dev, name, flags, 0o666, 0)?;
    let device = mount::clone_tree(HERE, &Path::new("/dev").join(name), Depth::This)?;
    mount::set_attributes(&device, Depth::This, NO_SUID | NO_EXEC, None)?;
    mount::attach(device, place)
}

fn terminals(dev: BorrowedFd) -> io::Result<()> {
    let options = [(c"ptmxmode", c"666"), (c"mode", c"620")];
    let pts = mount::new_filesystem(c"devpts", &options, NO_SUID | NO_EXEC)?;
    attach_as(dev, "pts", pts)
}

fn shared_memory(dev: BorrowedFd, limits: &Limits) -> io::Result<()> {
    let size = volatile::shared_memory(limits);
    let options = [(c"mode", c"1777"), (c"size", size.as_c_str()), (c"nr_inodes", c"65536")];
    let shm = mount::new_filesystem(c"tmpfs", &options, NO_SUID | NO_DEVICES | NO_EXEC)?;
    attach_as(dev, "shm", shm)
}

fn attach_as(dev: BorrowedFd, name: &str, tree: impl AsFd) -> io::Result<()> {
    path::make_directory(dev, name, 0o755)?;
    mount::attach(tree, path::open_directory(dev, name, 0)?)
}
