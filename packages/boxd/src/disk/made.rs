//! A new disk: a copy of its template, mounted nowhere yet.

use super::broken_in::broken_in;
use super::size::Size;
use super::template::{self, Copied};
use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Files of fewer blocks than this are laid side by side.
const SMALL_FILE_BLOCKS: &str = "1024";

/// A disk, and its file.
pub struct Made {
    pub root: OwnedFd,
    pub image: OwnedFd,
}

impl Made {
    pub fn into_list(self) -> Vec<OwnedFd> {
        vec![self.root, self.image]
    }

    pub fn from_list(list: Vec<OwnedFd>) -> Option<Made> {
        let mut list = list.into_iter();
        Some(Made { root: list.next()?, image: list.next()? })
    }
}

/// What a copy of its file costs is counted in stretches, and ext4 leaves a gap behind every file
/// that it does not take for a small one.
pub fn pack_tightly(device: &LoopDevice) {
    let name = device.path.file_name().unwrap_or_default();
    let setting = Path::new("/sys/fs/ext4").join(name).join("mb_stream_req");
    // Without it copies take longer, and that is all.
    let _ = fs::write(setting, SMALL_FILE_BLOCKS);
}

pub fn make_ahead(templates: &Path, size: Size) -> io::Result<Made> {
    let (made, _) = make(templates, size)?;
    Ok(Made { root: broken_in(made.root)?, ..made })
}

/// And whether the store shares blocks.
pub fn make(templates: &Path, size: Size) -> io::Result<(Made, bool)> {
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
    let shares_blocks = matches!(copied, Copied::Shared);
    match copied {
        Copied::Shared => pack_tightly(&device),
        // All at once, where the sandbox would wait for one after the other.
        Copied::Written(parts) => parts.into_iter().for_each(|part| device.read_ahead(part)),
    }
    Ok((Made { root, image: file.into() }, shares_blocks))
}
