//! Sending a tree as an archive. Nothing is followed and only one directory is open at a time.

use super::{act_as, place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC, PLAIN};
use crate::tar::{Entry, Kind, writer};
use crate::tree::listing::next_names;
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub struct Packing {
    base: OwnedFd,
    shown: String,
    user: User,
    /// What is still to be packed, below the base.
    pending: Vec<PathBuf>,
    file: Option<Content>,
    ready: Vec<u8>,
    entries: u64,
    skipped: u64,
    is_written: bool,
}

struct Content {
    file: File,
    size: u64,
    left: u64,
}

impl Packing {
    /// A directory's things are named as seen from it; a file by its own name.
    pub fn begin(path: &str, user: User, identity: Identity) -> Result<Begun, Failure> {
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
        let packing = Packing {
            base,
            shown: path,
            user,
            pending: vec![first],
            file: None,
            ready: Vec::new(),
            entries: 0,
            skipped: 0,
            is_written: false,
        };
        Ok(Begun::Streaming(json!({}), Work::Pack(packing)))
    }

    pub fn advance(
        &mut self,
        stream: u32,
        credit: &mut u64,
        identity: Identity,
        out: &mut Outbound,
    ) -> Progress {
        if self.ready.len() < MOST_DATA && !self.is_written {
            let gathered = act_as(&self.user, identity).and_then(|_acting| self.gather());
            if let Err(failure) = gathered {
                out.fail(stream, &failure);
                return Progress::Over;
            }
        }
        let most = self.ready.len().min((*credit).min(MOST_DATA as u64) as usize);
        if most > 0 {
            out.data(stream, STDOUT, [&self.ready[..most], &[]]);
            *credit -= most as u64;
            self.ready.drain(..most);
        }
        if self.ready.is_empty() && self.is_written {
            out.eof(stream, STDOUT);
            out.end(stream, &json!({"entries": self.entries, "skipped": self.skipped}));
            return Progress::Over;
        }
        if *credit == 0 { Progress::Waiting } else { Progress::More }
    }

    /// Adds about one frame's worth.
    fn gather(&mut self) -> Result<(), Failure> {
        while self.ready.len() < MOST_DATA {
            if self.file.is_some() {
                self.read_content();
                continue;
            }
            let Some(next) = self.pending.pop() else {
                writer::end(&mut self.ready);
                self.is_written = true;
                return Ok(());
            };
            self.add(&next).map_err(|error| {
                Failure::about_path(Path::new(&self.shown).join(&next).display(), &error)
            })?;
        }
        Ok(())
    }

    /// As many bytes as were announced: what is missing by now is zeros, what is more is left.
    fn read_content(&mut self) {
        let Some(content) = &mut self.file else {
            return;
        };
        let want = content.left.min(MOST_DATA as u64) as usize;
        let start = self.ready.len();
        let read = content.file.by_ref().take(want as u64).read_to_end(&mut self.ready);
        if want > 0 && !matches!(read, Ok(1..)) {
            self.ready.resize(start + want, 0);
        }
        content.left -= (self.ready.len() - start) as u64;
        if content.left == 0 {
            writer::pad(&mut self.ready, content.size);
            self.file = None;
        }
    }

    fn add(&mut self, relative: &Path) -> io::Result<()> {
        let thing =
            path::open(self.base.as_fd(), relative, libc::O_PATH | libc::O_NOFOLLOW, 0, PLAIN);
        let thing = match thing {
            // It was listed and is gone by now.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.entries > 0 => {
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
        match found.st_mode & libc::S_IFMT {
            libc::S_IFDIR => {
                entry.kind = Kind::Directory;
                entry.path.push(b'/');
                self.list(relative)?;
            }
            libc::S_IFLNK => {
                entry.kind = Kind::SymbolicLink;
                entry.target = path::read_link(thing.as_fd(), "")?.as_bytes().to_vec();
            }
            libc::S_IFREG => {
                let file = path::open(self.base.as_fd(), relative, libc::O_RDONLY, 0, PLAIN)?;
                // Of what is read, in case somebody has swapped it.
                entry.size = path::stat(file.as_fd(), "")?.st_size.max(0) as u64;
                let size = entry.size;
                self.file =
                    (size > 0).then(|| Content { file: File::from(file), size, left: size });
            }
            _ => {
                self.skipped += 1;
                return Ok(());
            }
        }
        self.entries += 1;
        writer::begin(&mut self.ready, &entry);
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
