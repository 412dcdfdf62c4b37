//! Folders that no sandbox is given by accident: by what they are, not by what they are called.

use super::lineage::{Identity, Lineage};
use crate::sys::path::{self, HERE, NO_MAGIC, NO_SYMLINKS};
use crate::sys::spot;
use crate::wire::workspace::Sensitive;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::rc::Rc;

/// Why this folder must not be shown, if there is a reason. Names and mounts can make one folder
/// look like another, so folders are compared by device and inode, all the way up.
pub fn objection(folder: BorrowedFd, wanted: &Sensitive) -> io::Result<Option<String>> {
    let mut places = Places::default();
    let line = places.lineage.of(folder)?;
    let own = line[0];
    for path in &wanted.forbidden {
        let place = places.find(Path::new(path))?;
        if place.line.contains(&own) {
            return Ok(Some(format!("is or holds {path}")));
        }
        if place.is_there && line.contains(&place.line[0]) {
            return Ok(Some(format!("is part of {path}")));
        }
    }
    for path in &wanted.too_wide {
        if places.find(Path::new(path))?.line.contains(&own) {
            return Ok(Some(format!("is or holds {path}")));
        }
    }
    Ok(None)
}

#[derive(Clone)]
struct Place {
    /// From it, or from the deepest folder above it that there is, up to the root.
    line: Rc<[Identity]>,
    is_there: bool,
}

/// Of one judgement: most places share the folders above them, and a create waits for this.
#[derive(Default)]
struct Places<'a> {
    known: HashMap<&'a Path, Place>,
    lineage: Lineage,
}

impl<'a> Places<'a> {
    fn find(&mut self, path: &'a Path) -> io::Result<Place> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let place = match path::open(HERE, path, libc::O_PATH, 0, NO_MAGIC | NO_SYMLINKS) {
            // Without a link on the way, what is above it is what its name says.
            Ok(found) if !has_steps_back(path) => {
                let own = spot::of(found.as_fd())?.identity;
                let above = path.parent().map(|above| self.find(above)).transpose()?;
                let above = above.iter().flat_map(|above| above.line.iter().copied());
                Place { line: [own].into_iter().chain(above).collect(), is_there: true }
            }
            Ok(found) => Place { line: self.line_of(found)?.into(), is_there: true },
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => self.follow(path)?,
            Err(error) => self.above(path, error)?,
        };
        self.known.insert(path, place.clone());
        Ok(place)
    }

    fn follow(&mut self, path: &'a Path) -> io::Result<Place> {
        match path::open(HERE, path, libc::O_PATH, 0, NO_MAGIC) {
            Ok(found) => Ok(Place { line: self.line_of(found)?.into(), is_there: true }),
            Err(error) => self.above(path, error),
        }
    }

    /// It is not there, or not to be seen.
    fn above(&mut self, path: &'a Path, error: io::Error) -> io::Result<Place> {
        match (error.raw_os_error(), path.parent()) {
            (Some(libc::EACCES | libc::ENOENT | libc::ENOTDIR), Some(above)) => {
                Ok(Place { is_there: false, ..self.find(above)? })
            }
            _ => Err(error),
        }
    }

    /// Of a file, such as a socket: the file and the folders above its own name.
    fn line_of(&mut self, found: OwnedFd) -> io::Result<Vec<Identity>> {
        let facts = path::stat(found.as_fd(), "")?;
        if facts.st_mode & libc::S_IFMT == libc::S_IFDIR {
            return self.lineage.of(found.as_fd());
        }
        let link = path::through(found.as_fd());
        let name = path::read_link(HERE, Path::new(&*link.to_string_lossy()))?;
        let mut line = vec![(facts.st_dev, facts.st_ino)];
        if let Some(parent) = Path::new(&name).parent() {
            let parent = path::open_directory(HERE, parent, NO_MAGIC)?;
            line.extend(self.lineage.of(parent.as_fd())?);
        }
        Ok(line)
    }
}

fn has_steps_back(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_sensitive_is_known_under_every_name() {
        let base = std::env::temp_dir().join(format!("boxd-sensitive-{}", std::process::id()));
        fs::create_dir_all(base.join("home/secret/deep")).unwrap();
        fs::create_dir_all(base.join("home/project")).unwrap();
        symlink(base.join("home/secret"), base.join("alias")).unwrap();
        let text = |name: &str| base.join(name).to_string_lossy().into_owned();
        let objects = |source: &str, forbidden: &str, too_wide: &str| {
            let wanted =
                Sensitive { forbidden: vec![text(forbidden)], too_wide: vec![text(too_wide)] };
            let folder = File::open(base.join(source)).unwrap();
            objection(folder.as_fd(), &wanted).unwrap().is_some()
        };
        for (source, forbidden) in [
            ("home/secret", "home/secret"),
            ("home/secret/deep", "home/secret"),
            ("home", "home/secret"),
            ("alias", "home/secret"),
            ("alias/deep", "home/secret"),
            ("home/secret", "alias"),
            ("home", "home/secret/not/there/yet"),
            ("home", "home/not-there"),
            ("home/secret", "home/project/../secret"),
            ("home", "home/project/../secret"),
            ("home", "alias/not-there"),
            ("home/secret", "alias/deep"),
        ] {
            assert!(objects(source, forbidden, "nowhere"), "{source} {forbidden}");
        }
        for (source, forbidden) in [
            ("home/project", "home/secret"),
            ("home/secret/deep", "home/secret/other"),
            ("home/project", "home/project-2"),
        ] {
            assert!(!objects(source, forbidden, "home"), "{source} {forbidden}");
        }
        assert!(objects("home", "home/x/y", "home"));
        fs::remove_dir_all(&base).unwrap();
    }
}
