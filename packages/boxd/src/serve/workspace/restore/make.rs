//! One thing of the workspace, made what it is to be.

use super::wanted::{Source, Wanted};
use super::{REMOVAL_SLICE, Restore, Task, Work};
use crate::serve::workspace::comparison::Comparison;
use crate::serve::workspace::points::state::{Entry, Thing};
use crate::serve::workspace::points::survey::copy_name;
use crate::serve::workspace::side::{Kind, Side};
use crate::sys::link;
use crate::sys::path::{self, PLAIN};
use crate::tree::copy::{Copy, draft_of};
use crate::tree::removal::Removal;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Restore {
    pub(super) fn make_folder(&mut self, task: Task, wanted: &Wanted) -> io::Result<()> {
        let (at, name) = self.place(&task.path)?;
        path::make_directory(at.as_fd(), name, 0o700)?;
        if let Some(made) = Side::at(self.sides.merged.as_fd(), &task.path)? {
            self.set_attributes(&task.path, wanted, &made)?;
        }
        self.restored += 1;
        self.tasks.push(task);
        Ok(())
    }

    pub(super) fn make_file(
        &mut self,
        task: Task,
        wanted: Wanted,
        has: Option<Side>,
    ) -> io::Result<()> {
        let Task { path, shows, .. } = task;
        let upper = Side::at(self.sides.upper.as_fd(), &path)?;
        match (wanted, has) {
            (Wanted::Host(_), Some(_)) if upper.is_none() && shows => Ok(()),
            (Wanted::Host(host), Some(has)) if host.kind == Kind::Link => {
                let is_same = host.target()? == has.target()?;
                if is_same { Ok(()) } else { self.copy_from(Source::Host(host), path) }
            }
            (Wanted::Host(host), Some(has)) if host.size() == has.size() => {
                let contents = Comparison::of([host.open()?, has.open()?]);
                let (with, mode) = (Source::Host(host), has.mode());
                self.work = Some(Work::Comparison { contents, path, with, mode });
                Ok(())
            }
            (Wanted::Host(host), _) => self.copy_from(Source::Host(host), path),
            (Wanted::Kept(entry), has) if entry.thing == Thing::Link => {
                self.make_link(&path, entry, has)
            }
            (Wanted::Kept(entry), _) => {
                let Entry { copy, mode, mtime_ns, .. } = *entry;
                let with = Source::Kept { copy, mode, mtime_ns };
                let Some(upper) = upper.filter(|upper| is_untouched(upper, entry)) else {
                    return self.copy_from(with, path);
                };
                if entry.is_settled {
                    return Ok(());
                }
                // It was stamped so lately that its stamp proves nothing.
                let flags = libc::O_RDONLY;
                let kept = path::open(self.sides.copies.as_fd(), copy_name(copy), flags, 0, PLAIN)?;
                let contents = Comparison::of([File::from(kept), upper.open()?]);
                self.work = Some(Work::Comparison { contents, path, with, mode });
                Ok(())
            }
            (Wanted::Nothing, _) => Ok(()),
        }
    }

    pub(super) fn make_link(
        &mut self,
        path: &Path,
        entry: &Entry,
        has: Option<Side>,
    ) -> io::Result<()> {
        if let Some(has) = has {
            if has.target()? == entry.target {
                return Ok(());
            }
            self.remove(path, Kind::Link)?;
        }
        let (at, name) = self.place(path)?;
        path::make_symlink(at.as_fd(), name, OsStr::from_bytes(&entry.target))?;
        let _ = link::set_owner(at.as_fd(), name, entry.owner.0, entry.owner.1);
        self.restored += 1;
        link::set_mtime_ns(at.as_fd(), name, entry.mtime_ns)
    }

    pub(super) fn copy_from(&mut self, source: Source, path: PathBuf) -> io::Result<()> {
        match source {
            Source::Host(host) => {
                let (parent, name) = parted(&path);
                let from = path::open_directory(self.sides.lower.as_fd(), parent, PLAIN)?;
                let found = &host.found;
                let mtime_ns = found.st_mtime * 1_000_000_000 + found.st_mtime_nsec;
                self.begin_copy(from, name, path.clone(), mtime_ns)
            }
            Source::Kept { copy, mtime_ns, .. } => {
                let from = self.sides.copies.try_clone()?;
                self.begin_copy(from, copy_name(copy).as_os_str(), path, mtime_ns)
            }
        }
    }

    pub(super) fn begin_copy(
        &mut self,
        from: OwnedFd,
        name: &OsStr,
        path: PathBuf,
        mtime_ns: i64,
    ) -> io::Result<()> {
        let (at, new_name) = self.place(&path)?;
        // What one that was cut off has left.
        let draft = draft_of(&path::stat(from.as_fd(), name)?);
        if let Ok(found) = path::stat(at.as_fd(), &draft) {
            let is_folder = found.st_mode & libc::S_IFMT == libc::S_IFDIR;
            remove_at(at.as_fd(), &draft, is_folder)?.map_or(Ok(()), |mut removal| {
                while !removal.step(REMOVAL_SLICE)? {}
                Ok::<(), io::Error>(())
            })?;
        }
        let copy = Copy::begin(from, name, at, new_name)?;
        self.restored += 1;
        self.work = Some(Work::Copy { copy, path, mtime_ns });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path, kind: Kind) -> io::Result<()> {
        let (at, name) = self.place(path)?;
        let removal = remove_at(at.as_fd(), name, kind == Kind::Directory)?;
        self.work = removal.map(Work::Removal);
        Ok(())
    }

    /// Of a folder. Whether its mode was another.
    pub(super) fn set_attributes(
        &self,
        path: &Path,
        wanted: &Wanted,
        has: &Side,
    ) -> io::Result<bool> {
        let (mode, owner) = match wanted {
            Wanted::Kept(entry) => (entry.mode, entry.owner),
            Wanted::Host(host) => (host.mode(), (host.found.st_uid, host.found.st_gid)),
            Wanted::Nothing => return Ok(false),
        };
        if (mode, owner) == (has.mode(), (has.found.st_uid, has.found.st_gid)) {
            return Ok(false);
        }
        let (at, name) = self.place(path)?;
        // Only the sandbox's root may set another owner; doing so may take bits of the mode away.
        let _ = link::set_owner(at.as_fd(), name, owner.0, owner.1);
        path::set_mode_at(at.as_fd(), name, mode)?;
        Ok(mode != has.mode())
    }

    /// The folder in the workspace that something is in, and its name there.
    pub(super) fn place<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (parent, name) = parted(path);
        Ok((path::open_directory(self.sides.merged.as_fd(), parent, PLAIN)?, name))
    }
}

/// Whether, by its stamp, this very file is what a point has.
fn is_untouched(upper: &Side, entry: &Entry) -> bool {
    let found = &upper.found;
    let stamp_ns = found.st_ctime * 1_000_000_000 + found.st_ctime_nsec;
    let known = (found.st_ino, stamp_ns, upper.size());
    upper.kind == Kind::File && known == (entry.inode, entry.stamp_ns, entry.size)
}

/// A folder takes more than one step.
fn remove_at(at: BorrowedFd, name: &OsStr, is_folder: bool) -> io::Result<Option<Removal>> {
    if is_folder {
        return Removal::of_directory(at.try_clone_to_owned()?, name, true).map(Some);
    }
    path::unlink(at, name).map(|()| None)
}

pub fn parted(path: &Path) -> (&Path, &OsStr) {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => (shown(parent), name),
        // The folder itself.
        _ => (Path::new("."), OsStr::new(".")),
    }
}

pub fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
