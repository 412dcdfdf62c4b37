//! Disks of a fixed size: what a sandbox writes goes into a filesystem of its own, in a sparse
//! file that is gone with it. Only root may mount one.

mod blank;
mod broken_in;
mod duplicate;
mod kept;
mod made;
mod makers;
mod size;
mod template;

use crate::sys::{credentials, path};
pub use blank::Blank;
pub use duplicate::duplicate;
pub use kept::{IMAGE, await_release, show};
use made::{Made, make, make_ahead};
use makers::Makers;
use size::Size;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What most sandboxes ask for; made ready when hold starts.
const USUAL_BYTES: u64 = 10_240 << 20;
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
    /// The files of disks without a name, by the device that lies over each.
    images: RefCell<HashMap<u64, OwnedFd>>,
    shares_blocks: bool,
    wanted: Cell<Option<(Size, Instant)>>,
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
            Ok((_, shares_blocks)) => disks.shares_blocks = shares_blocks,
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
            None => make(&self.templates, size)?.0,
        };
        self.images.borrow_mut().insert(path::stat(disk.as_fd(), "")?.st_dev, image);
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
    /// Whether a copy of a disk's file is none of its blocks.
    pub fn share_blocks(&self) -> bool {
        self.shares_blocks
    }

    /// The file of a disk, by its sandbox's folder or by itself.
    pub fn image_of(&self, disk: &OwnedFd, directory: &Path) -> io::Result<Option<OwnedFd>> {
        match File::open(directory.join(IMAGE)) {
            Ok(file) => return Ok(Some(file.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let device = path::stat(disk.as_fd(), "")?.st_dev;
        self.images.borrow().get(&device).map(OwnedFd::try_clone).transpose()
    }

    /// A disk that was to go with its sandbox gets a name, by which it can be had again.
    pub fn give_name(&self, disk: &OwnedFd, directory: &Path) -> io::Result<()> {
        let device = path::stat(disk.as_fd(), "")?.st_dev;
        let image = self.images.borrow_mut().remove(&device);
        kept::give_name(image.ok_or(io::ErrorKind::NotFound)?, directory)
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
