//! The folder that is meant: opened once, and from then on that very one, whatever its names come
//! to lead to.

use super::{sensitive, view};
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_SUID, READ_ONLY};
use crate::sys::path::{self, HERE, NO_MAGIC, NO_SYMLINKS};
use crate::sys::time;
use crate::wire::failure::{Code, Failure};
use crate::wire::workspace::{Mode, Workspace};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub struct Pinned {
    folder: OwnedFd,
    /// Free of links.
    path: PathBuf,
    found: libc::stat,
    mode: Mode,
    target: String,
    /// What the kernel would have stamped a file with that changed now, and the boot's clock then.
    base_ns: i64,
    base_boot_ms: u64,
}

impl Pinned {
    pub fn pin(wanted: &Workspace) -> Result<Pinned, Failure> {
        let failed = |error| Failure::about_path(&wanted.source, &error);
        let folder = path::open_directory(HERE, &wanted.source, NO_MAGIC).map_err(failed)?;
        let name = path::through(folder.as_fd());
        let path = fs::read_link(OsStr::from_bytes(name.to_bytes())).map_err(failed)?;
        if let Some(why) =
            sensitive::objection(folder.as_fd(), &wanted.sensitive).map_err(failed)?
        {
            let message = format!("{} cannot be a workspace: it {why}", path.display());
            return Err(Failure::new(Code::PermissionDenied, message));
        }
        let found = path::stat(folder.as_fd(), "").map_err(failed)?;
        let (base_ns, base_boot_ms) = (time::stamp_ns(), time::since_boot_ms());
        let (mode, target) = (wanted.mode, wanted.target.clone());
        Ok(Pinned { folder, path, found, mode, target, base_ns, base_boot_ms })
    }

    /// What `apply` must know later.
    pub fn facts(&self) -> Value {
        json!({
            "source": self.path.to_string_lossy(),
            "target": self.target,
            "mode": self.mode.as_str(),
            "device": self.found.st_dev,
            "inode": self.found.st_ino,
            "uid": self.found.st_uid,
            "gid": self.found.st_gid,
            "baseNs": self.base_ns,
            "baseBootMs": self.base_boot_ms,
        })
    }

    /// Whether an earlier life of the sandbox worked on this very folder.
    pub fn is_the_same_as(&self, facts: &Value) -> bool {
        let same = |name: &str, found: u64| facts[name] == found;
        same("device", self.found.st_dev) && same("inode", self.found.st_ino)
    }

    pub fn permissions(&self) -> u32 {
        self.found.st_mode & 0o777
    }

    /// hold's part, where hold is root: the folder as a mount in which its owner is the
    /// sandbox's `user`.
    pub fn tree(&self, base: u32) -> Result<OwnedFd, Failure> {
        let step =
            |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
        let tree = mount::clone_tree(self.folder.as_fd(), Path::new(""), self.depth())
            .map_err(step("mount of the workspace"))?;
        let (uid, gid) = (self.found.st_uid, self.found.st_gid);
        let ids = match self.mode {
            // What the sandbox writes becomes the owner's, never another user's of the host.
            Mode::ReadWrite => view::of_owner(uid, gid, base),
            _ => view::of_everybody(uid, gid, base),
        };
        let ids = ids.map_err(step("user ids of the workspace"))?;
        mount::set_attributes(&tree, self.depth(), self.attributes(), Some(ids.as_fd()))
            .map_err(step("id map of the workspace's filesystem"))?;
        Ok(tree)
    }

    /// The sandbox's part, where hold is an ordinary user: only who is in a mount namespace can
    /// clone its mounts. That it is still the same folder is looked at, not believed.
    pub fn tree_from_inside(&self) -> Result<OwnedFd, Failure> {
        let failed = |error| Failure::about_path(self.path.display(), &error);
        let folder = path::open_directory(HERE, &self.path, NO_SYMLINKS).map_err(failed)?;
        let found = path::stat(folder.as_fd(), "").map_err(failed)?;
        if (found.st_dev, found.st_ino) != (self.found.st_dev, self.found.st_ino) {
            return Err(failed(io::Error::from_raw_os_error(libc::ENOENT)));
        }
        let tree = mount::clone_tree(folder.as_fd(), Path::new(""), self.depth())
            .and_then(|tree| {
                mount::set_attributes(&tree, self.depth(), self.attributes(), None).map(|()| tree)
            })
            .map_err(|error| Failure::unavailable("mount of the workspace", &error))?;
        Ok(tree)
    }

    /// An overlay shows one filesystem; what is mounted below the folder is not part of it. Nor
    /// can an ordinary user leave such mounts out of a plain one: they might hide something.
    fn depth(&self) -> Depth {
        match self.mode {
            Mode::CopyOnWrite => Depth::This,
            _ => Depth::WithSubmounts,
        }
    }

    fn attributes(&self) -> u64 {
        let writable = self.mode == Mode::ReadWrite;
        NO_SUID | NO_DEVICES | if writable { 0 } else { READ_ONLY }
    }
}
