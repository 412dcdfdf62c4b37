//! A `user` for places that were made without one, as most container images are, and a root for
//! those that name nobody.
//!
//! The files are the image's, which may have put anything in their place: nothing but a plain file
//! is read or written, and no magic link followed.

use crate::sys::path::{self, HERE, NO_MAGIC};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const ID: u32 = 1000;
const HOME: &str = "/home/user";
const MOST_BYTES: u64 = 1024 * 1024;

const ROOT: &str = "root:x:0:0:root:/root:/bin/sh";

/// Leaves those alone that are there, under their name or with their id. `has_ids`: the place has
/// more ids than one, so that there is a root, and the home can be given to its user.
pub fn ensure_user(has_ids: bool) -> io::Result<()> {
    let passwd = Path::new("/etc/passwd");
    if has_ids {
        ensure_entry(passwd, "root", 0, ROOT)?;
        ensure_entry(Path::new("/etc/group"), "root", 0, "root:x:0:")?;
    }
    if !ensure_entry(passwd, "user", ID, &format!("user:x:{ID}:{ID}:user:{HOME}:/bin/sh"))? {
        return Ok(());
    }
    ensure_entry(Path::new("/etc/group"), "user", ID, &format!("user:x:{ID}:"))?;
    make_directory(Path::new("/"), "home")?;
    make_directory(Path::new("/home"), "user")?;
    let home = open_directory(Path::new(HOME))?;
    if has_ids { path::set_owner(home.as_fd(), "", ID) } else { Ok(()) }
}

/// Whether it had to be added.
fn ensure_entry(path: &Path, name: &str, id: u32, line: &str) -> io::Result<bool> {
    let text = read(path)?;
    if has_entry(&text, name, &id.to_string()) {
        return Ok(false);
    }
    make_directory(Path::new("/"), "etc")?;
    add(path, &text, line)?;
    Ok(true)
}

fn has_entry(text: &str, name: &str, id: &str) -> bool {
    text.lines().any(|line| {
        let mut fields = line.split(':');
        fields.next() == Some(name) || fields.nth(1) == Some(id)
    })
}

/// Of a file that is not there, nothing.
fn read(path: &Path) -> io::Result<String> {
    let file = match path::open(HERE, path, libc::O_RDONLY, 0, NO_MAGIC) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        file => plain(File::from(file?))?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// On a line of its own, also behind a file whose last line has no end.
fn add(path: &Path, text: &str, line: &str) -> io::Result<()> {
    let glue = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND;
    let mut file = plain(File::from(path::open(HERE, path, flags, 0o644, NO_MAGIC)?))?;
    file.write_all(format!("{glue}{line}\n").as_bytes())
}

fn plain(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// To be read: in gVisor nothing can be made from a descriptor that is but a place.
fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    path::open(HERE, path, libc::O_RDONLY | libc::O_DIRECTORY, 0, NO_MAGIC)
}

fn make_directory(parent: &Path, name: &str) -> io::Result<()> {
    let parent = open_directory(parent)?;
    match path::make_directory(parent.as_fd(), name, 0o755) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_name_or_id() {
        let path = std::env::temp_dir().join(format!("boxd-passwd-{}", std::process::id()));
        std::fs::write(&path, "root:x:0:0::/root:/bin/sh").unwrap();
        let text = read(&path).unwrap();
        assert!(!has_entry(&text, "user", "1000"));
        add(&path, &text, "node:x:1000:1000::/home/node:/bin/sh").unwrap();
        let text = read(&path).unwrap();
        assert!(has_entry(&text, "user", "1000"));
        assert_eq!(text.lines().count(), 2);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap(), "");
        assert!(read(Path::new("/dev/null")).is_err(), "only plain files are read");
    }
}
