//! Taking the layer apart: content into the stage, the rest into memory.

use super::die;
use super::stage::Stage;
use super::target::Target;
use crate::serve::archive_path;
use crate::serve::tally::Tally;
use crate::sys::link;
use crate::sys::path::{self, PLAIN};
use crate::tar::reader::Sink;
use crate::tar::{self, Entry, Malformed, WHITEOUT};
use crate::wire::failure::Failure;
use crate::wire::file_request::Limits;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub enum What {
    Gone,
    Folder { mode: u32 },
    File { mode: u32 },
    Link { target: Vec<u8> },
}

/// One thing of the layer. A file or a link waits in the stage under its number.
pub struct Incoming {
    pub number: usize,
    pub path: PathBuf,
    pub what: What,
    /// The sandbox changed it, and did not make it.
    pub was_there: bool,
}

pub struct Gather<'a> {
    stage: BorrowedFd<'a>,
    owner: (u32, u32),
    incoming: Vec<Incoming>,
    skipped: u64,
    file: Option<File>,
    tally: Tally,
    /// Of a mirror, what is wanted; of a layer, everything in it. A mirror's has no deletions.
    only: Option<HashSet<PathBuf>>,
    mtime: i64,
}

pub struct Gathered {
    pub incoming: Vec<Incoming>,
    pub skipped: u64,
}

impl<'a> Gather<'a> {
    /// No more than so many bytes, whatever a sandbox sends: a file with holes is as large as it says.
    pub fn into(stage: &'a Stage, target: &Target, bytes: u64) -> Gather<'a> {
        let owner = (target.uid, target.gid);
        let (incoming, stage) = (Vec::new(), stage.folder.as_fd());
        let tally = Tally::against(Limits { bytes, ..Limits::DEFAULT });
        Gather { stage, owner, incoming, skipped: 0, file: None, tally, only: None, mtime: 0 }
    }

    pub fn only(mut self, only: HashSet<PathBuf>) -> Gather<'a> {
        self.only = Some(only);
        self
    }

    /// Whether the entry is to be taken. Each name is taken once: a second one of the same name is
    /// none that an honest sandbox sends.
    fn wants(&mut self, path: &PathBuf) -> bool {
        self.only.as_mut().is_none_or(|only| only.remove(path))
    }

    pub fn take(&mut self) -> Gathered {
        Gathered { incoming: std::mem::take(&mut self.incoming), skipped: self.skipped }
    }
}

/// The name of what waits in the stage.
pub fn staged(number: usize) -> String {
    format!("n{number}")
}

impl Sink for Gather<'_> {
    type Error = Failure;

    fn refuse(why: Malformed) -> Failure {
        Failure::invalid(why.0)
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), Failure> {
        let number = self.incoming.len();
        self.tally.count(entry.size)?;
        let path = archive_path::checked(&entry.path, self.tally.limits.depth)?;
        if !self.wants(&path) {
            return Ok(());
        }
        self.mtime = entry.mtime;
        let Some(name) = path.file_name() else {
            return Err(Failure::invalid("the folder itself is no change"));
        };
        // Set-user-id and the like are never brought out.
        let mode = entry.mode & 0o777;
        let failed = |error| Failure::about_path("the stage", &error);
        let (path, what) = match entry.kind {
            tar::Kind::File if self.only.is_none() && name.as_bytes().starts_with(WHITEOUT) => {
                let name = OsStr::from_bytes(&name.as_bytes()[WHITEOUT.len()..]);
                if entry.size > 0 || [b"".as_slice(), b".", b".."].contains(&name.as_bytes()) {
                    return Err(Failure::invalid("a deletion of nothing"));
                }
                (path.with_file_name(name), What::Gone)
            }
            tar::Kind::File => {
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
                let file = path::open(self.stage, staged(number), flags, mode, PLAIN);
                let file = File::from(file.map_err(failed)?);
                path::set_mode(file.as_fd(), mode).map_err(failed)?;
                self.file = Some(file);
                (path, What::File { mode })
            }
            tar::Kind::SymbolicLink => {
                let target = OsStr::from_bytes(&entry.target);
                path::make_symlink(self.stage, staged(number), target).map_err(failed)?;
                (path, What::Link { target: entry.target.clone() })
            }
            tar::Kind::Directory => (path, What::Folder { mode }),
            tar::Kind::HardLink | tar::Kind::Other => {
                self.skipped += 1;
                return Ok(());
            }
        };
        if matches!(what, What::File { .. } | What::Link { .. }) {
            // Only root may give files away; everybody else owns them already.
            let _ = link::set_owner(self.stage, staged(number), self.owner.0, self.owner.1);
            die::pass();
        }
        self.incoming.push(Incoming { number, path, what, was_there: entry.was_there });
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.file {
            Some(file) => {
                file.write_all(bytes).map_err(|error| Failure::about_path("the stage", &error))
            }
            None if self.only.is_some() => Ok(()),
            None => Err(Failure::invalid("a deletion of nothing")),
        }
    }

    fn entry_end(&mut self) -> Result<(), Failure> {
        if let (Some(file), Some(_)) = (self.file.take(), &self.only) {
            // The time is how both sides are found to be the same afterwards.
            let _ = link::set_mtime_of(file.as_fd(), self.mtime);
        }
        Ok(())
    }
}
