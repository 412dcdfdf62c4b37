//! Where new content waits, inside the folder it is for, and the note by which it is found again.

use super::die;
use super::host::STRICT;
use super::target::{self, Target};
use crate::sys::{path, time};
use crate::tree::removal::Removal;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What the name of every stage begins with.
pub const PREFIX: &str = ".sandboxer-apply-";

pub struct Stage {
    pub folder: OwnedFd,
    root: OwnedFd,
    name: OsString,
    note: PathBuf,
    /// Whoever has it works here; the kernel takes it back from the dead.
    _lock: File,
}

impl Stage {
    /// The note first: nothing is ever left in the folder that nobody knows of.
    pub fn make(target: &Target, notes: &Path) -> Result<Stage, Failure> {
        let failed = |error| Failure::about_path("the stage", &error);
        match DirBuilder::new().mode(0o700).create(notes) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        let unique = format!("{}-{}", std::process::id(), time::stamp_ns());
        let name = OsString::from(format!("{PREFIX}{unique}"));
        let note = notes.join(unique);
        let mut lock = File::create(&note).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let text = json!({
            "root": target.path.to_string_lossy(),
            "device": target.identity.0,
            "inode": target.identity.1,
            "stage": name.to_string_lossy(),
        });
        lock.write_all(text.to_string().as_bytes()).map_err(failed)?;
        lock.sync_all().map_err(failed)?;
        die::pass();
        let root = target.root.try_clone().map_err(failed)?;
        let made = path::make_directory(root.as_fd(), &name, 0o700)
            .and_then(|()| path::open_directory(root.as_fd(), &name, STRICT));
        match made {
            Ok(folder) => {
                die::pass();
                Ok(Stage { folder, root, name, note, _lock: lock })
            }
            Err(error) => {
                let _ = fs::remove_file(&note);
                Err(Failure::about_path(target.path.display(), &error))
            }
        }
    }

    /// One that a dead `apply` left. None while somebody works on it; the note alone is removed
    /// where its folder is gone.
    pub fn find(note: &Path) -> io::Result<Option<Stage>> {
        let lock = File::open(note)?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        let broken = |failure: Failure| io::Error::other(failure.message);
        let Ok(object) = serde_json::from_slice(&fs::read(note)?) else {
            // It died over the note, before it touched anything else.
            fs::remove_file(note)?;
            return Ok(None);
        };
        let mut fields = Fields::of(object);
        let path = PathBuf::from(fields.text("root").map_err(broken)?);
        let identity =
            (fields.number("device").map_err(broken)?, fields.number("inode").map_err(broken)?);
        let name = OsString::from(fields.text("stage").map_err(broken)?);
        let found = target::open(&path, identity).ok().and_then(|root| {
            let folder = path::open_directory(root.as_fd(), &name, STRICT).ok()?;
            Some((root, folder))
        });
        let Some((root, folder)) = found else {
            fs::remove_file(note)?;
            return Ok(None);
        };
        Ok(Some(Stage { folder, root, name, note: note.to_owned(), _lock: lock }))
    }

    pub fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// What cannot be removed now is found by the next recovery.
    pub fn clear(&self) {
        if self.remove(&self.name).is_ok() {
            die::pass();
            let _ = fs::remove_file(&self.note);
        }
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        let mut removal = Removal::of_directory(self.root.try_clone()?, name, true)?;
        while !removal.step(usize::MAX)? {}
        Ok(())
    }
}
