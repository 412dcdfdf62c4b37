//! Where the things of an archive come to lie: below one directory, which nothing leaves.
//!
//! No link is ever followed, not even one that the archive itself has made: every directory is
//! opened below the first with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS.

use super::tally::Tally;
use super::{archive_path, folders, whiteout};
use crate::sys::path::{self, PLAIN};
use crate::sys::{link, overlay};
use crate::tar::reader::Sink;
use crate::tar::{Entry, Kind, Malformed};
use crate::wire::failure::Failure;
use crate::wire::file_request::Limits;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};

const SET_ID: u32 = 0o6000;

/// What becomes of names that say what is gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whiteouts {
    /// They are names like any other.
    Names,
    /// What they name goes.
    Obeyed,
    /// They are kept, as an overlay understands them: this is to be one layer of several. Such a
    /// layer is shared and lies on the host, so no file in it is set-user-id.
    Kept,
}

pub struct Landing {
    base: OwnedFd,
    /// The sandbox's root keeps owners and all mode bits; for others the files become their own.
    is_root: bool,
    pub whiteouts: Whiteouts,
    current: Option<(File, PathBuf, Entry)>,
    /// Directories that their owner may not fill, closed when nothing more is put into them.
    closed: Vec<(PathBuf, u32)>,
    pub tally: Tally,
    /// Devices, pipes and the like, of which none is ever made.
    pub skipped: u64,
    /// Files that would have been set-user-id or set-group-id.
    pub stripped: u64,
}

impl Landing {
    pub fn below(base: OwnedFd, limits: Limits, is_root: bool) -> Landing {
        let (current, closed) = (None, Vec::new());
        let whiteouts = Whiteouts::Names;
        Landing {
            base,
            is_root,
            whiteouts,
            current,
            closed,
            tally: Tally::against(limits),
            skipped: 0,
            stripped: 0,
        }
    }

    pub fn close_directories(&mut self) -> Result<(), Failure> {
        for (path, mode) in std::mem::take(&mut self.closed).into_iter().rev() {
            path::open_directory(self.base.as_fd(), &path, PLAIN)
                .and_then(|directory| path::set_mode_through(directory.as_fd(), mode))
                .map_err(|error| Failure::about_path(path.display(), &error))?;
        }
        Ok(())
    }

    fn place(&mut self, entry: &Entry, whole: &Path) -> io::Result<()> {
        let Some(name) = whole.file_name() else {
            // The directory it is unpacked to is there already.
            return Ok(());
        };
        let parent = folders::make(self.base.as_fd(), whole.parent())?;
        let parent = parent.as_fd();
        match entry.kind {
            Kind::Directory => self.place_directory(parent, name, entry, whole),
            Kind::File => {
                folders::make_room(parent, name)?;
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
                let file = path::open(parent, name, flags, 0o600, PLAIN)?;
                self.current = Some((File::from(file), whole.to_owned(), entry.clone()));
                Ok(())
            }
            Kind::SymbolicLink => {
                folders::make_room(parent, name)?;
                path::make_symlink(parent, name, OsStr::from_bytes(&entry.target))?;
                self.sign(parent, name, entry);
                Ok(())
            }
            Kind::HardLink | Kind::Other => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    fn place_directory(
        &mut self,
        parent: BorrowedFd,
        name: &OsStr,
        entry: &Entry,
        whole: &Path,
    ) -> io::Result<()> {
        let mode = self.allowed(entry.mode);
        let found = path::stat(parent, name).ok();
        let is_there = found.is_some_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFDIR);
        if !is_there {
            folders::make_room(parent, name)?;
            path::make_directory(parent, name, folders::NEW_DIRECTORY)?;
        }
        let directory = path::open_directory(parent, name, PLAIN)?;
        let is_kept = self.whiteouts == Whiteouts::Kept;
        if is_kept && found.is_some_and(|found| overlay::is_whiteout(&found)) {
            overlay::make_opaque(directory.as_fd())?;
        }
        match path::set_mode_through(directory.as_fd(), mode | 0o700) {
            // Somebody else's: it can be filled, perhaps, but not changed.
            Err(_) if is_there => return Ok(()),
            outcome => outcome?,
        }
        if mode & 0o700 != 0o700 {
            self.closed.push((whole.to_owned(), mode));
        }
        if self.is_root {
            let _ = link::set_owner(parent, name, entry.uid, entry.gid);
        }
        Ok(())
    }

    /// A second name for a file that lies here already. Never for a link, a directory or
    /// anything outside.
    fn place_hard_link(&mut self, entry: &Entry, whole: &Path) -> Result<(), Failure> {
        let target = archive_path::checked(&entry.target, self.tally.limits.depth)?;
        let link_them = || {
            let (Some(name), Some(old)) = (whole.file_name(), target.file_name()) else {
                return Err(io::Error::from_raw_os_error(libc::EISDIR));
            };
            let from =
                path::open_directory(self.base.as_fd(), folders::here(target.parent()), PLAIN)?;
            if path::stat(from.as_fd(), old)?.st_mode & libc::S_IFMT != libc::S_IFREG {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            if target == whole {
                return Ok(());
            }
            let parent = folders::make(self.base.as_fd(), whole.parent())?;
            folders::make_room(parent.as_fd(), name)?;
            link::make_hard_link(from.as_fd(), old, parent.as_fd(), name)
        };
        link_them().map_err(|error| Failure::about_path(whole.display(), &error))
    }

    fn allowed(&self, mode: u32) -> u32 {
        mode & if self.is_root { 0o7777 } else { 0o777 }
    }

    /// Owner and time, where they can be kept; an archive's word is no reason to fail.
    fn sign(&self, parent: BorrowedFd, name: &OsStr, entry: &Entry) {
        if self.is_root {
            let _ = link::set_owner(parent, name, entry.uid, entry.gid);
        }
        let _ = link::set_mtime(parent, name, entry.mtime);
    }
}

impl Sink for Landing {
    type Error = Failure;

    fn refuse(Malformed(why): Malformed) -> Failure {
        Failure::invalid(format!("not an archive for us: {why}"))
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), Failure> {
        self.tally.count(entry.size)?;
        let whole = archive_path::checked(&entry.path, self.tally.limits.depth)?;
        if self.whiteouts != Whiteouts::Names
            && let Some(gone) = whiteout::named(&whole)
        {
            let outcome = match self.whiteouts {
                Whiteouts::Kept => whiteout::keep(self.base.as_fd(), &gone),
                _ => whiteout::obey(self.base.as_fd(), &gone),
            };
            return outcome.map_err(|error| Failure::about_path(whole.display(), &error));
        }
        match entry.kind {
            Kind::Other => {
                self.skipped += 1;
                Ok(())
            }
            Kind::HardLink => self.place_hard_link(entry, &whole),
            _ => self
                .place(entry, &whole)
                .map_err(|error| Failure::about_path(whole.display(), &error)),
        }
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some((file, whole, _)) = &mut self.current else {
            return Ok(());
        };
        file.write_all(bytes).map_err(|error| Failure::about_path(whole.display(), &error))
    }

    fn entry_end(&mut self) -> Result<(), Failure> {
        let Some((file, whole, entry)) = self.current.take() else {
            return Ok(());
        };
        let mut mode = self.allowed(entry.mode);
        if self.whiteouts == Whiteouts::Kept && entry.mode & SET_ID != 0 {
            mode &= !SET_ID;
            self.stripped += 1;
        }
        let mut finish = || {
            if self.is_root && fchown(&file, Some(entry.uid), Some(entry.gid)).is_err() {
                // Whose rights it was to lend is nobody here; it lends none of root's instead.
                mode &= !SET_ID;
            }
            // After the owner, because a new owner takes bits away.
            path::set_mode(file.as_fd(), mode)?;
            link::set_mtime_of(file.as_fd(), entry.mtime)
        };
        finish().map_err(|error| Failure::about_path(whole.display(), &error))
    }
}
