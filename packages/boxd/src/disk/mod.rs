//! Disks of a fixed size: what a sandbox writes goes into a filesystem of its own, in a sparse
//! file that is gone with it. Only root may mount one.

mod broken_in;
mod kept;
mod makers;
mod template;

use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::{credentials, path};
pub use kept::{IMAGE, await_release, show};
use makers::Makers;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The bytes of a disk for which it has one inode, unless said otherwise.
const BYTES_PER_INODE: u64 = 16_384;
/// What most sandboxes ask for; made ready when hold starts.
const USUAL_BYTES: u64 = 10_240 << 20;

/// With fewer ready, more are made at once.
const FEW: usize = 3;
/// Otherwise when whoever got the last one is likely to be done: the makers take from its time.
const DELAY: Duration = Duration::from_millis(20);

const FOLDERS: [&str; 2] = ["upper", "work"];

#[derive(Default)]
pub struct Disks {
    templates: PathBuf,
    missing: Option<String>,
    makers: RefCell<Makers>,
    wanted: Cell<Option<(Size, Instant)>>,
}

/// What makes one disk as good as another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Size {
    bytes: u64,
    inodes: u64,
    /// With a journal: it is to survive a machine that fails.
    is_durable: bool,
}

impl Disks {
    /// Tries it out: too many things can be in the way to know by looking.
    pub fn find(folder: &Path) -> Disks {
        let mut disks =
            Disks { templates: folder.join("disks"), missing: None, ..Disks::default() };
        if credentials::effective_uid() != 0 {
            disks.missing = Some("only root can mount a disk of a fixed size".to_string());
            return disks;
        }
        template::remove_drafts(&disks.templates);
        if let Err(error) = make(&disks.templates, Size::of(USUAL_BYTES, None)) {
            disks.missing = Some(format!("a disk of a fixed size cannot be had ({error})"));
        }
        disks
    }

    pub fn why_missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// A disk that nobody has had, mounted nowhere yet, with an overlay's two folders in it.
    pub fn take(&self, bytes: u64, inodes: Option<u64>, owner: Option<u32>) -> io::Result<OwnedFd> {
        let size = Size::of(bytes, inodes);
        let mut makers = self.makers.borrow_mut();
        let disk = match makers.take(size) {
            Some(disk) => disk,
            None => make(&self.templates, size)?,
        };
        match makers.count(size) < FEW {
            true => self.ask_for(&mut makers, size),
            false => self.wanted.set(Some((size, Instant::now() + DELAY))),
        }
        for name in FOLDERS {
            path::set_owner(disk.as_fd(), name, owner.unwrap_or(0))?;
        }
        Ok(disk)
    }
}

impl Disks {
    pub fn due(&self) -> Option<Instant> {
        self.wanted.get().map(|(_, due)| due)
    }

    pub fn refill_when_due(&self) {
        if let Some((size, due)) = self.wanted.get()
            && due <= Instant::now()
        {
            self.ask_for(&mut self.makers.borrow_mut(), size);
        }
    }

    fn ask_for(&self, makers: &mut Makers, size: Size) {
        self.wanted.set(None);
        // Without makers the next one takes longer, and that is all.
        let _ = makers.ask_for(size, &self.templates, make);
    }

    /// The disk in this file, which is made where there is none yet.
    pub fn keep(
        &self,
        image: &Path,
        bytes: u64,
        inodes: Option<u64>,
        owner: Option<u32>,
    ) -> io::Result<OwnedFd> {
        match image.exists() {
            true => kept::open(image),
            false => kept::make(&self.templates, image, Size::of(bytes, inodes), owner),
        }
    }
}

impl Size {
    const LENGTH: usize = 16;

    fn of(bytes: u64, inodes: Option<u64>) -> Size {
        let inodes = inodes.unwrap_or(bytes / BYTES_PER_INODE).max(64);
        Size { bytes, inodes, is_durable: false }
    }

    fn to_bytes(self) -> [u8; Size::LENGTH] {
        (u128::from(self.bytes) << 64 | u128::from(self.inodes)).to_ne_bytes()
    }

    fn from_bytes(bytes: [u8; Size::LENGTH]) -> Size {
        let both = u128::from_ne_bytes(bytes);
        Size { bytes: (both >> 64) as u64, inodes: both as u64, is_durable: false }
    }
}

fn make(templates: &Path, size: Size) -> io::Result<OwnedFd> {
    let template = template::find(templates, size)?;
    // It never has a name: however this ends, nothing of it is left behind.
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(templates)?;
    template::copy(&template, &file)?;
    let device = LoopDevice::over(&file)?;
    let source = crate::sys::c_string(&device.path)?;
    // Its content dies with the sandbox, so nothing waits for the medium; and nothing fills the
    // sparse file but what the sandbox writes.
    let options = [(c"source", source.as_c_str())];
    let flags = [c"nobarrier", c"noinit_itable", c"noquota"];
    mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)
}
