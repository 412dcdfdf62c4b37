//! A disk with a name: it outlives its sandbox's processes, hold and the machine's uptime.
//!
//! Its file is locked for as long as a device lies over it, since the device has the very file
//! description that was locked. So no disk is ever mounted twice, whoever died meanwhile.

use super::made::pack_tightly;
use super::template::{self, Copied};
use super::{FOLDERS, Size};
use crate::sys::loop_device::LoopDevice;
use crate::sys::mount::{self, NO_DEVICES, NO_SUID};
use crate::sys::{link, path};
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The disk's file in its sandbox's folder.
pub const IMAGE: &str = "disk.ext4";

const PAUSE: Duration = Duration::from_millis(2);

pub fn make(templates: &Path, image: &Path, size: Size, owner: Option<u32>) -> io::Result<OwnedFd> {
    let template = template::find(templates, Size { is_durable: true, ..size })?;
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(image)?;
    let is_shared = matches!(template::copy(&template, &file)?, Copied::Shared);
    let disk = mount(&file, is_shared)?;
    for name in FOLDERS {
        path::set_owner(disk.as_fd(), name, owner.unwrap_or(0))?;
    }
    Ok(disk)
}

pub fn open(image: &Path, is_shared: bool) -> io::Result<OwnedFd> {
    mount(&File::options().read(true).write(true).open(image)?, is_shared)
}

/// From now on its device locks it.
pub fn give_name(image: OwnedFd, directory: &Path) -> io::Result<()> {
    let image = File::from(image);
    lock(&image)?;
    link::give_name(image.as_fd(), File::open(directory)?.as_fd(), IMAGE)
}

/// To be read, by any number at once: nothing of it ever changes again.
pub fn show(image: &Path) -> io::Result<OwnedFd> {
    let file = File::open(image)?;
    file.try_lock_shared().map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
    show_device(&LoopDevice::over(&file)?)
}

pub fn show_device(device: &LoopDevice) -> io::Result<OwnedFd> {
    let source = crate::sys::c_string(&device.path)?;
    let options = [(c"source", source.as_c_str())];
    let flags = [c"ro", c"noload"];
    mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)
}

/// Waits until no device has it, then for the medium.
pub fn await_release(image: &Path, patience: Duration) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(image)?;
    let deadline = Instant::now() + patience;
    loop {
        match lock(&file) {
            Ok(()) => return file.sync_all(),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => io::Error::from_raw_os_error(libc::EBUSY),
    })
}

fn mount(file: &File, is_shared: bool) -> io::Result<OwnedFd> {
    lock(file)?;
    let device = LoopDevice::over(file)?;
    let source = crate::sys::c_string(&device.path)?;
    let options = [(c"source", source.as_c_str())];
    let flags = [c"noinit_itable", c"noquota"];
    let disk = mount::new_filesystem_with(c"ext4", &options, &flags, NO_SUID | NO_DEVICES)?;
    if is_shared {
        pack_tightly(&device);
    }
    Ok(disk)
}
