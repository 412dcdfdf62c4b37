//! The folders above a folder.

use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::sys::spot::{self, Spot};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Device and inode.
pub type Identity = (u64, u64);

/// What was above each folder that was looked at, for as long as one judgement takes.
///
/// A folder is known by its mount, too: bound to a second place, one folder has two above it.
#[derive(Default)]
pub struct Lineage {
    above: HashMap<Spot, Spot>,
}

impl Lineage {
    /// The folder itself first, the root last.
    pub fn of(&mut self, folder: BorrowedFd) -> io::Result<Vec<Identity>> {
        let mut current = folder.try_clone_to_owned()?;
        let mut spot = spot::of(current.as_fd())?;
        let mut line = vec![spot.identity];
        loop {
            let above = match self.above.get(&spot) {
                Some(&above) => above,
                None => {
                    // Above what is known all is known, so this way up is never left and taken again.
                    current = open_above(&current)?;
                    let above = spot::of(current.as_fd())?;
                    if spot.mount.is_some() {
                        self.above.insert(spot, above);
                    }
                    above
                }
            };
            if above == spot {
                return Ok(line);
            }
            line.push(above.identity);
            spot = above;
        }
    }
}

fn open_above(folder: &OwnedFd) -> io::Result<OwnedFd> {
    match path::open_directory(folder.as_fd(), "..", 0) {
        // Who may not enter a folder still sees where it is.
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            let link = path::through(folder.as_fd());
            let name = path::read_link(HERE, Path::new(&*link.to_string_lossy()))?;
            let parent = Path::new(&name).parent().unwrap_or(Path::new("/"));
            path::open_directory(HERE, parent, NO_MAGIC)
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn what_is_known_already_leads_to_the_same_root() {
        let base = std::env::temp_dir().join(format!("boxd-lineage-{}", std::process::id()));
        fs::create_dir_all(base.join("a/b/c")).unwrap();
        let open = |name: &str| File::open(base.join(name)).unwrap();
        let mut lineage = Lineage::default();
        let deep = lineage.of(open("a/b/c").as_fd()).unwrap();
        for (name, above) in [("a/b/c", 0), ("a/b", 1), ("a", 2), ("", 3)] {
            let known = lineage.of(open(name).as_fd()).unwrap();
            assert_eq!(known, deep[above..], "{name}");
            assert_eq!(known, Lineage::default().of(open(name).as_fd()).unwrap(), "{name}");
        }
        fs::remove_dir_all(base).unwrap();
    }
}
