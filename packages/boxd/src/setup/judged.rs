//! Folders of the host that somebody chose for a root: judged once, and from then on that very
//! folder, whatever its names come to lead to.

use super::workspace::sensitive;
use crate::sys::mount::{self, Depth};
use crate::sys::path::{self, HERE, NO_MAGIC, NO_SYMLINKS};
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::{Bind, Root};
use crate::wire::workspace::Sensitive;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub struct Judged {
    /// As it was named.
    source: String,
    folder: OwnedFd,
    /// Free of links.
    path: PathBuf,
    found: libc::stat,
}

/// Those of a root, each open.
pub fn judge(root: &Root) -> Result<Vec<Judged>, Failure> {
    let lowers = root.lowers.iter().filter(|_| root.judges_lowers).map(|source| (source, 0));
    // Whoever gives a folder to the sandbox's user knows it under its true name.
    let flags = |bind: &Bind| if bind.is_owned { NO_SYMLINKS } else { 0 };
    let binds = root.mounts.iter().filter(|bind| bind.is_judged);
    let binds = binds.map(|bind| (&bind.source, flags(bind)));
    lowers
        .chain(binds)
        .map(|(source, flags)| Judged::open(source, flags, &root.sensitive))
        .collect()
}

impl Judged {
    fn open(source: &str, flags: u64, sensitive: &Sensitive) -> Result<Judged, Failure> {
        let failed = |error| Failure::about_path(source, &error);
        let folder = path::open_directory(HERE, source, NO_MAGIC | flags).map_err(failed)?;
        let name = path::through(folder.as_fd());
        let path = fs::read_link(OsStr::from_bytes(name.to_bytes())).map_err(failed)?;
        if let Some(why) = sensitive::objection(folder.as_fd(), sensitive).map_err(failed)? {
            let message = format!("{} cannot be shown to a sandbox: it {why}", path.display());
            return Err(Failure::new(Code::PermissionDenied, message));
        }
        let found = path::stat(folder.as_fd(), "").map_err(failed)?;
        Ok(Judged { source: source.to_string(), folder, path, found })
    }

    /// Its name, and which folder that is: another, or one that has changed, is called otherwise.
    pub fn identity(&self) -> (String, String) {
        let found = &self.found;
        let times = [found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec];
        (self.source.clone(), describe(found.st_dev, found.st_ino, times))
    }

    /// Which folder a name leads to now.
    pub fn identity_at(source: &str) -> io::Result<String> {
        let found = fs::metadata(source)?;
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        Ok(describe(found.dev(), found.ino(), times))
    }

    pub fn find<'a>(all: &'a [Judged], source: &Path) -> Option<&'a Judged> {
        all.iter().find(|one| Path::new(&one.source) == source)
    }

    /// hold's part, where hold is root.
    pub fn tree(&self, depth: Depth) -> io::Result<OwnedFd> {
        mount::clone_tree(self.folder.as_fd(), Path::new(""), depth)
    }

    /// The sandbox's part, where hold is an ordinary user: only who is in a mount namespace can
    /// clone its mounts. That it is still the same folder is looked at, not believed.
    pub fn tree_from_inside(&self, depth: Depth) -> io::Result<OwnedFd> {
        let folder = path::open_directory(HERE, &self.path, NO_SYMLINKS)?;
        let found = path::stat(folder.as_fd(), "")?;
        if (found.st_dev, found.st_ino) != (self.found.st_dev, self.found.st_ino) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        mount::clone_tree(folder.as_fd(), Path::new(""), depth)
    }
}

fn describe(device: u64, inode: u64, times: [i64; 4]) -> String {
    format!("{device}:{inode}:{}", times.map(|time| time.to_string()).join(":"))
}
