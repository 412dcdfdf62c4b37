//! A `user` for places that were made without one, as most container images are.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::chown;
use std::path::Path;

const ID: u32 = 1000;
const HOME: &str = "/home/user";

/// Leaves a place alone that has a `user` or somebody else with the id.
pub fn ensure_user() -> io::Result<()> {
    let id = ID.to_string();
    if has_entry(Path::new("/etc/passwd"), &id)? {
        return Ok(());
    }
    fs::create_dir_all("/etc")?;
    add(Path::new("/etc/passwd"), &format!("user:x:{ID}:{ID}:user:{HOME}:/bin/sh"))?;
    if !has_entry(Path::new("/etc/group"), &id)? {
        add(Path::new("/etc/group"), &format!("user:x:{ID}:"))?;
    }
    fs::create_dir_all(HOME)?;
    chown(HOME, Some(ID), Some(ID))
}

fn has_entry(path: &Path, id: &str) -> io::Result<bool> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().any(|line| {
            let mut fields = line.split(':');
            fields.next() == Some("user") || fields.nth(1) == Some(id)
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// On a line of its own, also behind a file whose last line has no end.
fn add(path: &Path, line: &str) -> io::Result<()> {
    let text = fs::read(path).unwrap_or_default();
    let glue = if text.last().is_none_or(|&byte| byte == b'\n') { "" } else { "\n" };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{glue}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_name_or_id() {
        let path = std::env::temp_dir().join(format!("boxd-passwd-{}", std::process::id()));
        fs::write(&path, "root:x:0:0::/root:/bin/sh").unwrap();
        assert!(!has_entry(&path, "1000").unwrap());
        add(&path, "node:x:1000:1000::/home/node:/bin/sh").unwrap();
        assert!(has_entry(&path, "1000").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        fs::remove_file(&path).unwrap();
        assert!(!has_entry(&path, "1000").unwrap());
    }
}
