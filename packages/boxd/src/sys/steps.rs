//! What openat2 does, for kernels that have no such call: gVisor's.

use super::path::{self, HERE};
use super::{c_string, checked_fd};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

const MOST_LINKS: usize = 40;
const DIRECTORY: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;

/// Only where somebody else isolates: on a kernel of its own, hold needs the call itself.
static ALLOWED: AtomicBool = AtomicBool::new(false);

pub fn allow() {
    ALLOWED.store(true, Ordering::Relaxed);
}

pub fn are_allowed() -> bool {
    ALLOWED.load(Ordering::Relaxed)
}

/// Opens the last name after walking to it one name at a time. The kernel follows no link: where one
/// may be followed its text is walked in turn, so a magic link of /proc leads no further than its
/// text, and a link that is put in place of a name meanwhile is an error.
pub fn open(
    from: BorrowedFd,
    path: &Path,
    flags: i32,
    mode: u32,
    resolve: u64,
) -> io::Result<OwnedFd> {
    if resolve & libc::RESOLVE_IN_ROOT != 0 {
        return Err(errno(libc::ENOSYS));
    }
    // A name with a slash behind it is a directory's, and a link there is followed.
    let is_directory = path.as_os_str().as_bytes().ends_with(b"/");
    let flags = if is_directory { flags & !libc::O_NOFOLLOW | libc::O_DIRECTORY } else { flags };
    let mut walk = Walk::begin(from, resolve)?;
    walk.push(path)?;
    while let Some(name) = walk.rest.pop_front() {
        let is_last = walk.rest.is_empty();
        if is_last && name != ".." {
            let is_kept = flags & libc::O_NOFOLLOW != 0
                || flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL;
            if is_kept || !walk.is_link(&name) {
                let opened = at(walk.here.as_fd(), &name, flags | libc::O_NOFOLLOW, mode)?;
                return walk.checked(opened);
            }
        }
        walk.step(&name)?;
    }
    at(walk.here.as_fd(), ".", flags & !libc::O_NOFOLLOW, mode)
}

struct Walk {
    here: OwnedFd,
    rest: VecDeque<OsString>,
    resolve: u64,
    links: usize,
    device: libc::dev_t,
}

impl Walk {
    fn begin(from: BorrowedFd, resolve: u64) -> io::Result<Walk> {
        let here = at(from, ".", libc::O_PATH | libc::O_DIRECTORY, 0)?;
        let device = path::stat(here.as_fd(), "")?.st_dev;
        Ok(Walk { here, rest: VecDeque::new(), resolve, links: 0, device })
    }

    fn forbids(&self, what: u64) -> bool {
        self.resolve & what != 0
    }

    /// Puts a path before what is left to walk.
    fn push(&mut self, path: &Path) -> io::Result<()> {
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => names.push(name.to_owned()),
                Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir | Component::RootDir
                    if self.forbids(libc::RESOLVE_BENEATH) =>
                {
                    return Err(errno(libc::EXDEV));
                }
                Component::ParentDir => names.push("..".into()),
                Component::RootDir => {
                    self.here = at(HERE, "/", libc::O_PATH | libc::O_DIRECTORY, 0)?;
                }
            }
        }
        for name in names.into_iter().rev() {
            self.rest.push_front(name);
        }
        Ok(())
    }

    fn is_link(&self, name: &OsString) -> bool {
        path::stat(self.here.as_fd(), name)
            .is_ok_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFLNK)
    }

    fn step(&mut self, name: &OsString) -> io::Result<()> {
        if name != ".." && self.is_link(name) {
            self.links += 1;
            if self.forbids(libc::RESOLVE_NO_SYMLINKS) || self.links > MOST_LINKS {
                return Err(errno(libc::ELOOP));
            }
            let target = path::read_link(self.here.as_fd(), name)?;
            return self.push(Path::new(&target));
        }
        let below = at(self.here.as_fd(), name, DIRECTORY, 0)?;
        self.here = self.checked(below)?;
        Ok(())
    }

    fn checked(&self, opened: OwnedFd) -> io::Result<OwnedFd> {
        let is_elsewhere =
            || path::stat(opened.as_fd(), "").map(|found| found.st_dev != self.device);
        if self.forbids(libc::RESOLVE_NO_XDEV) && is_elsewhere()? {
            return Err(errno(libc::EXDEV));
        }
        Ok(opened)
    }
}

fn at(from: BorrowedFd, name: impl AsRef<Path>, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let name = c_string(name)?;
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: `name` is NUL-terminated.
    checked_fd(unsafe {
        libc::syscall(libc::SYS_openat, from.as_raw_fd(), name.as_ptr(), flags, mode)
    })
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::path::{NO_MAGIC, PLAIN, SAME_FILESYSTEM};
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Everything is asked of both, and both must say the same: what was opened, or which error.
    #[test]
    fn walking_says_what_openat2_says() {
        let place = std::env::temp_dir().join(format!("boxd-steps-{}", std::process::id()));
        fs::create_dir_all(place.join("a/b")).unwrap();
        fs::write(place.join("a/b/file"), "x").unwrap();
        for (name, target) in [
            ("to-b", "a/b"),
            ("to-file", "to-b/file"),
            ("up", "a/.."),
            ("out", "/etc"),
            ("round", "round"),
            ("nowhere", "missing"),
            ("magic", "/proc/self/cwd"),
        ] {
            symlink(target, place.join(name)).unwrap();
        }
        let base = at(HERE, &place, libc::O_PATH | libc::O_DIRECTORY, 0).unwrap();
        let names = [
            "a",
            "a/b",
            "a/b/file",
            "a/b/file/",
            "a//b/./file",
            "to-b",
            "to-b/file",
            "to-file",
            "up",
            "out",
            "out/hostname",
            "round",
            "nowhere",
            "missing",
            "a/missing/x",
            "a/b/file/x",
            "..",
            "../x",
            "a/../a",
            "/etc",
            "/proc",
            "proc",
            ".",
            "a/b/..",
        ];
        let flags = [
            libc::O_PATH,
            libc::O_PATH | libc::O_NOFOLLOW,
            libc::O_RDONLY,
            libc::O_RDONLY | libc::O_DIRECTORY,
            libc::O_RDONLY | libc::O_NOFOLLOW,
        ];
        for name in names {
            for flags in flags {
                for resolve in
                    [0, NO_MAGIC, PLAIN, PLAIN | SAME_FILESYSTEM, libc::RESOLVE_NO_SYMLINKS]
                {
                    let told = |opened: io::Result<OwnedFd>| {
                        let found = opened.map(|fd| path::stat(fd.as_fd(), "").unwrap());
                        found
                            .map(|found| (found.st_dev, found.st_ino))
                            .map_err(|e| e.raw_os_error())
                    };
                    let wanted = told(path::open(base.as_fd(), name, flags, 0, resolve));
                    let walked = told(open(base.as_fd(), Path::new(name), flags, 0, resolve));
                    // Whether `..` stays below cannot be told while names move, so it is refused.
                    let is_stricter = resolve & libc::RESOLVE_BENEATH != 0 && name.contains("..");
                    if is_stricter && walked == Err(Some(libc::EXDEV)) {
                        continue;
                    }
                    assert_eq!(walked, wanted, "{name} {flags:o} {resolve:x}");
                }
            }
        }
        fs::remove_dir_all(place).unwrap();
    }
}
