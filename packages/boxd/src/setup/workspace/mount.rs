//! The workspace in its place.

use super::LAYER;
use crate::setup::idmap::{IdMap, USER};
use crate::setup::place::{self, PlaceKind};
use crate::sys::mount;
use crate::sys::path::{self, HERE};
use crate::wire::failure::Failure;
use crate::wire::workspace::{Mode, Workspace};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// What a copy-on-write workspace is made of, for who compares the two.
pub struct Layers {
    /// What the sandbox wrote.
    pub upper: OwnedFd,
    /// The host's folder, which it sees below.
    pub lower: OwnedFd,
    /// Where what the layer held before each run is kept, to be written to.
    pub points: OwnedFd,
    /// Whether all that outlives the first process.
    pub is_kept: bool,
}

/// The working directory is still the scratch mount, with the sandbox's disk as `w` in it.
pub fn mount(
    root: BorrowedFd,
    tree: OwnedFd,
    wanted: &Workspace,
    permissions: u32,
    ids: IdMap,
    is_kept: bool,
) -> Result<Option<Layers>, Failure> {
    let place = place::open(root, Path::new(&wanted.target), PlaceKind::Directory, 0)?;
    let at = |error: io::Error| Failure::about_path(format!("mount at {}", wanted.target), &error);
    if wanted.mode != Mode::CopyOnWrite {
        return mount::attach(tree, place).map(|()| None).map_err(at);
    }
    let step = |error: io::Error| Failure::unavailable("overlay of the workspace", &error);
    let upper = format!("w/{LAYER}/upper");
    let work = format!("w/{LAYER}/work");
    let points = format!("w/{LAYER}/points");
    make_if_missing(&work, 0o700).map_err(step)?;
    make_if_missing(&points, 0o700).map_err(step)?;
    if make_if_missing(&upper, 0o755).map_err(step)? {
        if !matches!(ids, IdMap::Single { .. }) {
            path::set_owner(HERE, &upper, USER).map_err(step)?;
        }
        // The layer's top is what the sandbox sees as the folder itself.
        path::set_mode_at(HERE, &upper, permissions).map_err(step)?;
    }
    for name in ["l", "c"] {
        path::make_directory(HERE, name, 0o755).map_err(step)?;
    }
    mount::attach(&tree, path::open_directory(HERE, "l", 0).map_err(step)?).map_err(step)?;
    if is_kept {
        mount::forget_volatile(&work).map_err(step)?;
    }
    let options = mount::overlay_options("l", &upper, &work, is_kept);
    mount::mount_overlay(c"c", &options).map_err(step)?;
    let layers = Layers {
        upper: mount::view_of(HERE, Path::new(&upper)).map_err(step)?,
        lower: mount::view_of(HERE, Path::new("l")).map_err(step)?,
        points: mount::store_of(HERE, Path::new(&points)).map_err(step)?,
        is_kept,
    };
    mount::attach(path::open_directory(HERE, "c", 0).map_err(step)?, place).map_err(at)?;
    Ok(Some(layers))
}

/// False where an earlier life of the sandbox has left it.
fn make_if_missing(name: &str, mode: u32) -> io::Result<bool> {
    match path::make_directory(HERE, name, mode) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
