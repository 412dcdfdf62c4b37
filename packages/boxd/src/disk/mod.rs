//! Disks of a fixed size: what a sandbox writes goes into a filesystem of its own, in a sparse
//! file that is gone with it. Only root may mount one.

mod blank;
mod broken_in;
mod kept;
mod makers;
mod template;

use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::{credentials, path};
pub use blank::Blank;
use broken_in::broken_in;
pub use kept::{IMAGE, await_release, show};
use makers::Makers;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use template::Copied;

/// The bytes of a disk for which it has one inode, unless said otherwise.
const BYTES_PER_INODE: u64 = 16_384;
/// What most sandboxes ask for; made ready when hold starts.
const USUAL_BYTES: u64 = 10_240 << 20;
/// Files of fewer blocks than this are laid side by side.
const SMALL_FILE_BLOCKS: &str = "1024";
const MAKERS: usize = 2;
const AHEAD_EACH: usize = 3;
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
    /// For copies: one is enough, and only where files share blocks.
    blanks: RefCell<Makers>,
    /// The files of disks without a name, by the device that lies over each: kept only where
    /// files share blocks, since only there somebody wants them.
    images: RefCell<HashMap<u64, OwnedFd>>,
    shares_blocks: bool,
    wanted: Cell<Option<(Size, Instant)>>,
}

/// A disk, and its file where the store shares blocks.
pub struct Made {
    root: OwnedFd,
    image: Option<OwnedFd>,
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
        let mut disks = Disks {
            templates: folder.join("disks"),
            makers: RefCell::new(Makers::new(MAKERS, AHEAD_EACH)),
            blanks: RefCell::new(Makers::new(1, 1)),
            ..Disks::default()
        };
        if credentials::effective_uid() != 0 {
            disks.missing = Some("only root can mount a disk of a fixed size".to_string());
            return disks;
        }
        template::remove_drafts(&disks.templates);
        match make(&disks.templates, Size::of(USUAL_BYTES, None)) {
            Ok(made) => disks.shares_blocks = made.image.is_some(),
            Err(error) => {
                disks.missing = Some(format!("a disk of a fixed size cannot be had ({error})"));
            }
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
        let Made { root: disk, image } = match makers.take(size) {
            Some(disk) => disk,
            None => make(&self.templates, size)?,
        };
        if let Some(image) = image {
            self.images.borrow_mut().insert(path::stat(disk.as_fd(), "")?.st_dev, image);
        }
        match makers.count(size) < FEW {
            true => self.ask_for(&mut makers, size),
            false => self.wanted.set(Some((size, Instant::now() + DELAY))),
        }
        self.ask_for_blank(bytes);
        for name in FOLDERS {
            path::set_owner(disk.as_fd(), name, owner.unwrap_or(0))?;
        }
        Ok(disk)
    }
}

impl Disks {
    /// The file of a disk, by its sandbox's folder or by itself, where it can be shared.
    pub fn image_of(&self, disk: &OwnedFd, directory: &Path) -> io::Result<Option<OwnedFd>> {
        if !self.shares_blocks {
            return Ok(None);
        }
        match File::open(directory.join(IMAGE)) {
            Ok(file) => return Ok(Some(file.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let device = path::stat(disk.as_fd(), "")?.st_dev;
        self.images.borrow().get(&device).map(OwnedFd::try_clone).transpose()
    }

    /// It is about to go, and its file with it.
    pub fn forget(&self, disk: Option<&OwnedFd>) {
        if let Some(Ok(found)) = disk.map(|disk| path::stat(disk.as_fd(), "")) {
            self.images.borrow_mut().remove(&found.st_dev);
        }
    }

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
        let _ = makers.ask_for(size, &self.templates, make_ahead);
    }

    /// A device for a copy of this disk, where one was made ahead, and the next is asked for.
    pub fn blank_for(&self, image: &OwnedFd) -> Option<Blank> {
        let bytes = File::from(image.try_clone().ok()?).metadata().ok()?.len();
        let made = self.blanks.borrow_mut().take(Size::of(bytes, None));
        self.ask_for_blank(bytes);
        made.and_then(|made| Blank::of(made).ok())
    }

    fn ask_for_blank(&self, bytes: u64) {
        let (mut blanks, size) = (self.blanks.borrow_mut(), Size::of(bytes, None));
        if self.shares_blocks && blanks.count(size) == 0 {
            let _ = blanks.ask_for(size, &self.templates, blank::make);
        }
    }

    /// The disk in this file, which is made where there is none yet.
    pub fn keep(
        &self,
        image: &Path,
        bytes: u64,
        inodes: Option<u64>,
        owner: Option<u32>,
    ) -> io::Result<OwnedFd> {
        self.ask_for_blank(bytes);
        match image.exists() {
            true => kept::open(image, self.shares_blocks),
            false => kept::make(&self.templates, image, Size::of(bytes, inodes), owner),
        }
    }
}

impl Made {
    fn into_list(self) -> Vec<OwnedFd> {
        std::iter::once(self.root).chain(self.image).collect()
    }

    fn from_list(list: Vec<OwnedFd>) -> Option<Made> {
        let mut list = list.into_iter();
        Some(Made { root: list.next()?, image: list.next() })
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

/// What a copy of its file costs is counted in stretches, and ext4 leaves a gap behind every file
/// that it does not take for a small one.
fn pack_tightly(device: &LoopDevice) {
    let name = device.path.file_name().unwrap_or_default();
    let setting = Path::new("/sys/fs/ext4").join(name).join("mb_stream_req");
    // Without it copies take longer, and that is all.
    let _ = fs::write(setting, SMALL_FILE_BLOCKS);
}

fn make_ahead(templates: &Path, size: Size) -> io::Result<Made> {
    let made = make(templates, size)?;
    Ok(Made { root: broken_in(made.root)?, ..made })
}

fn make(templates: &Path, size: Size) -> io::Result<Made> {
    let template = template::find(templates, size)?;
    // It never has a name: however this ends, nothing of it is left behind.
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(templates)?;
    let copied = template::copy(&template, &file)?;
    let device = LoopDevice::over(&file)?;
    let source = crate::sys::c_string(&device.path)?;
    // Its content dies with the sandbox, so nothing waits for the medium; and nothing fills the
    // sparse file but what the sandbox writes.
    let options = [(c"source", source.as_c_str())];
    let flags = [c"nobarrier", c"noinit_itable", c"noquota"];
    let root = mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)?;
    match copied {
        Copied::Shared => {
            pack_tightly(&device);
            Ok(Made { root, image: Some(file.into()) })
        }
        Copied::Written(parts) => {
            // All at once, where the sandbox would wait for one after the other.
            parts.into_iter().for_each(|part| device.read_ahead(part));
            Ok(Made { root, image: None })
        }
    }
}
