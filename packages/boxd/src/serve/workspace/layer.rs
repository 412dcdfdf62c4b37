//! The changes as an archive: an OCI layer, in which `.wh.name` says that `name` is gone.

use super::side::{Kind, Side};
use super::walk::{Found, Step, Walk};
use crate::serve::archive::Archive;
use crate::serve::archive_path;
use crate::serve::stream::Progress;
use crate::serve::tally::Tally;
use crate::tar::{self, Entry, OPAQUE, WHITEOUT};
use crate::wire::failure::Failure;
use crate::wire::file_request::Limits;
use crate::wire::outbound::Outbound;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub struct Layer {
    walk: Walk,
    /// It skips pipes and the like, and names that would be taken for deletions.
    archive: Archive,
    /// What would not be taken in again is not given out either.
    tally: Tally,
    /// Everybody else in the sandbox stands still until it is written.
    pub is_still: bool,
}

impl Layer {
    pub fn of(walk: Walk, limits: Limits, is_still: bool) -> Layer {
        Layer { walk, archive: Archive::default(), tally: Tally::against(limits), is_still }
    }

    pub fn advance(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        if self.archive.has_room()
            && let Err(failure) = self.gather()
        {
            out.fail(stream, &failure);
            return Progress::Over;
        }
        self.archive.send(stream, credit, out)
    }

    fn gather(&mut self) -> Result<(), Failure> {
        if self.archive.read_content() {
            return Ok(());
        }
        let about = |path: &Path, error| Failure::about_path(path.display(), &error);
        match self.walk.step().map_err(|(path, error)| about(&path, error))? {
            Step::Over => self.archive.finish(),
            Step::Nothing => {}
            Step::Found(found) => {
                self.admit(&found)?;
                self.add(&found).map_err(|error| about(&found.path, error))?;
            }
        }
        Ok(())
    }

    fn admit(&mut self, Found { path, new, .. }: &Found) -> Result<(), Failure> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        archive_path::checked(path.as_os_str().as_bytes(), self.tally.limits.depth)?;
        let file = new.as_ref().filter(|side| side.kind == Kind::File);
        self.tally.count(file.map_or(0, |side| side.found.st_size.max(0) as u64))
    }

    fn add(&mut self, Found { path, new, old, is_opaque, .. }: &Found) -> io::Result<()> {
        let Some(name) = path.file_name() else {
            // The folder itself: its mode is the host's business.
            return Ok(());
        };
        if name.as_bytes().starts_with(WHITEOUT) {
            self.archive.skipped += 1;
            return Ok(());
        }
        match new {
            Some(new) => {
                // The layer remembers what it copied, also where that is gone by now.
                let was_there = old.is_some() || new.is_copy();
                self.add_side(path, new, was_there)?;
                if *is_opaque {
                    let entry = entry_of(&path.join(OPAQUE), tar::Kind::File, None);
                    self.archive.begin(&entry, None);
                }
                Ok(())
            }
            None => {
                let mut gone = OsString::from(".wh.");
                gone.push(name);
                let entry = entry_of(&path.with_file_name(gone), tar::Kind::File, None);
                self.archive.begin(&entry, None);
                self.archive.entries += 1;
                Ok(())
            }
        }
    }

    fn add_side(&mut self, path: &Path, side: &Side, was_there: bool) -> io::Result<()> {
        let kind = match side.kind {
            Kind::File => tar::Kind::File,
            Kind::Directory => tar::Kind::Directory,
            Kind::Link => tar::Kind::SymbolicLink,
            Kind::Other => {
                self.archive.skipped += 1;
                return Ok(());
            }
        };
        let mut entry = entry_of(path, kind, Some(side));
        entry.was_there = was_there;
        let mut content = None;
        match kind {
            tar::Kind::Directory => entry.path.push(b'/'),
            tar::Kind::SymbolicLink => entry.target = side.target()?,
            _ => {
                let file = side.open()?;
                entry.size = file.metadata()?.len();
                content = Some(file);
            }
        }
        self.archive.begin(&entry, content);
        self.archive.entries += 1;
        Ok(())
    }
}

fn entry_of(path: &Path, kind: tar::Kind, side: Option<&Side>) -> Entry {
    Entry {
        path: path.as_os_str().as_bytes().to_vec(),
        target: Vec::new(),
        kind,
        mode: side.map_or(0, Side::mode),
        uid: side.map_or(0, |side| side.found.st_uid),
        gid: side.map_or(0, |side| side.found.st_gid),
        mtime: side.map_or(0, |side| side.found.st_mtime),
        size: 0,
        was_there: false,
    }
}
