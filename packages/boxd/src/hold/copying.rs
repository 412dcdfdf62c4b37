//! The process that copies the disk of a sandbox that lives. It outlives hold: what stands still
//! must be let go again, whoever dies. Where blocks are shared that takes a moment; elsewhere it
//! writes for as long as the copy is wanted, and what stands still waits for memory rather than
//! for the medium, to which the copy is brought afterwards.

use super::standstill::Standstill;
use super::{failpoint, layers};
use crate::cgroup::Group;
use crate::disk::{Blank, IMAGE, duplicate};
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, filesystem, path, poll, share, sync, trim};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// What it says at its end where the copy found no room.
pub const NO_ROOM: i32 = 2;
/// What lies unused is not copied, but for pieces that cost more to give back than to write.
const SHORTEST_UNUSED: u64 = 1 << 20;
/// As `stat` counts blocks.
const BLOCK: u64 = 512;

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
    /// The store shares blocks.
    pub shares_blocks: bool,
    /// It is to survive a machine that fails.
    pub is_kept: bool,
    /// For as long as the other end of this is open.
    pub wish: &'a OwnedFd,
}

impl Copying<'_> {
    pub fn start(&self) -> io::Result<OwnedFd> {
        match process::clone_into(0)? {
            Clone::Parent { pidfd, .. } => Ok(pidfd),
            Clone::Child => {
                let blank = self.blank.map(|blank| blank.file().as_raw_fd());
                let kept = [self.root, self.image, self.wish].map(AsRawFd::as_raw_fd);
                let mut kept: Vec<_> = kept.into_iter().chain(blank).collect();
                let copied =
                    descriptor::close_all_except(&mut kept).and_then(|()| self.carry_out());
                process::exit_now(copied.map_or_else(|error| code_of(&error), |()| 0))
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
        match self.shares_blocks {
            true => sync::data(self.image.as_fd())?,
            false => self.find_room(copy)?,
        }
        self.copy_at_one_moment(copy)?;
        if self.is_kept {
            copy.sync_all()?;
            layers::bring_to_medium(self.place)?;
        }
        Ok(())
    }

    fn copy_at_one_moment(&self, copy: &File) -> io::Result<()> {
        if self.is_paused {
            return self.write_out().and_then(|()| self.copy_to(copy));
        }
        let still = self.group.map(|group| Standstill::of(group, self.place)).transpose()?;
        match still.flatten() {
            Some(still) => {
                failpoint::reached("still");
                let copied = self.write_out().and_then(|()| self.copy_to(copy));
                let was_still = still.end()?;
                copied?;
                was_still.then_some(()).ok_or_else(|| io::Error::other("it went on"))
            }
            None => self.copy_stopped(copy),
        }
    }

    /// For what the disk uses, before anybody stands still for it.
    fn find_room(&self, copy: &File) -> io::Result<()> {
        // Without it more is copied, and that is all.
        let _ = trim::stretches(self.root.as_fd(), SHORTEST_UNUSED);
        let needed = self.image()?.metadata()?.blocks() * BLOCK;
        match needed > filesystem::room(copy.as_fd())?.free_bytes {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn image(&self) -> io::Result<File> {
        self.image.try_clone().map(File::from)
    }

    fn check_wish(&self) -> io::Result<()> {
        match poll::first_readable(&[self.wish.as_fd()], Duration::ZERO)? {
            Some(_) => Err(io::Error::other("nobody wants it any more")),
            None => Ok(()),
        }
    }

    /// All of what its processes wrote, from the kernel's memory to the disk's file.
    fn write_out(&self) -> io::Result<()> {
        sync::filesystem(self.root.as_fd())
    }

    fn copy_to(&self, copy: &File) -> io::Result<()> {
        match self.shares_blocks {
            true => share::blocks(self.image.as_fd(), copy.as_fd()),
            false => duplicate(&self.image()?, copy, || self.check_wish()),
        }
    }

    /// Where its processes cannot be stopped, its filesystem is.
    fn copy_stopped(&self, copy: &File) -> io::Result<()> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let root = path::open(self.root.as_fd(), ".", flags, 0, 0)?;
        share::freeze(root.as_fd())?;
        let copied = self.copy_to(copy);
        share::thaw(root.as_fd())?;
        copied
    }
}

fn code_of(error: &io::Error) -> i32 {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => NO_ROOM,
        _ => 1,
    }
}
