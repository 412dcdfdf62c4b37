//! Telling of changes below a directory as they happen.

use super::write::is_draft;
use super::{act_as, place};
use crate::serve::Server;
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::source::Source;
use crate::serve::stream::{Progress, StreamId, Work};
use crate::serve::users::User;
use crate::sys::epoll::{self, Epoll};
use crate::sys::inotify::{Inotify, Notice};
use crate::sys::path::{self, HERE, NO_MAGIC, PLAIN};
use crate::tree::listing::next_names;
use crate::wire::failure::{Code, Failure};
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// More directories than this are not heard of; the client is told that it misses something.
const MOST_DIRECTORIES: usize = 8_192;
/// More than this does not wait for a slow client; it is told the same.
const MOST_WAITING: usize = 256 * 1024;

pub struct Watching {
    inotify: Inotify,
    /// The directory by its path, and which one that was. It is not held open, because the
    /// kernel tells of a directory's end only when nobody has it open.
    shown: PathBuf,
    base: (u64, u64),
    is_recursive: bool,
    user: User,
    /// The directory, below the base, of each watch.
    directories: BTreeMap<i32, PathBuf>,
    lines: Vec<u8>,
    has_missed: bool,
    is_over: bool,
}

impl Watching {
    pub fn begin(
        path: &str,
        is_recursive: bool,
        user: User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let path = place::absolute(path, &user)?;
        let _acting = act_as(&user, identity)?;
        let begin = || {
            let base = path::open_directory(HERE, &path, NO_MAGIC)?;
            let found = path::stat(base.as_fd(), "")?;
            Ok(((found.st_dev, found.st_ino), Inotify::new()?))
        };
        let (base, inotify) = begin().map_err(|error: io::Error| too_many(&path, &error))?;
        let mut watching = Watching {
            inotify,
            shown: PathBuf::from(&path),
            base,
            is_recursive,
            user,
            directories: BTreeMap::new(),
            lines: Vec::new(),
            has_missed: false,
            is_over: false,
        };
        watching.add(PathBuf::new(), false).map_err(|error| too_many(&path, &error))?;
        Ok(Begun::Streaming(json!({}), Work::Watch(watching)))
    }

    /// Watches a directory and, where asked, all below it. What is in a new one came before we
    /// listened, so it is told now.
    fn add(&mut self, first: PathBuf, is_new: bool) -> io::Result<()> {
        let base = self.opened_base()?;
        let mut pending = VecDeque::from([first]);
        while let Some(relative) = pending.pop_front() {
            if self.directories.len() >= MOST_DIRECTORIES {
                self.has_missed = true;
                return Ok(());
            }
            let here = if relative.as_os_str().is_empty() { Path::new(".") } else { &relative };
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            let opened = path::open(base.as_fd(), here, flags, 0, PLAIN)
                .and_then(|directory| Ok((self.inotify.add(directory.as_fd())?, directory)));
            let (watch, directory) = match opened {
                Ok(opened) => opened,
                Err(error) if relative.as_os_str().is_empty() => return Err(error),
                // It is gone, or not for this user; or the kernel has no more watches to give.
                Err(error) => {
                    self.has_missed |= error.raw_os_error() == Some(libc::ENOSPC);
                    continue;
                }
            };
            self.directories.insert(watch, relative.clone());
            if !self.is_recursive {
                return Ok(());
            }
            while let Some(names) = next_names(directory.as_fd())? {
                for name in names {
                    let path = relative.join(&name.name);
                    if is_new {
                        self.tell("created", &path);
                    }
                    if name.is_directory {
                        pending.push_back(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// The directory itself, if its path still leads to it.
    fn opened_base(&self) -> io::Result<OwnedFd> {
        let base = path::open_directory(HERE, &self.shown, NO_MAGIC)?;
        let found = path::stat(base.as_fd(), "")?;
        match (found.st_dev, found.st_ino) == self.base {
            true => Ok(base),
            false => Err(io::Error::from_raw_os_error(libc::ENOENT)),
        }
    }

    pub fn hear(&mut self, identity: Identity) {
        let Ok(acting) = act_as(&self.user.clone(), identity) else {
            return;
        };
        match self.inotify.notices() {
            Ok(notices) => notices.iter().for_each(|notice| self.take(notice)),
            Err(_) => self.has_missed = true,
        }
        drop(acting);
    }

    fn take(&mut self, notice: &Notice) {
        if notice.is(libc::IN_Q_OVERFLOW) {
            self.has_missed = true;
            return;
        }
        let Some(directory) = self.directories.get(&notice.watch).cloned() else {
            return;
        };
        if notice.is(libc::IN_IGNORED | libc::IN_DELETE_SELF) {
            self.directories.remove(&notice.watch);
            self.is_over |= directory.as_os_str().is_empty();
            return;
        }
        if is_draft(&notice.name) {
            return;
        }
        let path = directory.join(&notice.name);
        if notice.is(libc::IN_CREATE | libc::IN_MOVED_TO) {
            self.tell("created", &path);
            if notice.is(libc::IN_ISDIR) && self.is_recursive && self.add(path, true).is_err() {
                self.has_missed = true;
            }
        } else if notice.is(libc::IN_DELETE | libc::IN_MOVED_FROM) {
            if notice.is(libc::IN_ISDIR) {
                self.forget(&path);
            }
            match notice.is(libc::IN_MOVED_FROM) {
                true => self.tell_of(json!({"type": "removed", "moved": true}), &path),
                false => self.tell("removed", &path),
            }
        } else if notice.is(libc::IN_MODIFY) {
            self.tell("changed", &path);
        } else if notice.is(libc::IN_ATTRIB) {
            self.tell("attributes", &path);
        }
    }

    /// A directory that has moved is known by another name, if at all.
    fn forget(&mut self, gone: &Path) {
        self.directories.retain(|watch, path| {
            let is_below = path.starts_with(gone);
            if is_below {
                self.inotify.remove(*watch);
            }
            !is_below
        });
    }

    fn tell(&mut self, kind: &str, relative: &Path) {
        self.tell_of(json!({"type": kind}), relative);
    }

    fn tell_of(&mut self, mut change: Value, relative: &Path) {
        change["path"] = json!(self.shown.join(relative).to_string_lossy());
        let mut line = change.to_string().into_bytes();
        line.push(b'\n');
        if self.lines.len() + line.len() > MOST_WAITING {
            self.has_missed = true;
        } else if !self.lines.ends_with(&line) {
            self.lines.extend_from_slice(&line);
        }
    }

    pub fn advance(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        let most = self.lines.len().min((*credit).min(MOST_DATA as u64) as usize);
        if most > 0 {
            out.data(stream, STDOUT, [&self.lines[..most], &[]]);
            *credit -= most as u64;
            self.lines.drain(..most);
        }
        if self.lines.is_empty() && std::mem::take(&mut self.has_missed) {
            self.lines.extend_from_slice(b"{\"type\":\"overflow\"}\n");
        }
        match self.lines.is_empty() {
            true if self.is_over => {
                out.eof(stream, STDOUT);
                out.end(stream, &json!({}));
                Progress::Over
            }
            false if *credit > 0 => Progress::More,
            _ => Progress::Waiting,
        }
    }

    pub fn close(self, epoll: &Epoll) {
        epoll.remove(&self.inotify);
    }
}

/// There are only so many to be had, and whoever else took them is not to blame.
fn too_many(path: &str, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE | libc::ENOSPC) => {
            Failure::new(Code::Unavailable, format!("{path}: no more watches can be had: {error}"))
        }
        _ => Failure::about_path(path, error),
    }
}

impl Server {
    /// A new stream may be one that waits for changes.
    pub fn watch_files(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get(&id)
            && let Work::Watch(watching) = &stream.work
        {
            let token = Source::Watch(id).token();
            let _ = self.epoll.add(&watching.inotify, epoll::READABLE, token);
        }
    }

    pub fn hear_of_files(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id)
            && let Work::Watch(watching) = &mut stream.work
        {
            watching.hear(self.identity);
        }
    }
}
