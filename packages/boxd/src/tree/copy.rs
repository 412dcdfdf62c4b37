//! Copying a file or a tree, a slice at a time. The copy grows under a draft name and takes its
//! own when it is complete; dropping an incomplete one removes it.

use super::listing::next_names;
use super::removal::Removal;
use crate::sys::link;
use crate::sys::path::{self, PLAIN};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const CHUNK: u64 = 64 * 1024;

pub struct Copy {
    from: OwnedFd,
    to: OwnedFd,
    name: OsString,
    draft: OsString,
    /// What is still to be copied: source below `from`, copy below `to`.
    pending: VecDeque<(PathBuf, PathBuf)>,
    /// Modes of directories, set when nothing more is put into them.
    modes: Vec<(PathBuf, u32)>,
    file: Option<(File, File)>,
    is_complete: bool,
}

impl Copy {
    /// Of `name` in `from`, to become `new_name` in `to`.
    pub fn begin(from: OwnedFd, name: &OsStr, to: OwnedFd, new_name: &OsStr) -> io::Result<Copy> {
        let source = path::stat(from.as_fd(), name)?;
        let is_directory = |found: &libc::stat| found.st_mode & libc::S_IFMT == libc::S_IFDIR;
        match path::stat(to.as_fd(), new_name) {
            Ok(found) if is_directory(&found) && !is_directory(&source) => {
                return Err(io::Error::from_raw_os_error(libc::EISDIR));
            }
            Ok(found) if !is_directory(&found) && is_directory(&source) => {
                return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let draft = draft_of(&source);
        let first = (PathBuf::from(name), PathBuf::from(&draft));
        Ok(Copy {
            from,
            to,
            name: new_name.to_owned(),
            draft,
            pending: VecDeque::from([first]),
            modes: Vec::new(),
            file: None,
            is_complete: false,
        })
    }

    /// Copies about `budget` bytes. True when the copy is complete and has its name.
    pub fn step(&mut self, budget: usize) -> io::Result<bool> {
        let mut done = 0;
        while done < budget {
            if let Some((source, copy)) = &mut self.file {
                let count = io::copy(&mut source.by_ref().take(CHUNK), copy)?;
                done += count.max(1) as usize;
                if count == 0 {
                    self.file = None;
                }
                continue;
            }
            let Some((source, copy)) = self.pending.pop_front() else {
                self.complete()?;
                return Ok(true);
            };
            self.begin_entry(&source, &copy)?;
            done += 1024;
        }
        Ok(false)
    }

    fn begin_entry(&mut self, source: &Path, copy: &Path) -> io::Result<()> {
        let (parent, name) = opened_parent(self.from.as_fd(), source)?;
        let (copy_parent, copy_name) = opened_parent(self.to.as_fd(), copy)?;
        let found = path::stat(parent.as_fd(), name)?;
        match found.st_mode & libc::S_IFMT {
            libc::S_IFDIR => {
                path::make_directory(copy_parent.as_fd(), copy_name, 0o700)?;
                keep_owner(copy_parent.as_fd(), copy_name, &found);
                let flags = libc::O_RDONLY | libc::O_DIRECTORY;
                let directory = path::open(parent.as_fd(), name, flags, 0, PLAIN)?;
                while let Some(names) = next_names(directory.as_fd())? {
                    for entry in names {
                        let below = (source.join(&entry.name), copy.join(&entry.name));
                        self.pending.push_back(below);
                    }
                }
                self.modes.push((copy.to_owned(), found.st_mode & 0o7777));
            }
            libc::S_IFLNK => {
                let target = path::read_link(parent.as_fd(), name)?;
                path::make_symlink(copy_parent.as_fd(), copy_name, target)?;
                keep_owner(copy_parent.as_fd(), copy_name, &found);
            }
            libc::S_IFREG => {
                let file = path::open(parent.as_fd(), name, libc::O_RDONLY, 0, PLAIN)?;
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
                let copy = path::open(copy_parent.as_fd(), copy_name, flags, 0o600, PLAIN)?;
                keep_owner(copy_parent.as_fd(), copy_name, &found);
                path::set_mode(copy.as_fd(), found.st_mode & 0o777)?;
                self.file = Some((File::from(file), File::from(copy)));
            }
            // Sockets, pipes and devices do not survive a move to another filesystem.
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self) -> io::Result<()> {
        for (directory, mode) in self.modes.drain(..).rev() {
            let (parent, name) = opened_parent(self.to.as_fd(), &directory)?;
            path::set_mode_at(parent.as_fd(), name, mode)?;
        }
        path::rename(self.to.as_fd(), &self.draft, self.to.as_fd(), &self.name)?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if self.is_complete || path::unlink(self.to.as_fd(), &self.draft).is_ok() {
            return;
        }
        if let Ok(to) = self.to.try_clone()
            && let Ok(mut removal) = Removal::of_directory(to, &self.draft, true)
        {
            while let Ok(false) = removal.step(usize::MAX) {}
        }
    }
}

/// Under which name a copy of this grows.
pub fn draft_of(source: &libc::stat) -> OsString {
    OsString::from(format!(".boxd-{:x}-{:x}", source.st_ino, source.st_dev))
}

/// Only the sandbox's root may keep another owner.
fn keep_owner(at: BorrowedFd, name: &OsStr, found: &libc::stat) {
    let _ = link::set_owner(at, name, found.st_uid, found.st_gid);
}

/// The directory an entry is in, reached without following a link, and its name.
fn opened_parent<'a>(base: BorrowedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok((path::open_directory(base, parent, PLAIN)?, name))
}
