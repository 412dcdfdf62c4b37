//! Removing a tree, a slice at a time: no link is followed, no other filesystem entered, and
//! no depth is too deep, because only the current directory is open.

use super::listing::{Name, next_names};
use crate::sys::path::{self, PLAIN, SAME_FILESYSTEM};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

struct Level {
    /// The name of this directory in the one above.
    name: OsString,
    /// Which directory the one above is, to know it again on the way up.
    above: (u64, u64),
    /// Directories in it that are still to be removed.
    pending: Vec<OsString>,
}

pub struct Removal {
    current: OwnedFd,
    levels: Vec<Level>,
    /// Take back the modes that a tree's owner may have set against us.
    force: bool,
}

impl Removal {
    /// Of the directory `name` in `parent`, and everything below.
    pub fn of_directory(parent: OwnedFd, name: &OsStr, force: bool) -> io::Result<Removal> {
        let mut removal = Removal { current: parent, levels: Vec::new(), force };
        removal.descend(name.to_owned())?;
        Ok(removal)
    }

    /// Removes about `budget` entries. True when the whole tree is gone.
    pub fn step(&mut self, budget: usize) -> io::Result<bool> {
        let mut done = 0;
        while done < budget {
            let Some(level) = self.levels.last_mut() else {
                return Ok(true);
            };
            if let Some(name) = level.pending.pop() {
                self.descend(name)?;
                continue;
            }
            // Everything listed before is gone, so the listing is always read from its start.
            let here =
                path::open(self.current.as_fd(), ".", libc::O_RDONLY | libc::O_DIRECTORY, 0, 0)?;
            match next_names(here.as_fd())? {
                Some(names) if !names.is_empty() => done += self.clear(names)?,
                _ => {
                    self.ascend()?;
                    done += 1;
                }
            }
        }
        Ok(self.levels.is_empty())
    }

    /// Removes the files among `names` and remembers the directories.
    fn clear(&mut self, names: Vec<Name>) -> io::Result<usize> {
        let mut removed = 0;
        let mut pending = Vec::new();
        for Name { name, is_directory, is_certain } in names {
            let is_directory = if is_certain {
                is_directory
            } else {
                path::stat(self.current.as_fd(), &name)?.st_mode & libc::S_IFMT == libc::S_IFDIR
            };
            if is_directory {
                pending.push(name);
            } else {
                tolerate_absence(path::unlink(self.current.as_fd(), &name))?;
                removed += 1;
            }
        }
        if let Some(level) = self.levels.last_mut() {
            level.pending = pending;
        }
        Ok(removed)
    }

    fn descend(&mut self, name: OsString) -> io::Result<()> {
        let above = path::stat(self.current.as_fd(), "")?;
        if self.force {
            let found = path::stat(self.current.as_fd(), &name)?;
            if found.st_mode & libc::S_IFMT == libc::S_IFDIR && found.st_mode & 0o700 != 0o700 {
                path::set_mode_at(self.current.as_fd(), &name, 0o700)?;
            }
        }
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let below = path::open(self.current.as_fd(), &name, flags, 0, PLAIN | SAME_FILESYSTEM)?;
        self.current = below;
        let above = (above.st_dev, above.st_ino);
        self.levels.push(Level { name, above, pending: Vec::new() });
        Ok(())
    }

    fn ascend(&mut self) -> io::Result<()> {
        let Some(level) = self.levels.pop() else {
            return Ok(());
        };
        let above = path::open_directory(self.current.as_fd(), "..", 0)?;
        let found = path::stat(above.as_fd(), "")?;
        if (found.st_dev, found.st_ino) != level.above {
            // Somebody moved the tree while it was being removed.
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        self.current = above;
        tolerate_absence(path::remove_directory(self.current.as_fd(), &level.name))
    }
}

/// Somebody else may remove the same things; what matters is that they are gone.
fn tolerate_absence(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_deep_tree_goes_and_what_links_point_at_stays() {
        let base = std::env::temp_dir().join(format!("boxd-removal-{}", std::process::id()));
        let precious = base.join("precious");
        fs::create_dir_all(&precious).unwrap();
        fs::write(precious.join("kept"), "kept").unwrap();
        let mut deep = base.join("tree");
        for _ in 0..300 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        symlink(&precious, deep.join("link")).unwrap();
        // Deeper than any path is long (RL-10).
        for _ in 0..16 {
            let mut above = base.join("above");
            above.extend(["d"; 300]);
            fs::create_dir_all(&above).unwrap();
            fs::rename(base.join("tree"), above.join("d")).unwrap();
            fs::rename(base.join("above"), base.join("tree")).unwrap();
        }
        for number in 0..2_000 {
            fs::write(base.join(format!("tree/file-{number}")), "").unwrap();
        }
        let parent = OwnedFd::from(File::open(&base).unwrap());
        let mut removal = Removal::of_directory(parent, OsStr::new("tree"), true).unwrap();
        let mut slices = 1;
        while !removal.step(100).unwrap() {
            slices += 1;
        }
        assert!(slices > 1, "one slice did it all");
        assert!(!base.join("tree").exists());
        assert_eq!(fs::read_to_string(precious.join("kept")).unwrap(), "kept");
        fs::remove_dir_all(&base).unwrap();
    }
}
