//! The changes as an archive: an OCI layer, in which `.wh.name` says that `name` is gone.

use super::side::{Kind, Side};
use super::walk::{Found, Step, Walk};
use crate::serve::stream::Progress;
use crate::tar::{self, Entry, OPAQUE, WHITEOUT, writer};
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub struct Layer {
    walk: Walk,
    file: Option<(File, u64, u64)>,
    ready: Vec<u8>,
    entries: u64,
    /// Pipes and the like, and names that would be taken for deletions.
    skipped: u64,
    is_written: bool,
    /// Everybody else in the sandbox stands still until it is written.
    pub is_still: bool,
}

impl Layer {
    pub fn of(walk: Walk, is_still: bool) -> Layer {
        let (file, ready) = (None, Vec::new());
        Layer { walk, file, ready, entries: 0, skipped: 0, is_written: false, is_still }
    }

    pub fn advance(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        if self.ready.len() < MOST_DATA
            && !self.is_written
            && let Err(failure) = self.gather()
        {
            out.fail(stream, &failure);
            return Progress::Over;
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

    fn gather(&mut self) -> Result<(), Failure> {
        if self.file.is_some() {
            self.read_content();
            return Ok(());
        }
        let about = |path: &Path, error| Failure::about_path(path.display(), &error);
        match self.walk.step().map_err(|(path, error)| about(&path, error))? {
            Step::Over => {
                writer::end(&mut self.ready);
                self.is_written = true;
            }
            Step::Nothing => {}
            Step::Found(found) => {
                self.add(&found).map_err(|error| about(&found.path, error))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, Found { path, new, old, is_opaque, .. }: &Found) -> io::Result<()> {
        let Some(name) = path.file_name() else {
            // The folder itself: its mode is the host's business.
            return Ok(());
        };
        if name.as_bytes().starts_with(WHITEOUT) {
            self.skipped += 1;
            return Ok(());
        }
        match new {
            Some(new) => {
                // The layer remembers what it copied, also where that is gone by now.
                let was_there = old.is_some() || new.is_copy();
                self.add_side(path, new, was_there)?;
                if *is_opaque {
                    let entry = entry_of(&path.join(OPAQUE), tar::Kind::File, None);
                    writer::begin(&mut self.ready, &entry);
                }
                Ok(())
            }
            None => {
                let mut gone = OsString::from(".wh.");
                gone.push(name);
                let entry = entry_of(&path.with_file_name(gone), tar::Kind::File, None);
                writer::begin(&mut self.ready, &entry);
                self.entries += 1;
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
                self.skipped += 1;
                return Ok(());
            }
        };
        let mut entry = entry_of(path, kind, Some(side));
        entry.was_there = was_there;
        match kind {
            tar::Kind::Directory => entry.path.push(b'/'),
            tar::Kind::SymbolicLink => entry.target = side.target()?,
            _ => {
                let file = side.open()?;
                entry.size = file.metadata()?.len();
                self.file = (entry.size > 0).then_some((file, entry.size, entry.size));
            }
        }
        writer::begin(&mut self.ready, &entry);
        self.entries += 1;
        Ok(())
    }

    /// As many bytes as were announced: what is missing by now is zeros, what is more is left.
    fn read_content(&mut self) {
        let Some((file, size, left)) = &mut self.file else {
            return;
        };
        let want = (*left).min(MOST_DATA as u64) as usize;
        let start = self.ready.len();
        let read = file.take(want as u64).read_to_end(&mut self.ready);
        if !matches!(read, Ok(1..)) {
            self.ready.resize(start + want, 0);
        }
        *left -= (self.ready.len() - start) as u64;
        if *left == 0 {
            writer::pad(&mut self.ready, *size);
            self.file = None;
        }
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
