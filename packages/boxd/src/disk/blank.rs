//! A device over an empty file, made ahead: most of what a device takes is a wait for the kernel.
//! What it shows comes later and all at once, from a disk that is copied.

use super::{IMAGE, Made, Size, kept};
use crate::sys::loop_device::LoopDevice;
use crate::sys::{link, path, share};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub struct Blank {
    device: LoopDevice,
    file: File,
}

/// As a maker gives it.
pub fn make(folder: &Path, size: Size) -> io::Result<Made> {
    // Until it is somebody's it has no name: however this ends, nothing of it is left behind.
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(folder)?;
    file.set_len(size.bytes)?;
    file.try_lock_shared().map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
    Ok(Made { root: LoopDevice::over(&file)?.into(), image: file.into() })
}

impl Blank {
    pub fn of(made: Made) -> io::Result<Blank> {
        Ok(Blank { device: LoopDevice::at(made.root)?, file: made.image.into() })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// From now on it has a name in a layer's folder.
    pub fn settle(&self, place: &Path) -> io::Result<()> {
        let place = path::open_directory(path::HERE, place, 0)?;
        link::give_name(self.file.as_fd(), place.as_fd(), IMAGE)
    }

    /// To be read. What somebody saw of the empty file is forgotten first.
    pub fn show(&self) -> io::Result<OwnedFd> {
        share::forget_what_was_read(&self.device)?;
        kept::show_device(&self.device)
    }
}
