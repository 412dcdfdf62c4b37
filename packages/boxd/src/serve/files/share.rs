//! A tree for several writers: what the group of its user may read, the group may write, and what
//! comes to be in it inherits that, whatever mask its maker has. What is private stays private.
//!
//! This is done with this server's own rights, in a tree that everybody inside can change: each
//! entry is pinned before it is judged, and only what belongs to the group's people is touched.

use super::place;
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC, PLAIN, SAME_FILESYSTEM};
use crate::sys::xattr;
use crate::tree::listing::{Name, next_names};
use crate::wire::failure::{Code, Failure};
use crate::wire::outbound::Outbound;
use serde_json::json;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const SLICE: usize = 256;
/// Deeper than this is left as it is, so that no tree can use up the descriptors.
const DEEPEST: usize = 64;
/// Users that were made for attachments; those below are the image's own.
const LODGERS: std::ops::Range<u32> = 20_000..60_000;

const GROUP_READS: u32 = 0o040;
const GROUP_WRITES: u32 = 0o020;
const GROUP_ENTERS: u32 = 0o010;
const GROUP_STAYS: u32 = libc::S_ISGID;
const SET_IDS: u32 = libc::S_ISUID | libc::S_ISGID;

const INHERITED: &std::ffi::CStr = c"system.posix_acl_default";
/// Version 2, then tag, permissions and no id for owner, group and others: `rwxrwxr-x`.
const RULES: [u8; 28] = [
    2, 0, 0, 0, // version
    0x01, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, // owner
    0x04, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, // group
    0x20, 0, 5, 0, 0xff, 0xff, 0xff, 0xff, // others
];

struct Level {
    directory: OwnedFd,
    names: Vec<Name>,
}

pub struct Sharing {
    path: String,
    owner: u32,
    group: u32,
    levels: Vec<Level>,
    opened: u64,
}

impl Sharing {
    pub fn begin(path: &str, user: User, identity: Identity) -> Result<Begun, Failure> {
        if !matches!(identity, Identity::Any { .. }) {
            return Err(Failure::new(Code::NoSuchUser, "this sandbox has a single user"));
        }
        let path = place::absolute(path, &user)?;
        let failed = |error| Failure::about_path(&path, &error);
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let directory = path::open(HERE, &path, flags, 0, NO_MAGIC).map_err(failed)?;
        let (owner, group) = (user.uid, user.gid);
        let levels = Vec::new();
        let mut sharing = Sharing { path: path.clone(), owner, group, levels, opened: 0 };
        sharing.open_up(directory).map_err(failed)?;
        Ok(Begun::Working(Work::Share(sharing)))
    }

    pub fn advance(&mut self, stream: u32, out: &mut Outbound) -> Progress {
        match self.step() {
            Ok(false) => return Progress::More,
            Ok(true) => out.end(stream, &json!({ "opened": self.opened })),
            Err(error) => out.fail(stream, &Failure::about_path(&self.path, &error)),
        }
        Progress::Over
    }

    /// True when all has been looked at.
    fn step(&mut self) -> io::Result<bool> {
        for _ in 0..SLICE {
            let Some(level) = self.levels.last_mut() else {
                return Ok(true);
            };
            let Some(Name { name, .. }) = level.names.pop() else {
                if let Some(more) = next_names(level.directory.as_fd())? {
                    level.names = more;
                } else {
                    self.levels.pop();
                }
                continue;
            };
            let flags = libc::O_PATH | libc::O_NOFOLLOW;
            let resolve = PLAIN | SAME_FILESYSTEM;
            // What was taken away meanwhile, or leads elsewhere, is not for us.
            let Ok(entry) = path::open(level.directory.as_fd(), &name, flags, 0, resolve) else {
                continue;
            };
            self.open_up(entry)?;
        }
        Ok(self.levels.is_empty())
    }

    fn open_up(&mut self, entry: OwnedFd) -> io::Result<()> {
        let found = path::stat(entry.as_fd(), "")?;
        let mode = found.st_mode & 0o7777;
        let is_ours = found.st_gid == self.group
            && (found.st_uid == self.owner || LODGERS.contains(&found.st_uid));
        if !is_ours || mode & GROUP_READS == 0 {
            return Ok(());
        }
        match found.st_mode & libc::S_IFMT {
            libc::S_IFREG if mode & SET_IDS == 0 => self.set(entry.as_fd(), mode, GROUP_WRITES),
            libc::S_IFDIR => {
                self.set(entry.as_fd(), mode, GROUP_WRITES | GROUP_ENTERS | GROUP_STAYS)?;
                xattr::set(entry.as_fd(), INHERITED, &RULES)?;
                if self.levels.len() < DEEPEST {
                    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
                    let directory = path::open(entry.as_fd(), ".", flags, 0, 0)?;
                    self.levels.push(Level { directory, names: Vec::new() });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, entry: BorrowedFd, mode: u32, more: u32) -> io::Result<()> {
        if mode | more == mode {
            return Ok(());
        }
        self.opened += 1;
        path::set_mode_through(entry, mode | more)
    }
}
