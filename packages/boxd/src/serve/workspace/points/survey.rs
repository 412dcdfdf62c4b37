//! What the layer holds now, beside what it held before. Every name in it is looked at, and no
//! content is read but of files that may have changed unseen.

use super::state::{Entry, State, Thing};
use crate::serve::workspace::comparison::Comparison;
use crate::sys::path::{self, PLAIN};
use crate::sys::{overlay, time};
use crate::tree::listing::next_names;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// With more than so many things in the layer, looking at them would hold up every run.
pub const MOST_THINGS: usize = 20_000;
/// A file that is stamped this shortly before it is looked at can change again under the same stamp.
const SETTLES_NS: i64 = 30_000_000;

pub struct Survey {
    upper: OwnedFd,
    copies: OwnedFd,
    before: State,
    /// What was in each folder before.
    children: HashMap<PathBuf, Vec<PathBuf>>,
    now: State,
    began_ns: i64,
    /// Still to be looked into, each with what was seen of it from outside.
    folders: Vec<(PathBuf, libc::stat)>,
    /// Files with a stamp that is known but says too little, and the copies they had.
    doubtful: Vec<(PathBuf, u64)>,
    comparing: Option<(PathBuf, u64, Comparison)>,
    fresh: Vec<PathBuf>,
    changed: u64,
    knows_better: bool,
}

/// What a survey has found.
pub struct Found {
    pub state: State,
    /// Files whose content nobody has kept yet.
    pub fresh: Vec<PathBuf>,
    /// How many things differ from before.
    pub changed: u64,
    /// Whether something is certain by now that was not before, though it is as it was.
    pub knows_better: bool,
}

impl Survey {
    pub fn begin(upper: &OwnedFd, copies: &OwnedFd, before: State) -> io::Result<Survey> {
        let top = path::stat(upper.as_fd(), "")?;
        Ok(Survey {
            upper: upper.try_clone()?,
            copies: copies.try_clone()?,
            children: before.children(),
            before,
            now: State::default(),
            began_ns: time::stamp_ns(),
            folders: vec![(PathBuf::new(), top)],
            doubtful: Vec::new(),
            comparing: None,
            fresh: Vec::new(),
            changed: 0,
            knows_better: false,
        })
    }

    /// The next bit of work. True when nothing is left to look at.
    pub fn step(&mut self) -> io::Result<bool> {
        if let Some((path, copy, mut contents)) = self.comparing.take() {
            match contents.step()? {
                None => self.comparing = Some((path, copy, contents)),
                Some(is_same) => self.settle(path, copy, is_same),
            }
            return Ok(false);
        }
        if let Some((folder, found)) = self.folders.pop() {
            self.look_into(folder, &found)?;
            return Ok(false);
        }
        if let Some((path, copy)) = self.doubtful.pop() {
            let open = |from: &OwnedFd, name: &Path| {
                path::open(from.as_fd(), name, libc::O_RDONLY, 0, PLAIN).map(File::from)
            };
            match (open(&self.upper, &path), open(&self.copies, &copy_name(copy))) {
                (Ok(file), Ok(kept)) => {
                    self.comparing = Some((path, copy, Comparison::of([file, kept])));
                }
                _ => self.settle(path, copy, false),
            }
            return Ok(false);
        }
        Ok(true)
    }

    pub fn finish(mut self) -> Found {
        self.changed += self.before.entries.len() as u64;
        let Survey { now: state, fresh, changed, knows_better, .. } = self;
        Found { state, fresh, changed, knows_better }
    }

    /// It is opened once, for what it is and for what is in it. Where its stamp says that no name
    /// came or went since before, they are known.
    fn look_into(&mut self, folder: PathBuf, found: &libc::stat) -> io::Result<()> {
        let known = self.before.get(&folder).filter(|old| {
            old.is_settled && (old.inode, old.stamp_ns) == (found.st_ino, stamp_of(found))
        });
        let known = known.map(|old| old.thing);
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let how = if known.is_some() { libc::O_PATH } else { libc::O_RDONLY };
        let opened = path::open(self.upper.as_fd(), shown, how | libc::O_DIRECTORY, 0, PLAIN);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        if let Some(thing) = known {
            let children = self.children.remove(&folder).unwrap_or_default();
            self.note(folder, thing, found, Vec::new());
            return children.into_iter().try_for_each(|path| self.look_at(opened.as_fd(), path));
        }
        let is_opaque = shown != Path::new(".") && overlay::is_opaque(opened.as_fd());
        let thing = if is_opaque { Thing::Opaque } else { Thing::Directory };
        self.note(folder.clone(), thing, found, Vec::new());
        while let Some(names) = next_names(opened.as_fd())? {
            for name in names {
                self.look_at(opened.as_fd(), folder.join(&name.name))?;
            }
        }
        Ok(())
    }

    fn look_at(&mut self, at: BorrowedFd, path: PathBuf) -> io::Result<()> {
        if self.now.entries.len() + self.folders.len() >= MOST_THINGS {
            let why = format!("more than {MOST_THINGS} things are changed");
            return Err(io::Error::other(why));
        }
        let name = path.file_name().unwrap_or_default();
        let found = match path::stat(at, name) {
            // Somebody has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        let mut target = Vec::new();
        let thing = match found.st_mode & libc::S_IFMT {
            libc::S_IFREG => Thing::File,
            libc::S_IFLNK => {
                target = path::read_link(at, name)?.into_vec();
                Thing::Link
            }
            libc::S_IFDIR => {
                self.folders.push((path, found));
                return Ok(());
            }
            _ if overlay::is_whiteout(&found) => Thing::Gone,
            _ => Thing::Other,
        };
        self.note(path, thing, &found, target);
        Ok(())
    }

    fn note(&mut self, path: PathBuf, thing: Thing, found: &libc::stat, target: Vec<u8>) {
        let stamp_ns = stamp_of(found);
        let mut entry = Entry {
            thing,
            mode: found.st_mode & 0o7777,
            owner: (found.st_uid, found.st_gid),
            mtime_ns: nanoseconds(found.st_mtime, found.st_mtime_nsec),
            size: found.st_size.max(0) as u64,
            inode: found.st_ino,
            stamp_ns,
            is_settled: stamp_ns + SETTLES_NS < self.began_ns,
            copy: 0,
            target,
        };
        match self.before.entries.remove(&path) {
            Some(old) if old.is_same(&entry) => {
                if thing == Thing::File && !old.is_settled {
                    self.doubtful.push((path.clone(), old.copy));
                }
                let known = |one: &Entry| (one.inode, one.stamp_ns, one.is_settled);
                let is_told_apart = matches!(thing, Thing::File | Thing::Directory | Thing::Opaque);
                self.knows_better |=
                    is_told_apart && entry.is_settled && known(&old) != known(&entry);
                entry.copy = old.copy;
            }
            _ => {
                self.changed += 1;
                self.fresh.extend((thing == Thing::File).then(|| path.clone()));
            }
        }
        self.now.entries.insert(path, entry);
    }

    fn settle(&mut self, path: PathBuf, copy: u64, is_same: bool) {
        if let Some(entry) = self.now.entries.get_mut(&path) {
            entry.copy = copy;
        }
        if !is_same {
            self.changed += 1;
            self.fresh.push(path);
        }
    }
}

const fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds * 1_000_000_000 + more
}

fn stamp_of(found: &libc::stat) -> i64 {
    nanoseconds(found.st_ctime, found.st_ctime_nsec)
}

/// The file that holds a copy.
pub fn copy_name(copy: u64) -> PathBuf {
    PathBuf::from(format!("c{copy}"))
}
