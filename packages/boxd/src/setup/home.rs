//! The home of `user`, where the layers belong to the one who runs hold: inside that is root, who
//! is not whose home it is.

use crate::serve;
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use std::io;
use std::os::fd::AsFd;

/// A home that is missing, or somebody's already, is left as it is.
pub fn give_to_user() -> io::Result<()> {
    let Some(user) = serve::default_user() else {
        return Ok(());
    };
    let Ok(home) = path::open_directory(HERE, &user.home, NO_SYMLINKS) else {
        return Ok(());
    };
    match path::stat(home.as_fd(), "")?.st_uid {
        0 => path::set_owner(home.as_fd(), "", user.uid),
        _ => Ok(()),
    }
}
