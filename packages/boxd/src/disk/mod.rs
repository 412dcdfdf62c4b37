//! Disks of a fixed size: what a sandbox writes goes into a filesystem of its own, in a sparse
//! file that is gone with it. Only root may mount one.

mod stock;
mod template;

use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::{credentials, path};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use stock::{Size, Stock};

/// The bytes of a disk for which it has one inode, unless said otherwise.
const BYTES_PER_INODE: u64 = 16_384;
/// What most sandboxes ask for; made ready when hold starts.
const USUAL_BYTES: u64 = 10_240 << 20;

const FOLDERS: [(&str, u32); 2] = [("upper", 0o755), ("work", 0o700)];

pub struct Disks {
    templates: PathBuf,
    missing: Option<String>,
    stock: RefCell<Stock>,
}

impl Disks {
    /// Tries it out: too many things can be in the way to know by looking.
    pub fn find(folder: &Path) -> Disks {
        let mut disks =
            Disks { templates: folder.join("disks"), missing: None, stock: RefCell::default() };
        if credentials::effective_uid() != 0 {
            disks.missing = Some("only root can mount a disk of a fixed size".to_string());
        } else if let Err(error) = disks.make(folder, size_of(USUAL_BYTES, None)) {
            disks.missing = Some(format!("a disk of a fixed size cannot be had ({error})"));
        }
        disks
    }

    pub fn why_missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// A disk that nobody has had, mounted nowhere yet, with an overlay's two folders in it.
    pub fn take(
        &self,
        near: &Path,
        bytes: u64,
        inodes: Option<u64>,
        owner: Option<u32>,
    ) -> io::Result<OwnedFd> {
        let size = size_of(bytes, inodes);
        let ready = self.stock.borrow_mut().take(size);
        let disk = match ready {
            Some(disk) => disk,
            None => self.make(near, size)?,
        };
        for (name, _) in FOLDERS {
            path::set_owner(disk.as_fd(), name, owner.unwrap_or(0))?;
        }
        Ok(disk)
    }

    /// When `refill_when_due` has something to do next.
    pub fn due(&self) -> Option<Instant> {
        self.stock.borrow().due()
    }

    pub fn refill_when_due(&self) {
        let make = |size| self.make(&self.templates, size).ok();
        self.stock.borrow_mut().refill_when_due(make);
    }

    fn make(&self, near: &Path, Size { bytes, inodes }: Size) -> io::Result<OwnedFd> {
        let template = template::find(&self.templates, bytes, inodes)?;
        // It never has a name: however this ends, nothing of it is left behind.
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_TMPFILE)
            .mode(0o600)
            .open(near)?;
        template::copy(&template, &file)?;
        let device = LoopDevice::over(&file)?;
        let source = crate::sys::c_string(&device.path)?;
        // Its content dies with the sandbox, so nothing waits for the medium; and nothing fills
        // the sparse file but what the sandbox writes.
        let options = [(c"source", source.as_c_str())];
        let flags = [c"nobarrier", c"noinit_itable", c"noquota"];
        let disk = mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)?;
        for (name, mode) in FOLDERS {
            path::make_directory(disk.as_fd(), name, mode)?;
        }
        Ok(disk)
    }
}

fn size_of(bytes: u64, inodes: Option<u64>) -> Size {
    Size { bytes, inodes: inodes.unwrap_or(bytes / BYTES_PER_INODE).max(64) }
}
