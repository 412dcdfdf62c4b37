//! What is known about a file.

use super::{act_as, place};
use crate::serve::confine::Identity;
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

pub struct Entry {
    path: String,
    kind: &'static str,
    found: libc::stat,
    target: Option<String>,
    /// Some byte of it could not be shown.
    is_lossy: bool,
}

impl Entry {
    /// `name` in `directory` is where a link's target is read; empty means `directory` itself.
    pub fn new(full: &Path, found: &libc::stat, directory: BorrowedFd, name: &Path) -> Entry {
        let kind = match found.st_mode & libc::S_IFMT {
            libc::S_IFREG => "file",
            libc::S_IFDIR => "directory",
            libc::S_IFLNK => "symlink",
            _ => "other",
        };
        let target = match kind {
            "symlink" => path::read_link(directory, name).ok(),
            _ => None,
        };
        let is_lossy = full.to_str().is_none()
            || target.as_ref().is_some_and(|target| target.to_str().is_none());
        Entry {
            path: full.to_string_lossy().into_owned(),
            kind,
            found: *found,
            target: target.map(|target| target.to_string_lossy().into_owned()),
            is_lossy,
        }
    }

    pub fn to_json(&self) -> Value {
        let mut entry = json!({
            "path": self.path,
            "type": self.kind,
            "size": self.found.st_size,
            "mode": self.found.st_mode & 0o7777,
            "uid": self.found.st_uid,
            "gid": self.found.st_gid,
            "mtimeMs": mtime_ms(&self.found),
        });
        if let Some(target) = &self.target {
            entry["target"] = json!(target);
        }
        if self.is_lossy {
            entry["lossy"] = json!(true);
        }
        entry
    }
}

pub fn mtime_ms(found: &libc::stat) -> i64 {
    found.st_mtime.saturating_mul(1000).saturating_add(found.st_mtime_nsec / 1_000_000)
}

pub fn stat(path: &str, follow: bool, user: &User, identity: Identity) -> Result<Entry, Failure> {
    let path = place::absolute(path, user)?;
    let failed = |error| Failure::about_path(&path, &error);
    let _acting = act_as(user, identity)?;
    let flags = libc::O_PATH | if follow { 0 } else { libc::O_NOFOLLOW };
    let file = path::open(HERE, &path, flags, 0, NO_MAGIC).map_err(failed)?;
    let found = path::stat(file.as_fd(), "").map_err(failed)?;
    Ok(Entry::new(Path::new(&path), &found, file.as_fd(), Path::new("")))
}
