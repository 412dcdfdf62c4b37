//! One of the two things that are compared.

use crate::sys::path::{self, PLAIN};
use crate::sys::{overlay, xattr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    File,
    Directory,
    Link,
    /// Pipes, sockets and devices.
    Other,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Link => "symlink",
            Kind::Other => "other",
        }
    }
}

pub struct Side {
    pub kind: Kind,
    pub found: libc::stat,
    /// Open by its path only.
    handle: OwnedFd,
}

impl Side {
    /// None where there is nothing, or where something that is no folder is in the way.
    pub fn at(base: BorrowedFd, path: &Path) -> io::Result<Option<Side>> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW;
        let handle = match path::open(base, path, flags, 0, PLAIN) {
            Ok(handle) => handle,
            Err(error) => {
                let absent = [libc::ENOENT, libc::ENOTDIR, libc::ELOOP];
                let code = error.raw_os_error().unwrap_or(0);
                return if absent.contains(&code) { Ok(None) } else { Err(error) };
            }
        };
        let found = path::stat(handle.as_fd(), "")?;
        let kind = match found.st_mode & libc::S_IFMT {
            libc::S_IFREG => Kind::File,
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFLNK => Kind::Link,
            _ => Kind::Other,
        };
        Ok(Some(Side { kind, found, handle }))
    }

    pub fn mode(&self) -> u32 {
        self.found.st_mode & 0o7777
    }

    pub fn size(&self) -> u64 {
        self.found.st_size.max(0) as u64
    }

    /// How an overlay says that something of the layer below is gone.
    pub fn is_whiteout(&self) -> bool {
        self.found.st_mode & libc::S_IFMT == libc::S_IFCHR && self.found.st_rdev == 0
    }

    /// Whether an overlay made it as a copy of something below.
    pub fn is_copy(&self) -> bool {
        xattr::is_there(self.handle.as_fd(), c"user.overlay.origin")
    }

    /// Whether it is a folder that stands for itself alone, whatever is below.
    pub fn is_opaque(&self) -> bool {
        overlay::is_opaque(self.handle.as_fd())
    }

    pub fn target(&self) -> io::Result<Vec<u8>> {
        Ok(path::read_link(self.handle.as_fd(), "")?.into_vec())
    }

    /// That very file, whatever has its name by now.
    pub fn open(&self) -> io::Result<File> {
        let name = path::through(self.handle.as_fd());
        let name = name.to_str().map_err(io::Error::other)?;
        Ok(File::from(path::open(path::HERE, name, libc::O_RDONLY, 0, 0)?))
    }

    /// The whole content, unless it is more than `most` bytes.
    pub fn content(&self, most: u64) -> io::Result<Option<Vec<u8>>> {
        if self.kind == Kind::Link {
            return self.target().map(Some);
        }
        if self.size() > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.open()?.take(most + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }
}
