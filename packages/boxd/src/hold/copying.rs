//! The process that copies the disk of a sandbox that lives. It outlives hold: what stands still
//! must be let go again, whoever dies.

use super::failpoint;
use super::standstill::Standstill;
use crate::cgroup::Group;
use crate::disk::{Blank, IMAGE};
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, path, share, sync};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub struct Copying<'a> {
    pub root: &'a OwnedFd,
    pub image: &'a OwnedFd,
    /// The folder of the layer that the copy is.
    pub place: &'a Path,
    /// Made ahead, to be filled.
    pub blank: Option<&'a Blank>,
    /// Of one that is to stand still; one that is paused does so already.
    pub group: Option<&'a Group>,
    pub is_paused: bool,
}

impl Copying<'_> {
    pub fn start(&self) -> io::Result<OwnedFd> {
        match process::clone_into(0)? {
            Clone::Parent { pidfd, .. } => Ok(pidfd),
            Clone::Child => {
                let blank = self.blank.map(|blank| blank.file().as_raw_fd());
                let kept = [Some(self.root.as_raw_fd()), Some(self.image.as_raw_fd()), blank];
                let mut kept: Vec<_> = kept.into_iter().flatten().collect();
                let copied =
                    descriptor::close_all_except(&mut kept).and_then(|()| self.carry_out());
                process::exit_now(i32::from(copied.is_err()))
            }
        }
    }

    fn carry_out(&self) -> io::Result<()> {
        let made;
        let copy = match self.blank {
            Some(blank) => {
                blank.settle(self.place)?;
                blank.file()
            }
            None => {
                let mut options = File::options();
                options.write(true).create_new(true).mode(0o600);
                made = options.open(self.place.join(IMAGE))?;
                &made
            }
        };
        // Most of it, while nobody waits.
        self.write_out()?;
        sync::data(self.image.as_fd())?;
        if self.is_paused {
            return self.write_out().and_then(|()| self.copy_to(copy.as_fd()));
        }
        let still = self.group.map(|group| Standstill::of(group, self.place)).transpose()?;
        match still.flatten() {
            Some(still) => {
                failpoint::reached("still");
                let copied = self.write_out().and_then(|()| self.copy_to(copy.as_fd()));
                let was_still = still.end()?;
                copied?;
                was_still.then_some(()).ok_or_else(|| io::Error::other("it went on"))
            }
            None => self.copy_stopped(copy.as_fd()),
        }
    }

    /// All of what its processes wrote, from the kernel's memory to the disk's file.
    fn write_out(&self) -> io::Result<()> {
        sync::filesystem(self.root.as_fd())
    }

    fn copy_to(&self, copy: BorrowedFd) -> io::Result<()> {
        share::blocks(self.image.as_fd(), copy)
    }

    /// Where its processes cannot be stopped, its filesystem is.
    fn copy_stopped(&self, copy: BorrowedFd) -> io::Result<()> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let root = path::open(self.root.as_fd(), ".", flags, 0, 0)?;
        share::freeze(root.as_fd())?;
        let copied = self.copy_to(copy);
        share::thaw(root.as_fd())?;
        copied
    }
}
