//! Places in the new root that something is mounted on.

use crate::sys::path::{self, IN_ROOT};
use crate::wire::failure::Failure;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    Directory,
    File,
}

/// The place `target` names inside `root`, made if it is missing. No link in a hostile layer
/// leads out of the root.
pub fn open(
    root: BorrowedFd,
    target: &Path,
    kind: PlaceKind,
    resolve: u64,
) -> Result<OwnedFd, Failure> {
    let failed = |error| Failure::about_path(format!("mount point {}", target.display()), &error);
    match path::open(root, target, libc::O_PATH, 0, IN_ROOT | resolve) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        outcome => return outcome.map_err(failed),
    }
    make(root, target, kind, resolve).map_err(failed)?;
    path::open(root, target, libc::O_PATH, 0, IN_ROOT | resolve).map_err(failed)
}

fn make(root: BorrowedFd, target: &Path, kind: PlaceKind, resolve: u64) -> io::Result<()> {
    let names: Vec<_> = target
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let mut so_far = std::path::PathBuf::from("/");
    for (index, name) in names.iter().enumerate() {
        let parent = path::open_directory(root, &so_far, IN_ROOT | resolve)?;
        let outcome = if index + 1 == names.len() && kind == PlaceKind::File {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_WRONLY;
            path::open(parent.as_fd(), name, flags, 0o644, 0).map(drop)
        } else {
            path::make_directory(parent.as_fd(), name, 0o755)
        };
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => outcome?,
        }
        so_far.push(name);
    }
    Ok(())
}
