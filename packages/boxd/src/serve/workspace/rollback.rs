//! Taking changes back, through the workspace as everybody inside sees it: what was added goes,
//! what was changed or deleted is copied from the host's folder again.

use super::side::{Kind, Side};
use super::walk::{Found, Step, Walk};
use crate::serve::stream::Progress;
use crate::sys::path::{self, PLAIN};
use crate::tree::copy::Copy;
use crate::tree::removal::Removal;
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use serde_json::json;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const COPY_SLICE: usize = 256 * 1024;
const REMOVAL_SLICE: usize = 256;

pub struct Rollback {
    walk: Walk,
    merged: OwnedFd,
    found: Vec<Found>,
    is_walked: bool,
    removal: Option<Removal>,
    copy: Option<Copy>,
    restored: u64,
}

impl Rollback {
    pub fn begin(walk: Walk, merged: OwnedFd) -> Rollback {
        let (found, removal, copy) = (Vec::new(), None, None);
        Rollback { walk, merged, found, is_walked: false, removal, copy, restored: 0 }
    }

    pub fn advance(&mut self, stream: u32, out: &mut Outbound) -> Progress {
        match self.step() {
            Ok(false) => Progress::More,
            Ok(true) => {
                out.end(stream, &json!({ "restored": self.restored }));
                Progress::Over
            }
            Err(failure) => {
                out.fail(stream, &failure);
                Progress::Over
            }
        }
    }

    /// True when nothing is left to do. All changes are found before the first is taken back, since
    /// taking back changes the layer that is walked.
    fn step(&mut self) -> Result<bool, Failure> {
        let about = |path: &Path, error: io::Error| Failure::about_path(path.display(), &error);
        if !self.is_walked {
            match self.walk.step().map_err(|(path, error)| about(&path, error))? {
                Step::Over => self.is_walked = true,
                Step::Nothing => {}
                Step::Found(found) => self.found.push(*found),
            }
            return Ok(false);
        }
        if let Some(removal) = &mut self.removal {
            if removal.step(REMOVAL_SLICE).map_err(|error| about(Path::new("."), error))? {
                self.removal = None;
            }
            return Ok(false);
        }
        if let Some(copy) = &mut self.copy {
            if copy.step(COPY_SLICE).map_err(|error| about(Path::new("."), error))? {
                self.copy = None;
            }
            return Ok(false);
        }
        let Some(found) = self.found.last() else {
            return Ok(true);
        };
        let path = found.path.clone();
        self.take_back().map_err(|error| about(&path, error))?;
        Ok(false)
    }

    fn take_back(&mut self) -> io::Result<()> {
        let Some(Found { path, new, old, is_rewritten, .. }) = self.found.last_mut() else {
            return Ok(());
        };
        let (parent, name) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => (shown(parent), name),
            // The folder itself.
            _ => (Path::new("."), OsStr::new(".")),
        };
        let at = path::open_directory(self.merged.as_fd(), parent, PLAIN)?;
        let is_same_kind = matches!((&new, &old), (Some(new), Some(old)) if new.kind == old.kind);
        if is_same_kind && !*is_rewritten {
            let mode = old.as_ref().map_or(0o755, Side::mode);
            path::set_mode_at(at.as_fd(), name, mode)?;
        } else if let Some(is_directory) = new.take().map(|new| new.kind == Kind::Directory)
            && !(is_same_kind && *is_rewritten)
        {
            // First what is in the way; the rest follows when this one's turn comes again.
            if is_directory {
                self.removal = Some(Removal::of_directory(at, name, true)?);
                return Ok(());
            }
            path::unlink(at.as_fd(), name)?;
            return Ok(());
        } else if old.is_some() {
            let from = path::open_directory(self.walk.lower(), parent, PLAIN)?;
            self.copy = Some(Copy::begin(from, name, at, name)?);
        }
        self.found.pop();
        self.restored += 1;
        Ok(())
    }
}

fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
