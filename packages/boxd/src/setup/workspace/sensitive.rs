//! Folders that no sandbox is given by accident: by what they are, not by what they are called.

use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::workspace::Sensitive;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

type Identity = (u64, u64);

/// Why this folder must not be shown, if there is a reason. Names and mounts can make one folder
/// look like another, so folders are compared by device and inode, all the way up.
pub fn objection(folder: BorrowedFd, wanted: &Sensitive) -> io::Result<Option<String>> {
    let line = ancestry(folder)?;
    let own = line[0];
    for path in &wanted.forbidden {
        let place = Place::of(Path::new(path))?;
        if place.line.contains(&own) {
            return Ok(Some(format!("is or holds {path}")));
        }
        if place.is_there && line.contains(&place.line[0]) {
            return Ok(Some(format!("is part of {path}")));
        }
    }
    for path in &wanted.too_wide {
        if Place::of(Path::new(path))?.line.contains(&own) {
            return Ok(Some(format!("is or holds {path}")));
        }
    }
    Ok(None)
}

struct Place {
    /// From it, or from the deepest folder above it that there is, up to the root.
    line: Vec<Identity>,
    is_there: bool,
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        let mut candidate = path;
        loop {
            match path::open(HERE, candidate, libc::O_PATH, 0, NO_MAGIC) {
                Ok(found) => {
                    return Ok(Place { line: line_of(found)?, is_there: candidate == path });
                }
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => {}
                Err(error) => return Err(error),
            }
            candidate = candidate.parent().unwrap_or(Path::new("/"));
        }
    }
}

/// Of a file, such as a socket: the file and the folders above its own name.
fn line_of(found: OwnedFd) -> io::Result<Vec<Identity>> {
    let facts = path::stat(found.as_fd(), "")?;
    if facts.st_mode & libc::S_IFMT == libc::S_IFDIR {
        return ancestry(found.as_fd());
    }
    let name = path::read_link(HERE, Path::new(&*path::through(found.as_fd()).to_string_lossy()))?;
    let mut line = vec![(facts.st_dev, facts.st_ino)];
    if let Some(parent) = Path::new(&name).parent() {
        line.extend(ancestry(path::open_directory(HERE, parent, NO_MAGIC)?.as_fd())?);
    }
    Ok(line)
}

fn above(folder: &OwnedFd) -> io::Result<OwnedFd> {
    let name = path::read_link(HERE, Path::new(&*path::through(folder.as_fd()).to_string_lossy()))?;
    let parent = Path::new(&name).parent().unwrap_or(Path::new("/"));
    path::open_directory(HERE, parent, NO_MAGIC)
}

/// The folder itself first, the root last.
fn ancestry(folder: BorrowedFd) -> io::Result<Vec<Identity>> {
    let mut current = folder.try_clone_to_owned()?;
    let mut line = Vec::new();
    loop {
        let found = path::stat(current.as_fd(), "")?;
        let identity = (found.st_dev, found.st_ino);
        if line.last() == Some(&identity) {
            return Ok(line);
        }
        line.push(identity);
        current = match path::open_directory(current.as_fd(), "..", 0) {
            // Who may not enter a folder still sees where it is.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => above(&current)?,
            outcome => outcome?,
        };
    }
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
