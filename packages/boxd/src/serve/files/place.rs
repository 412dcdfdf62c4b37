//! What a path in a request names.

use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::{Code, Failure};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// Relative paths start at the user's home.
pub fn absolute(path: &str, user: &User) -> Result<String, Failure> {
    if path.is_empty() || path.contains('\0') {
        return Err(Failure::invalid(format!("not a path: {path:?}")));
    }
    Ok(match path.starts_with('/') {
        true => path.to_string(),
        false => format!("{}/{path}", user.home.trim_end_matches('/')),
    })
}

/// A name in a directory that is open, so that nothing can be swapped underneath.
pub struct Place {
    pub directory: OwnedFd,
    pub name: OsString,
}

impl Place {
    /// The entry itself, even if it is a link.
    pub fn of(path: &str) -> Result<Place, Failure> {
        let failed = |error| Failure::about_path(path, &error);
        let (parent, name) = split(OsStr::new(path)).ok_or_else(|| no_entry(path))?;
        let directory = path::open_directory(HERE, parent, NO_MAGIC).map_err(failed)?;
        Ok(Place { directory, name: name.to_owned() })
    }

    /// The entry that writing to `path` would change: links are followed, the last one too, and
    /// it need not exist. Links are read as text, so the magic ones of /proc lead nowhere.
    pub fn behind_links(path: &str) -> Result<Place, Failure> {
        let failed = |error| Failure::about_path(path, &error);
        let mut place = Place::of(path)?;
        for _ in 0..MOST_LINKS {
            match path::stat(place.directory.as_fd(), &place.name) {
                Ok(found) if found.st_mode & libc::S_IFMT == libc::S_IFLNK => {
                    let target =
                        path::read_link(place.directory.as_fd(), &place.name).map_err(failed)?;
                    let (parent, name) = split(&target).ok_or_else(|| no_entry(path))?;
                    let directory = path::open_directory(place.directory.as_fd(), parent, NO_MAGIC)
                        .map_err(failed)?;
                    place = Place { directory, name: name.to_owned() };
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => return Ok(place),
            }
        }
        Err(failed(io::Error::from_raw_os_error(libc::ELOOP)))
    }
}

fn no_entry(path: &str) -> Failure {
    Failure::new(Code::IsADirectory, format!("{path}: names no entry of a directory"))
}

/// The directory part and the last name. None where the last part is no name.
fn split(path: &OsStr) -> Option<(OsString, &OsStr)> {
    let bytes = path.as_bytes();
    let end = bytes.iter().rposition(|&byte| byte != b'/')? + 1;
    let start = bytes[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let name = &bytes[start..end];
    if name == b"." || name == b".." {
        return None;
    }
    let parent = match start {
        0 => b".".to_vec(),
        _ => bytes[..start].to_vec(),
    };
    Some((OsString::from_vec(parent), OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_into_directory_and_name() {
        let parts = |path: &'static str| {
            split(OsStr::new(path)).map(|(parent, name)| {
                (parent.into_string().unwrap(), name.to_str().unwrap().to_string())
            })
        };
        let pair = |parent: &str, name: &str| Some((parent.to_string(), name.to_string()));
        assert_eq!(parts("/a/b"), pair("/a/", "b"));
        assert_eq!(parts("/a"), pair("/", "a"));
        assert_eq!(parts("a"), pair(".", "a"));
        assert_eq!(parts("/a/b//"), pair("/a/", "b"));
        assert_eq!(parts("../a"), pair("../", "a"));
        for nameless in ["/", "", "..", "/a/..", "/a/.", "//"] {
            assert_eq!(parts(nameless), None, "{nameless}");
        }
    }
}
