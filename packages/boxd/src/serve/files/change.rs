//! Making directories.

use super::act_as;
use super::place::{self, Place};
use crate::serve::confine::Identity;
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::Failure;
use std::io;
use std::os::fd::AsFd;

const NEW_DIRECTORY: u32 = 0o755;

/// True when it was not there before.
pub fn make_directory(
    path: &str,
    parents: bool,
    mode: Option<u32>,
    user: &User,
    identity: Identity,
) -> Result<bool, Failure> {
    let path = place::absolute(path, user)?;
    let failed = |error| Failure::about_path(&path, &error);
    let _acting = act_as(user, identity)?;
    if parents {
        if path::open_directory(HERE, &path, NO_MAGIC).is_ok() {
            return Ok(false);
        }
        make_parents(&path)?;
    }
    let place = Place::of(&path)?;
    path::make_directory(place.directory.as_fd(), &place.name, NEW_DIRECTORY).map_err(failed)?;
    if let Some(mode) = mode {
        path::set_mode_at(place.directory.as_fd(), &place.name, mode & 0o7777).map_err(failed)?;
    }
    Ok(true)
}

/// Makes every directory above `path` that is missing.
pub fn make_parents(path: &str) -> Result<(), Failure> {
    let parent_end = path.trim_end_matches('/').rfind('/').unwrap_or(0);
    let parent = &path[..parent_end];
    if parent.is_empty() || path::open_directory(HERE, parent, NO_MAGIC).is_ok() {
        return Ok(());
    }
    make_parents(parent)?;
    // `a/..` is there once `a` is.
    let Ok(place) = Place::of(parent) else {
        return Ok(());
    };
    match path::make_directory(place.directory.as_fd(), &place.name, NEW_DIRECTORY) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Failure::about_path(parent, &error))
        }
        _ => Ok(()),
    }
}
