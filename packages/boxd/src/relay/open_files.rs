//! What one process of a sandbox has open.

use crate::sys::path;
use crate::tree::listing;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub struct OpenFiles {
    process: OsString,
    directory: OwnedFd,
    /// Those that are listed and not looked at yet.
    numbers: Vec<OsString>,
    pub is_listed: bool,
    /// The sockets among them that are looked for.
    pub held: BTreeSet<u32>,
}

impl OpenFiles {
    pub fn of(processes: BorrowedFd, process: OsString) -> io::Result<OpenFiles> {
        let mut name = process.clone();
        name.push("/fd");
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let directory = path::open(processes, name, flags, 0, 0)?;
        let (numbers, held) = (Vec::new(), BTreeSet::new());
        Ok(OpenFiles { process, directory, numbers, is_listed: false, held })
    }

    /// As many as fit into so many bytes, and how many these were.
    pub fn list_some(&mut self, room: usize) -> usize {
        // Of a process that has ended meanwhile nothing more is to be heard.
        let names = listing::names_within(self.directory.as_fd(), room).ok().flatten();
        self.is_listed = names.is_none();
        let before = self.numbers.len();
        self.numbers.extend(names.into_iter().flatten().map(|one| one.name));
        self.numbers.len() - before
    }

    /// The last that is left; false when none is.
    pub fn look_at_one(&mut self, is_wanted: impl FnOnce(u32) -> bool) -> bool {
        let Some(number) = self.numbers.pop() else {
            return false;
        };
        // Long enough for the name of a socket; nothing else is of interest.
        let mut link = [0; 32];
        let length = path::read_link_into(self.directory.as_fd(), number, &mut link).unwrap_or(0);
        if let Some(inode) = socket_inode(&link[..length])
            && is_wanted(inode)
        {
            self.held.insert(inode);
        }
        true
    }

    pub fn program(&self, processes: BorrowedFd) -> io::Result<OsString> {
        let mut name = self.process.clone();
        name.push("/exe");
        path::read_link(processes, name)
    }
}

/// Of `socket:[123]`.
fn socket_inode(link: &[u8]) -> Option<u32> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::socket_inode;

    #[test]
    fn only_the_whole_name_of_a_socket_is_one() {
        assert_eq!(socket_inode(b"socket:[4294967295]"), Some(u32::MAX));
        for other in [&b"socket:[4294967296]"[..], b"socket:[12", b"pipe:[12]", b"/socket:[1]", b""]
        {
            assert_eq!(socket_inode(other), None);
        }
    }
}
