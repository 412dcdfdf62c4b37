//! Clearing away what sandboxes leave, in the background and last in line.

use super::folder::Folder;
use super::{failpoint, log};
use crate::sys::descriptor;
use crate::sys::process::{self, Clone};
use crate::tree::listing::next_names;
use crate::tree::removal::Removal;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Gathers a few before a remover is started, and stays out of the way of the next create.
const DELAY: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Trash {
    count: u64,
    due: Option<Instant>,
    remover: Option<OwnedFd>,
    /// Who closes one last waits until the kernel has unmounted it.
    disks: Vec<OwnedFd>,
}

impl Trash {
    /// Moves a sandbox's folder out of sight; from then on it does not exist.
    pub fn take(&mut self, folder: &Folder, from: &Path) {
        let outcome = loop {
            self.count += 1;
            let grave = format!("{}-{}", std::process::id(), self.count);
            match fs::rename(from, folder.trash().join(grave)) {
                // An earlier hold had our pid, and died before its trash was empty.
                Err(error) if is_taken(&error) => {}
                outcome => break outcome,
            }
        };
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::note(format_args!("cannot clear {}: {error}", from.display()));
            }
            _ => {}
        }
        self.wake();
    }

    pub fn unmount(&mut self, disk: Option<OwnedFd>) {
        if disk.is_some() {
            self.wake();
        }
        self.disks.extend(disk);
    }

    /// There may be something to remove.
    pub fn wake(&mut self) {
        self.due.get_or_insert(Instant::now() + DELAY);
    }

    pub fn due(&self) -> Option<Instant> {
        if self.remover.is_some() { None } else { self.due }
    }

    /// Starts the remover if it is time, and returns what to watch for its end.
    pub fn start_when_due(&mut self, folder: &Folder) -> io::Result<Option<BorrowedFd<'_>>> {
        if self.due().is_none_or(|due| due > Instant::now()) {
            return Ok(None);
        }
        self.due = None;
        match process::clone_into(0)? {
            Clone::Child => empty_and_exit(&folder.trash(), &self.disks),
            Clone::Parent { pidfd, .. } => {
                self.disks.clear();
                failpoint::reached("swept");
                self.remover = Some(pidfd);
                Ok(self.remover.as_ref().map(|pidfd| pidfd.as_fd()))
            }
        }
    }

    pub fn remover_is_done(&mut self) {
        if let Some(pidfd) = self.remover.take() {
            process::reap_pidfd(pidfd);
        }
    }
}

pub fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

/// The disks are closed by the exit, after hold has closed its own.
fn empty_and_exit(trash: &Path, disks: &[OwnedFd]) -> ! {
    let mut kept: Vec<i32> = disks.iter().map(AsRawFd::as_raw_fd).collect();
    // Before standing back: hold's lock is among these, and its successor must not wait for us.
    let closed = descriptor::close_all_except(&mut kept);
    process::be_last_in_line();
    let outcome = closed.and_then(|()| empty(trash));
    if let Err(error) = &outcome {
        log::note(format_args!("cannot empty the trash: {error}"));
    }
    process::exit_now(i32::from(outcome.is_err()))
}

fn empty(trash: &Path) -> io::Result<()> {
    let directory = OwnedFd::from(File::open(trash)?);
    while let Some(names) = next_names(directory.as_fd())? {
        for name in names {
            let outcome = Removal::of_directory(directory.try_clone()?, &name.name, true);
            // What resists is tried again by the next remover, and does not hold up the rest.
            if let Err(error) = outcome.and_then(finish) {
                log::note(format_args!("cannot remove {}: {error}", name.name.display()));
            }
        }
    }
    Ok(())
}

fn finish(mut removal: Removal) -> io::Result<()> {
    while !removal.step(usize::MAX)? {}
    Ok(())
}
