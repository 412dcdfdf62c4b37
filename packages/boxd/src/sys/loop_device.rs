//! Files as block devices.

use super::checked;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;

#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A device that is there as long as somebody has it open or mounted.
pub struct LoopDevice {
    pub path: PathBuf,
    device: File,
}

impl LoopDevice {
    pub fn over(image: impl AsFd) -> io::Result<LoopDevice> {
        let control = File::options().read(true).write(true).open("/dev/loop-control")?;
        loop {
            // SAFETY: takes no pointers.
            let number =
                checked(unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE, 0) })?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = File::options().read(true).write(true).open(&path)?;
            match configure(&device, &image) {
                // Somebody else was quicker.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                outcome => return outcome.map(|()| LoopDevice { path, device }),
            }
        }
    }
}

impl LoopDevice {
    /// One that somebody else made, and opened by its name.
    pub fn at(device: OwnedFd) -> io::Result<LoopDevice> {
        let path = fs::read_link(format!("/proc/self/fd/{}", device.as_raw_fd()))?;
        Ok(LoopDevice { path, device: device.into() })
    }

    /// Begins to read, and does not wait.
    pub fn read_ahead(&self, part: Range<u64>) {
        let (start, length) = (part.start as i64, (part.end - part.start) as i64);
        // SAFETY: takes no pointers; a refusal costs nothing but time.
        unsafe {
            libc::posix_fadvise(self.device.as_raw_fd(), start, length, libc::POSIX_FADV_WILLNEED)
        };
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl From<LoopDevice> for OwnedFd {
    fn from(one: LoopDevice) -> OwnedFd {
        one.device.into()
    }
}

fn configure(device: &File, image: impl AsFd) -> io::Result<()> {
    // SAFETY: all zero is valid for these plain numbers.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.fd = image.as_fd().as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR;
    // SAFETY: `config` has the layout of the kernel's struct and outlives the call.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) })?;
    Ok(())
}
