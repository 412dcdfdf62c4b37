//! Hearing of changes to directories.

use super::path::through;
use super::{checked, checked_fd, descriptor};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

const BUFFER: usize = 32 * 1024;
/// Where the parts of an inotify_event are.
const MASK_AT: usize = 4;
const LENGTH_AT: usize = 12;
const NAME_AT: usize = 16;

const WANTED: u32 = libc::IN_CREATE
    | libc::IN_DELETE
    | libc::IN_MODIFY
    | libc::IN_ATTRIB
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DELETE_SELF
    | libc::IN_ONLYDIR;

pub struct Inotify(OwnedFd);

pub struct Notice {
    pub watch: i32,
    pub mask: u32,
    pub name: OsString,
}

impl Notice {
    pub fn is(&self, flags: u32) -> bool {
        self.mask & flags != 0
    }
}

impl Inotify {
    pub fn new() -> io::Result<Inotify> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) };
        Ok(Inotify(checked_fd(fd)?))
    }

    pub fn add(&self, directory: BorrowedFd) -> io::Result<i32> {
        let path = through(directory);
        // SAFETY: the path is NUL-terminated.
        let watch = unsafe { libc::inotify_add_watch(self.0.as_raw_fd(), path.as_ptr(), WANTED) };
        Ok(checked(watch)? as i32)
    }

    pub fn remove(&self, watch: i32) {
        // SAFETY: takes no pointers; one that is gone needs no removal.
        unsafe { libc::inotify_rm_watch(self.0.as_raw_fd(), watch) };
    }

    /// What has happened since; nothing when nothing has.
    pub fn notices(&self) -> io::Result<Vec<Notice>> {
        let mut buffer = vec![0u8; BUFFER];
        match descriptor::read(&self.0, &mut buffer) {
            Ok(length) => Ok(parse(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn parse(mut bytes: &[u8]) -> Vec<Notice> {
    let mut notices = Vec::new();
    while bytes.len() >= NAME_AT {
        let number = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let end = (NAME_AT + number(LENGTH_AT) as usize).min(bytes.len());
        let name = bytes[NAME_AT..end].split(|&byte| byte == 0).next().unwrap_or_default();
        notices.push(Notice {
            watch: number(0) as i32,
            mask: number(MASK_AT),
            name: OsString::from_vec(name.to_vec()),
        });
        bytes = &bytes[end..];
    }
    notices
}
