//! A copy of a sandbox is not that sandbox: what made the one it is has no place in the other.

use super::frozen::Frozen;
use crate::sys::path::{self, HERE, IN_ROOT};
use crate::tree::listing::next_names;
use crate::tree::removal::Removal;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What belongs to one life and one machine, file or folder.
pub const OF_ONE_LIFE: [&str; 10] = [
    "etc/machine-id",
    "etc/sandboxer",
    "etc/ssh/ssh_host_rsa_key",
    "etc/ssh/ssh_host_rsa_key.pub",
    "etc/ssh/ssh_host_ecdsa_key",
    "etc/ssh/ssh_host_ecdsa_key.pub",
    "etc/ssh/ssh_host_ed25519_key",
    "etc/ssh/ssh_host_ed25519_key.pub",
    "var/lib/dbus/machine-id",
    "var/lib/systemd/random-seed",
];
/// Where programs leave what is true while they run.
const RUN: &str = "run";

/// Removes it where one of the shared layers brings it. `names` are where those layers are, below
/// the working directory.
pub fn begin(root: BorrowedFd, frozen: &[Frozen], names: &[String]) -> io::Result<()> {
    for layer in names.iter().take(frozen.len()) {
        let layer = path::open_directory(HERE, layer, 0)?;
        for name in OF_ONE_LIFE {
            if path::open(layer.as_fd(), name, libc::O_PATH | libc::O_NOFOLLOW, 0, IN_ROOT).is_ok()
            {
                remove(root, Path::new(name))?;
            }
        }
        let run = path::open(layer.as_fd(), RUN, libc::O_RDONLY | libc::O_DIRECTORY, 0, IN_ROOT);
        if let Ok(run) = run {
            while let Some(names) = next_names(run.as_fd())? {
                for one in names {
                    // What hold itself lays there comes from another layer.
                    if one.name != OsStr::new("boxd") {
                        remove(root, &PathBuf::from(RUN).join(one.name))?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn remove(root: BorrowedFd, what: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (what.parent(), what.file_name()) else {
        return Ok(());
    };
    let Ok(parent) = path::open_directory(root, above, IN_ROOT) else {
        return Ok(());
    };
    match path::unlink(parent.as_fd(), name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EISDIR) => empty(parent, name),
        outcome => outcome,
    }
}

fn empty(parent: OwnedFd, name: &OsStr) -> io::Result<()> {
    let mut removal = Removal::of_directory(parent, name, true)?;
    while !removal.step(usize::MAX)? {}
    Ok(())
}
