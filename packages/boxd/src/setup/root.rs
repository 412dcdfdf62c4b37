//! The new root: layers under one writable layer, then what is bound into it.

use super::Plan;
use super::frozen::Frozen;
use super::idmap::IdMap;
use super::place::{self, PlaceKind};
use super::trees::Trees;
use super::volatile;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::path::{self, HERE};
use crate::wire::failure::Failure;
use crate::wire::hold_request::Root;
use crate::wire::limits::Limits;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const TMPFS_INODES: &std::ffi::CStr = c"262144";

/// Puts the layers together and returns the root, which hangs in the scratch mount, and the names of
/// those that it shares.
///
/// The layers get short names relative to that scratch mount. So one mount call suffices for
/// hundreds of them, no path of the host is looked up with the sandbox's rights, and none is
/// shown in its mount table.
pub fn assemble(trees: &Trees, plan: &Plan) -> Result<(OwnedFd, Vec<String>), Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    attach_as("w", &trees.writable).map_err(step("writable layer"))?;
    let mut names = Vec::new();
    for (index, lower) in trees.lowers.iter().enumerate() {
        let name = index.to_string();
        attach_as(&name, lower).map_err(step("root layer"))?;
        let is_lent = matches!(plan.ids, IdMap::Range { .. });
        let frozen = index.checked_sub(1).and_then(|at| plan.frozen.get(at)).filter(|_| is_lent);
        names.push(name + frozen.map_or("", Frozen::inside));
    }
    let shared = plan.frozen.len() + plan.root.setup_layers as usize;
    let shared = names.iter().skip(1).take(shared).cloned().collect();
    path::make_directory(HERE, "root", 0o755).map_err(step("scratch mount"))?;
    if plan.is_kept {
        mount::forget_volatile("w/work").map_err(step("overlay root"))?;
    }
    let options = mount::overlay_options(&names.join(":"), "w/upper", "w/work", plan.is_kept);
    mount::mount_overlay(c"root", &options).map_err(step("overlay root"))?;
    let root = path::open_directory(HERE, "root", 0).map_err(step("overlay root"))?;
    Ok((root, shared))
}

fn attach_as(name: &str, tree: &OwnedFd) -> io::Result<()> {
    path::make_directory(HERE, name, 0o755)?;
    mount::attach(tree, path::open_directory(HERE, name, 0)?)
}

/// Mounts what `wanted` names, later ones over earlier ones.
pub fn fill(
    root: BorrowedFd,
    trees: &Trees,
    wanted: &Root,
    limits: &Limits,
) -> Result<(), Failure> {
    let size = volatile::each_of(wanted.tmpfs.len(), limits);
    for target in &wanted.tmpfs {
        let options =
            [(c"mode", c"1777"), (c"size", size.as_c_str()), (c"nr_inodes", TMPFS_INODES)];
        let tmpfs = mount::new_filesystem(c"tmpfs", &options, NO_SUID | NO_DEVICES)
            .map_err(|error| Failure::unavailable("tmpfs", &error))?;
        attach_at(root, tmpfs, Path::new(target), PlaceKind::Directory)?;
    }
    for (bind, tree) in wanted.mounts.iter().zip(&trees.binds) {
        let found = path::stat(tree.as_fd(), "")
            .map_err(|error| Failure::about_path(&bind.source, &error))?;
        let kind = match found.st_mode & libc::S_IFMT {
            libc::S_IFDIR => PlaceKind::Directory,
            _ => PlaceKind::File,
        };
        attach_at(root, tree, Path::new(&bind.target), kind)?;
    }
    Ok(())
}

fn attach_at(
    root: BorrowedFd,
    tree: impl AsFd,
    target: &Path,
    kind: PlaceKind,
) -> Result<(), Failure> {
    let place = place::open(root, target, kind, 0)?;
    mount::attach(tree, place)
        .map_err(|error| Failure::about_path(format!("mount at {}", target.display()), &error))
}

/// Makes `new_root` the only thing there is.
pub fn leave_host(new_root: OwnedFd) -> io::Result<()> {
    mount::change_directory(&new_root)?;
    mount::pivot_here()?;
    mount::detach_topmost()?;
    std::env::set_current_dir("/")?;
    // Nothing may be left above: not finding out would be the worst way to fail.
    let (inside, above) = (path::stat(new_root.as_fd(), "")?, path::stat(HERE, "/..")?);
    if (inside.st_dev, inside.st_ino) != (above.st_dev, above.st_ino) {
        return Err(io::Error::other("the host's root is still in reach"));
    }
    Ok(())
}
