//! Sending a tree as an archive. Nothing is followed and only one directory is open at a time.

use super::{act_as, place};
use crate::serve::archive::Archive;
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC, PLAIN};
use crate::tar::{Entry, Kind};
use crate::tree::listing::next_names;
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use serde_json::json;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub struct Packing {
    base: OwnedFd,
    shown: String,
    user: User,
    /// What is still to be packed, below the base.
    pending: Vec<PathBuf>,
    /// What was named is packed, and of a folder itself alone.
    is_named: bool,
    archive: Archive,
}

impl Packing {
    /// A directory's things are named as seen from it; a file by its own name.
    pub fn begin(
        path: &str,
        only: Vec<String>,
        user: User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let path = place::absolute(path, &user)?;
        let failed = |error| Failure::about_path(&path, &error);
        let acting = act_as(&user, identity)?;
        let found = path::open(HERE, &path, libc::O_PATH, 0, NO_MAGIC).map_err(failed)?;
        let mode = path::stat(found.as_fd(), "").map_err(failed)?.st_mode & libc::S_IFMT;
        let (base, first) = if mode == libc::S_IFDIR {
            (found, PathBuf::from("."))
        } else {
            let place = place::Place::behind_links(&path)?;
            (place.directory, PathBuf::from(place.name))
        };
        drop(acting);
        let is_named = !only.is_empty();
        let pending = match is_named {
            true => only.into_iter().rev().map(PathBuf::from).collect(),
            false => vec![first],
        };
        let archive = Archive::default();
        let packing = Packing { base, shown: path, user, pending, is_named, archive };
        Ok(Begun::Streaming(json!({}), Work::Pack(packing)))
    }

    pub fn advance(
        &mut self,
        stream: u32,
        credit: &mut u64,
        identity: Identity,
        out: &mut Outbound,
    ) -> Progress {
        if self.archive.has_room() {
            let gathered = act_as(&self.user, identity).and_then(|_acting| self.gather());
            if let Err(failure) = gathered {
                out.fail(stream, &failure);
                return Progress::Over;
            }
        }
        self.archive.send(stream, credit, out)
    }

    /// Adds about one frame's worth.
    fn gather(&mut self) -> Result<(), Failure> {
        while self.archive.has_room() {
            if self.archive.read_content() {
                continue;
            }
            let Some(next) = self.pending.pop() else {
                self.archive.finish();
                return Ok(());
            };
            self.add(&next).map_err(|error| {
                Failure::about_path(Path::new(&self.shown).join(&next).display(), &error)
            })?;
        }
        Ok(())
    }

    fn add(&mut self, relative: &Path) -> io::Result<()> {
        let thing =
            path::open(self.base.as_fd(), relative, libc::O_PATH | libc::O_NOFOLLOW, 0, PLAIN);
        let thing = match thing {
            // It was listed and is gone by now.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && (self.is_named || self.archive.entries > 0) =>
            {
                return Ok(());
            }
            outcome => outcome?,
        };
        let found = path::stat(thing.as_fd(), "")?;
        let mut entry = Entry {
            path: relative.as_os_str().as_bytes().to_vec(),
            target: Vec::new(),
            kind: Kind::File,
            mode: found.st_mode & 0o7777,
            uid: found.st_uid,
            gid: found.st_gid,
            mtime: found.st_mtime,
            size: 0,
            was_there: false,
        };
        let mut content = None;
        match found.st_mode & libc::S_IFMT {
            libc::S_IFDIR => {
                entry.kind = Kind::Directory;
                entry.path.push(b'/');
                if !self.is_named {
                    self.list(relative)?;
                }
            }
            libc::S_IFLNK => {
                entry.kind = Kind::SymbolicLink;
                entry.target = path::read_link(thing.as_fd(), "")?.as_bytes().to_vec();
            }
            libc::S_IFREG => {
                let file = path::open(self.base.as_fd(), relative, libc::O_RDONLY, 0, PLAIN)?;
                // Of what is read, in case somebody has swapped it.
                entry.size = path::stat(file.as_fd(), "")?.st_size.max(0) as u64;
                content = Some(File::from(file));
            }
            _ => {
                self.archive.skipped += 1;
                return Ok(());
            }
        }
        self.archive.entries += 1;
        self.archive.begin(&entry, content);
        Ok(())
    }

    fn list(&mut self, relative: &Path) -> io::Result<()> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let directory = path::open(self.base.as_fd(), relative, flags, 0, PLAIN)?;
        while let Some(names) = next_names(directory.as_fd())? {
            self.pending.extend(names.into_iter().map(|entry| match relative.as_os_str() == "." {
                true => PathBuf::from(entry.name),
                false => relative.join(entry.name),
            }));
        }
        Ok(())
    }
}
