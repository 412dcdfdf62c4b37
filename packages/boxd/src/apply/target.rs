//! The folder that is written to, as hold pinned it when the sandbox was made.

use crate::sys::path::{self, HERE, NO_SYMLINKS};
use crate::sys::time;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Fields;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

pub struct Target {
    pub root: OwnedFd,
    pub path: PathBuf,
    pub identity: (u64, u64),
    pub uid: u32,
    pub gid: u32,
    /// What has a stamp from here on has changed since the sandbox saw it first.
    pub since_ns: i64,
}

impl Target {
    pub fn of_box(box_directory: &Path) -> Result<Target, Failure> {
        let none = || Failure::new(Code::NotFound, "no such sandbox");
        let bytes = fs::read(box_directory.join("box.json")).map_err(|_| none())?;
        let object = serde_json::from_slice(&bytes).map_err(|_| none())?;
        let mut record = Fields::of(object);
        let mut facts = record
            .object_if_any("workspace")?
            .ok_or_else(|| Failure::invalid("this sandbox has no workspace"))?;
        if facts.text("mode")? != "copy-on-write" {
            return Err(Failure::invalid("the workspace is not copy-on-write"));
        }
        let path = PathBuf::from(facts.text("source")?);
        let identity = (facts.number("device")?, facts.number("inode")?);
        let since_ns = earliest(facts.number("baseNs")?, facts.number("baseBootMs")?);
        let (uid, gid) = (facts.small("uid")?, facts.small("gid")?);
        let root = open(&path, identity)?;
        Ok(Target { root, path, identity, uid, gid, since_ns })
    }
}

impl Target {
    /// The one that a mirror was pinned to.
    pub fn pinned(facts: &mut Fields) -> Result<Target, Failure> {
        let path = PathBuf::from(facts.text("source")?);
        let mut number = |name: &str| {
            let text = facts.text(name)?;
            text.parse().map_err(|_| Failure::invalid(format!("{name} is no number")))
        };
        let identity = (number("device")?, number("inode")?);
        let (uid, gid) = (facts.small("uid")?, facts.small("gid")?);
        let root = open(&path, identity)?;
        Ok(Target { root, path, identity, uid, gid, since_ns: time::stamp_ns() })
    }
}

/// The very folder, or nothing: another one under its name is not written to.
pub fn open(path: &Path, identity: (u64, u64)) -> Result<OwnedFd, Failure> {
    let failed = |error| Failure::about_path(path.display(), &error);
    let root = path::open_directory(HERE, path, NO_SYMLINKS).map_err(failed)?;
    let found = path::stat(root.as_fd(), "").map_err(failed)?;
    if (found.st_dev, found.st_ino) != identity {
        let message = format!("{} is another folder than it was", path.display());
        return Err(Failure::new(Code::AlreadyExists, message));
    }
    Ok(root)
}

/// A clock that was set back since then may have given later changes earlier stamps.
fn earliest(base_ns: u64, base_boot_ms: u64) -> i64 {
    let base = base_ns as i64;
    let passed_ns = time::since_boot_ms().saturating_sub(base_boot_ms) as i64 * 1_000_000;
    let set_back_ns = base.saturating_add(passed_ns).saturating_sub(time::stamp_ns());
    // A little is what the two clocks always differ by.
    if set_back_ns > 100_000_000 { base - set_back_ns } else { base }
}
