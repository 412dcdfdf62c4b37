//! Disks of a fixed size: what a sandbox writes goes into a filesystem of its own, in a sparse
//! file that is gone with it. Only root may mount one.

mod template;

use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::{credentials, path};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The bytes of a disk for which it has one inode, unless said otherwise.
const BYTES_PER_INODE: u64 = 16_384;
/// What most sandboxes ask for; made ready when hold starts.
const USUAL_BYTES: u64 = 10_240 << 20;

pub struct Disks {
    templates: PathBuf,
    missing: Option<String>,
}

impl Disks {
    /// Tries it out: too many things can be in the way to know by looking.
    pub fn find(folder: &Path) -> Disks {
        let mut disks = Disks { templates: folder.join("disks"), missing: None };
        if credentials::effective_uid() != 0 {
            disks.missing = Some("only root can mount a disk of a fixed size".to_string());
        } else if let Err(error) = disks.make(folder, USUAL_BYTES, None, None) {
            disks.missing = Some(format!("a disk of a fixed size cannot be had ({error})"));
        }
        disks
    }

    pub fn why_missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// A new disk, mounted nowhere yet, with an overlay's two folders in it.
    pub fn make(
        &self,
        near: &Path,
        bytes: u64,
        inodes: Option<u64>,
        owner: Option<u32>,
    ) -> io::Result<OwnedFd> {
        let inodes = inodes.unwrap_or(bytes / BYTES_PER_INODE).max(64);
        let template = template::find(&self.templates, bytes, inodes)?;
        let image = near.join("disk.img");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&image)?;
        let device = template::copy(&template, &file).and_then(|()| LoopDevice::over(&file));
        // The device keeps it: nothing is left behind, however this ends.
        fs::remove_file(&image)?;
        let device = device?;
        let source = crate::sys::c_string(&device.path)?;
        // Its content dies with the sandbox, so nothing waits for the medium; and nothing fills
        // the sparse file but what the sandbox writes.
        let options = [(c"source", source.as_c_str())];
        let flags = [c"nobarrier", c"noinit_itable", c"noquota"];
        let disk = mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)?;
        for (name, mode) in [("upper", 0o755), ("work", 0o700)] {
            path::make_directory(disk.as_fd(), name, mode)?;
            path::set_owner(disk.as_fd(), name, owner.unwrap_or(0))?;
        }
        Ok(disk)
    }
}
