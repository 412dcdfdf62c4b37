//! What every sandbox has and none has chosen, made in a scratch mount before its root is there:
//! while hold still prepares the rest, or before anybody has asked for a sandbox at all.

use super::place::{self, PlaceKind};
use super::{devices, kernel_files};
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use crate::wire::failure::Failure;
use crate::wire::limits::Limits;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A directory that every host has and nothing here needs any more: where the scratch mount
/// hangs until the host is left, and goes with it.
const SCRATCH: &str = "/proc";

pub struct Aside {
    proc: OwnedFd,
    dev: OwnedFd,
}

impl Aside {
    /// Afterwards the scratch mount is the working directory.
    pub fn make() -> Result<Aside, Failure> {
        let step =
            |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
        let scratch = mount::new_filesystem(c"tmpfs", &[], NO_SUID | NO_DEVICES)
            .map_err(step("tmpfs in a user namespace"))?;
        let on_top = path::open_directory(HERE, SCRATCH, 0).map_err(step("scratch mount"))?;
        mount::attach(&scratch, &on_top).map_err(step("scratch mount"))?;
        mount::change_directory(&scratch).map_err(step("scratch mount"))?;
        let room = |name: &str| {
            path::make_directory(HERE, name, 0o755)?;
            path::open_directory(HERE, name, 0)
        };
        let (proc, dev) = (room("proc"), room("dev"));
        let proc = proc.and_then(|room| kernel_files::mount(room.as_fd()));
        let dev = dev.and_then(|room| devices::mount(room.as_fd()));
        let proc = proc.map_err(step("proc mount"))?;
        Ok(Aside { proc, dev: dev.map_err(step("dev mount"))? })
    }

    /// Nothing of the host is in reach any more, and nothing of it kept in use, while this waits
    /// for a root.
    pub fn leave_host() -> Result<(), Failure> {
        mount::pivot_here()
            .and_then(|()| mount::detach_topmost())
            .and_then(|()| std::env::set_current_dir("/"))
            .map_err(|error| Failure::unavailable("pivot_root", &error))
    }

    /// Into the root, now that there is one.
    pub fn move_into(self, root: BorrowedFd, limits: &Limits) -> Result<(), Failure> {
        let shm = |error| Failure::unavailable("shm mount", &error);
        devices::mount_shared_memory(self.dev.as_fd(), limits).map_err(shm)?;
        for (tree, target) in [(self.proc, "/proc"), (self.dev, "/dev")] {
            let place = place::open(root, Path::new(target), PlaceKind::Directory, NO_SYMLINKS)?;
            mount::attach(tree, place)
                .map_err(|error| Failure::about_path(format!("mount at {target}"), &error))?;
        }
        Ok(())
    }
}
