//! A `sudo` that works where no program can gain rights by being run: boxd under that name, which
//! asks serve.

use super::place::{self, PlaceKind};
use crate::sys::mount;
use crate::sys::path::{self, IN_ROOT, NO_SYMLINKS};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const USUAL: &str = "/usr/bin/sudo";
/// Where it is otherwise, and the first of every program's PATH.
const OURS: &str = "/run/boxd/bin/sudo";

/// Over the image's own, which cannot work. Where there is none, in a folder of ours, with a link
/// where it is usually found, so that a package can put its own in that place.
///
/// An image that has no room for it has no `sudo`.
pub fn offer(root: BorrowedFd, binary: &OwnedFd) -> io::Result<()> {
    let resolve = IN_ROOT | NO_SYMLINKS;
    if let Ok(usual) = path::open(root, USUAL, libc::O_PATH, 0, resolve) {
        let kind = path::stat(usual.as_fd(), "")?.st_mode & libc::S_IFMT;
        return match kind {
            libc::S_IFREG => mount::attach(binary, usual),
            _ => Ok(()),
        };
    }
    let Ok(place) = place::open(root, Path::new(OURS), PlaceKind::File, NO_SYMLINKS) else {
        return Ok(());
    };
    mount::attach(binary, place)?;
    if let Ok(folder) = path::open_directory(root, "/usr/bin", resolve) {
        // The programs of the host cannot be changed, and need not.
        let _ = path::make_symlink(folder.as_fd(), "sudo", OURS);
    }
    Ok(())
}
