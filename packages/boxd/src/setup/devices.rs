//! /dev: the few devices that cannot hurt, a terminal multiplexer and shared memory.

use super::volatile;
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use crate::sys::path::{self, HERE};
use crate::wire::limits::Limits;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const BORROWED: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];

const SHARED_MEMORY: &str = "shm";

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

/// The whole of it, at `place`, but for shared memory.
pub fn mount(place: BorrowedFd) -> io::Result<OwnedFd> {
    let options = [(c"mode", c"755"), (c"size", c"64k")];
    let dev = mount::new_filesystem(c"tmpfs", &options, NO_SUID | NO_EXEC)?;
    mount::attach(&dev, place)?;
    for name in BORROWED {
        borrow(dev.as_fd(), name)?;
    }
    for (name, target) in LINKS {
        path::make_symlink(dev.as_fd(), name, target)?;
    }
    terminals(dev.as_fd())?;
    path::make_directory(dev.as_fd(), SHARED_MEMORY, 0o755)?;
    // Nothing is ever added, so nothing can be replaced.
    mount::set_attributes(&dev, Depth::This, NO_SUID | NO_EXEC | READ_ONLY, None)?;
    Ok(dev)
}

pub fn mount_shared_memory(dev: BorrowedFd, limits: &Limits) -> io::Result<()> {
    let size = volatile::shared_memory(limits);
    let options = [(c"mode", c"1777"), (c"size", size.as_c_str()), (c"nr_inodes", c"65536")];
    let shm = mount::new_filesystem(c"tmpfs", &options, NO_SUID | NO_DEVICES | NO_EXEC)?;
    mount::attach(shm, path::open_directory(dev, SHARED_MEMORY, 0)?)
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
    path::make_directory(dev, "pts", 0o755)?;
    mount::attach(pts, path::open_directory(dev, "pts", 0)?)
}
