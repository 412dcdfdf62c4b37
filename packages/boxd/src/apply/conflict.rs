//! Whether the host has changed something since the sandbox saw it first.

use super::host::{self, STRICT, Thing};
use super::known::Known;
use crate::sys::path;
use crate::tree::listing::next_names;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

pub struct Judge<'a> {
    pub root: BorrowedFd<'a>,
    pub since_ns: i64,
    pub known: &'a Known,
}

impl Judge<'_> {
    /// The first thing at or below `path` that has changed. A folder's own stamp says nothing: it
    /// moves with whatever is put into it.
    pub fn changed(&self, path: &Path, thing: &Thing) -> io::Result<Option<PathBuf>> {
        if !thing.is_folder() {
            let is_changed =
                thing.changed_ns() >= self.since_ns && !self.known.is_ours(path, thing);
            return Ok(is_changed.then(|| path.to_owned()));
        }
        let mut pending = vec![path.to_owned()];
        while let Some(folder) = pending.pop() {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            let directory = path::open(self.root, &folder, flags, 0, STRICT)?;
            while let Some(names) = next_names(directory.as_fd())? {
                for name in names {
                    let inside = folder.join(name.name);
                    match host::at(self.root, &inside)? {
                        Some(thing) if thing.is_folder() => pending.push(inside),
                        Some(thing) => {
                            if let Some(changed) = self.changed(&inside, &thing)? {
                                return Ok(Some(changed));
                            }
                        }
                        None => {}
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Whether a file of the host has the same content as one that waits.
pub fn is_same(thing: &Thing, staged: &File) -> io::Result<bool> {
    let name = path::through(thing.handle.as_fd());
    let name = name.to_str().map_err(io::Error::other)?;
    let mut theirs = File::from(path::open(path::HERE, name, libc::O_RDONLY, 0, 0)?);
    let mut ours = staged;
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let count = ours.read(&mut left)?;
        if count == 0 {
            return Ok(theirs.read(&mut right)? == 0);
        }
        if theirs.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return Ok(false);
        }
    }
}
