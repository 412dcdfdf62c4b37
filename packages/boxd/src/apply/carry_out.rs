//! Doing the steps of a plan, and undoing them. Each looks first whether it has been done: after a
//! death all are gone through again.

use super::conflict::Judge;
use super::gather::staged;
use super::host::{self, print};
use super::known::Known;
use super::plan::{Action, Step};
use super::stage::Stage;
use super::{die, host::Thing};
use crate::sys::link;
use crate::sys::path::{self, rename_exchange, rename_if_free};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

pub enum Late {
    /// The host changed this between the plan and now.
    Changed(PathBuf),
    Failed(io::Error),
}

impl From<io::Error> for Late {
    fn from(error: io::Error) -> Late {
        Late::Failed(error)
    }
}

fn removed(number: usize) -> String {
    format!("d{number}")
}

pub fn forward(stage: &Stage, steps: &[Step], owner: (u32, u32)) -> Result<(), Late> {
    let (root, folder) = (stage.root().as_fd(), stage.folder.as_fd());
    for step in steps {
        do_one(root, folder, step, owner)?;
        die::pass();
    }
    Ok(())
}

fn do_one(
    root: BorrowedFd,
    stage: BorrowedFd,
    Step { number, path, action }: &Step,
    (uid, gid): (u32, u32),
) -> Result<(), Late> {
    let changed = || Late::Changed(path.clone());
    let (parent, name) = host::parent(root, path).map_err(|_| changed())?;
    let parent = parent.as_fd();
    match action {
        Action::Remove { print: expected, planned_ns } => {
            let grave = removed(*number);
            if exists(stage, &grave)? {
                return Ok(());
            }
            let there = host::at(root, path)?.ok_or_else(changed)?;
            // A folder's print moves with what is in it; that it is the same one is enough.
            let is_same = match there.is_folder() {
                true => there.print()[0] == expected[0],
                false => there.print() == *expected,
            };
            if !is_same {
                return Err(changed());
            }
            path::rename(parent, name, stage, &grave)?;
            // Nobody can put anything into it under its old name any more.
            let judge = Judge { root: stage, since_ns: *planned_ns, known: &Known::nothing() };
            if there.is_folder() && judge.changed(Path::new(&grave), &there)?.is_some() {
                path::rename(stage, &grave, parent, name)?;
                return Err(changed());
            }
        }
        Action::Folder { mode } => match path::make_directory(parent, name, *mode) {
            Ok(()) => {
                let _ = link::set_owner(parent, name, uid, gid);
                path::set_mode_at(parent, name, *mode)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !host::at(root, path)?.is_some_and(|thing| thing.is_folder()) {
                    return Err(changed());
                }
            }
            Err(error) => return Err(error.into()),
        },
        Action::Put { inode, replaces } => {
            let waiting = staged(*number);
            if inode_of(stage, &waiting)? != Some(*inode) {
                return Ok(());
            }
            match replaces {
                None => rename_if_free(stage, &waiting, parent, name).map_err(|error| {
                    let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
                    if is_taken { changed() } else { error.into() }
                })?,
                Some(expected) => {
                    if host::at(root, path)?.is_none() {
                        return Err(changed());
                    }
                    rename_exchange(stage, &waiting, parent, name)?;
                    // What came out is looked at after the fact, since nobody can write to it by
                    // its old name any more.
                    if print(&path::stat(stage, &waiting)?) != *expected {
                        rename_exchange(stage, &waiting, parent, name)?;
                        return Err(changed());
                    }
                }
            }
        }
        Action::Mode { mode, .. } => {
            set_mode(host::at(root, path)?.ok_or_else(changed)?, *mode)?;
        }
    }
    Ok(())
}

/// What cannot be put back, because the host has something else there now, stays as the host has it.
pub fn back(stage: &Stage, steps: &[Step]) -> io::Result<()> {
    let (root, folder) = (stage.root().as_fd(), stage.folder.as_fd());
    for step in steps.iter().rev() {
        undo_one(root, folder, step)?;
        die::pass();
    }
    Ok(())
}

fn undo_one(root: BorrowedFd, stage: BorrowedFd, step: &Step) -> io::Result<()> {
    let Step { number, path, action } = step;
    let Ok((parent, name)) = host::parent(root, path) else {
        return Ok(());
    };
    let parent = parent.as_fd();
    match action {
        Action::Remove { .. } => {
            if exists(stage, &removed(*number))? {
                put_back(stage, &removed(*number), parent, name)?;
            }
        }
        Action::Folder { .. } => {
            let _ = path::remove_directory(parent, name);
        }
        Action::Put { inode, replaces } => {
            let waiting = staged(*number);
            if inode_of(stage, &waiting)? == Some(*inode) || inode_of(parent, name)? != Some(*inode)
            {
                return Ok(());
            }
            match replaces {
                None => rename_if_free(parent, name, stage, &waiting)?,
                Some(_) => rename_exchange(stage, &waiting, parent, name)?,
            }
        }
        Action::Mode { old, .. } => {
            if let Some(thing) = host::at(root, path)? {
                set_mode(thing, *old)?;
            }
        }
    }
    Ok(())
}

/// Beside its place where the host has something else there by now: nothing of the host's is lost.
fn put_back(stage: BorrowedFd, grave: &str, parent: BorrowedFd, name: &OsStr) -> io::Result<()> {
    match rename_if_free(stage, grave, parent, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut aside = name.to_owned();
            aside.push(".sandboxer-kept");
            rename_if_free(stage, grave, parent, aside)
        }
        outcome => outcome,
    }
}

fn set_mode(thing: Thing, mode: u32) -> io::Result<()> {
    match thing.kind() {
        libc::S_IFLNK => Ok(()),
        _ => path::set_mode_through(thing.handle.as_fd(), mode),
    }
}

fn exists(at: BorrowedFd, name: &str) -> io::Result<bool> {
    inode_of(at, name).map(|inode| inode.is_some())
}

fn inode_of(at: BorrowedFd, name: impl AsRef<Path>) -> io::Result<Option<u64>> {
    match path::stat(at, name) {
        Ok(found) => Ok(Some(found.st_ino)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
