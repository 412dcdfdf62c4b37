//! The process that reads an archive: in namespaces of its own, with one folder.

use crate::setup::idmap::{IdMap, RANGE};
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_SUID};
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use crate::sys::process::{self, Clone};
use crate::sys::{credentials, unix_socket};
use crate::wire::failure::Failure;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// A range that no sandbox has: those begin above it.
pub const NOBODYS: u32 = 0x1000_0000 - RANGE;

const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Returns twice: the folder in the new process, and nothing in this one, once that is over.
pub fn enter(directory: &Path, ids: IdMap) -> Result<Option<OwnedFd>, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    let folder = path::open_directory(HERE, directory, NO_SYMLINKS)
        .map_err(|error| Failure::about_path(directory.display(), &error))?;
    let (ours, theirs) = unix_socket::message_pair().map_err(step("socket pair"))?;
    let (pid, pidfd) = match process::clone_into(NAMESPACES).map_err(step("namespaces"))? {
        Clone::Parent { pid, pidfd } => (pid, pidfd),
        Clone::Child => {
            drop(ours);
            return settle(folder, theirs, ids).map(Some);
        }
    };
    drop(theirs);
    let equipped = ids.write(pid).map_err(step("user id map")).and_then(|()| {
        let lent = match ids {
            IdMap::Range { .. } => vec![tree_for(pid, folder)?],
            _ => Vec::new(),
        };
        unix_socket::send(&ours, b"go", &lent).map_err(step("start signal"))
    });
    drop(ours);
    process::await_end(&pidfd);
    equipped.map(|()| None)
}

/// The folder as a mount in which the ids of the archive are what they are, for a process to whom
/// they belong nowhere else.
fn tree_for(pid: i32, folder: OwnedFd) -> Result<OwnedFd, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    let namespace = File::open(format!("/proc/{pid}/ns/user")).map_err(step("user namespace"))?;
    let tree = mount::clone_tree(folder.as_fd(), Path::new(""), Depth::This)
        .map_err(step("mount of the folder"))?;
    let attributes = NO_SUID | NO_DEVICES;
    mount::set_attributes(&tree, Depth::This, attributes, Some(namespace.as_fd()))
        .map_err(step("id map of the images' filesystem"))?;
    Ok(tree)
}

fn settle(folder: OwnedFd, from_above: OwnedFd, ids: IdMap) -> Result<OwnedFd, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    let (length, mut lent) =
        unix_socket::receive(&from_above, &mut [0; 8]).map_err(step("start signal"))?;
    if length == 0 {
        process::exit_now(1);
    }
    ids.become_root().map_err(step("mapped user ids"))?;
    credentials::no_new_privileges().map_err(step("no_new_privs"))?;
    // Whoever waits for us may be ended; nobody would want the rest then.
    process::end_with_parent().map_err(step("end with its parent"))?;
    Ok(lent.pop().unwrap_or(folder))
}
