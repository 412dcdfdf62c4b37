//! Listing directories, level by level, without ever holding more than one of them.

use super::entry::Entry;
use super::{act_as, place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC, PLAIN};
use crate::tree::listing::{Name, next_names};
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

pub struct Listing {
    base: OwnedFd,
    shown: PathBuf,
    user: User,
    depth: u32,
    /// Directories to list, relative to the base, and how deep they are.
    pending: VecDeque<(PathBuf, u32)>,
    current: Option<Current>,
    lines: Vec<u8>,
    count: u64,
}

struct Current {
    directory: OwnedFd,
    relative: PathBuf,
    depth: u32,
}

impl Listing {
    pub fn begin(path: &str, depth: u32, user: User, identity: Identity) -> Result<Begun, Failure> {
        let path = place::absolute(path, &user)?;
        if depth == 0 {
            return Err(Failure::invalid("depth starts at 1"));
        }
        let acting = act_as(&user, identity)?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let open = || {
            let base = path::open(HERE, &path, flags, 0, NO_MAGIC)?;
            let directory = base.try_clone()?;
            Ok((base, directory))
        };
        let (base, directory) = open().map_err(|error| Failure::about_path(&path, &error))?;
        drop(acting);
        let listing = Listing {
            base,
            shown: Path::new(&path).components().collect(),
            user,
            depth,
            pending: VecDeque::new(),
            current: Some(Current { directory, relative: PathBuf::new(), depth: 1 }),
            lines: Vec::new(),
            count: 0,
        };
        Ok(Begun::Streaming(json!({}), Work::List(listing)))
    }

    pub fn advance(
        &mut self,
        stream: u32,
        credit: &mut u64,
        identity: Identity,
        out: &mut Outbound,
    ) -> Progress {
        if self.lines.len() < MOST_DATA {
            let gathered = act_as(&self.user, identity).and_then(|_acting| self.gather());
            if let Err(failure) = gathered {
                out.fail(stream, &failure);
                return Progress::Over;
            }
        }
        let most = self.lines.len().min((*credit).min(MOST_DATA as u64) as usize);
        if most > 0 {
            out.data(stream, STDOUT, [&self.lines[..most], &[]]);
            *credit -= most as u64;
            self.lines.drain(..most);
        }
        match (self.lines.is_empty(), self.current.is_none()) {
            (true, true) => {
                out.eof(stream, STDOUT);
                out.end(stream, &json!({ "entries": self.count }));
                Progress::Over
            }
            _ if *credit == 0 => Progress::Waiting,
            _ => Progress::More,
        }
    }

    /// Adds the next names, if there are any.
    fn gather(&mut self) -> Result<(), Failure> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        let names = next_names(current.directory.as_fd()).map_err(|error| {
            let path = self.shown.join(&current.relative);
            Failure::about_path(path.display(), &error)
        })?;
        match names {
            Some(names) => names.into_iter().for_each(|name| self.add(name)),
            None => self.current = self.next_directory(),
        }
        Ok(())
    }

    fn add(&mut self, Name { name, .. }: Name) {
        let Some(current) = &self.current else {
            return;
        };
        // It may be gone by now; then it is not part of the answer.
        let Ok(found) = path::stat(current.directory.as_fd(), &name) else {
            return;
        };
        let relative = current.relative.join(&name);
        let full = self.shown.join(&relative);
        let entry = Entry::new(&full, &found, current.directory.as_fd(), name.as_ref());
        self.lines.extend_from_slice(entry.to_json().to_string().as_bytes());
        self.lines.push(b'\n');
        self.count += 1;
        if found.st_mode & libc::S_IFMT == libc::S_IFDIR && current.depth < self.depth {
            self.pending.push_back((relative, current.depth + 1));
        }
    }

    /// A directory below that the user may not open is listed but not entered.
    fn next_directory(&mut self) -> Option<Current> {
        while let Some((relative, depth)) = self.pending.pop_front() {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            if let Ok(directory) = path::open(self.base.as_fd(), &relative, flags, 0, PLAIN) {
                return Some(Current { directory, relative, depth });
            }
        }
        None
    }
}
