//! How a record comes to lie where it does: whole or not at all.
//!
//! ext4 brings a file to the medium that was emptied or that takes another's place, and whoever
//! writes it next waits for that. Records that mean nothing after a crash of the machine are
//! therefore never emptied, and change places with their drafts.

use crate::sys::path::{self, HERE};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub const NAME: &str = "box.json";
/// What is written here becomes the record at once or not at all.
pub const DRAFT: &str = "box.json.new";

/// Not synced: what must outlive the machine is synced by who puts it away.
pub fn publish(directory: &Path, text: &str, is_kept: bool) -> io::Result<()> {
    let (draft, name) = (directory.join(DRAFT), directory.join(NAME));
    let mut file = open(&draft, is_kept)?;
    file.write_all(text.as_bytes())?;
    if is_kept {
        return fs::rename(draft, name);
    }
    // Looking costs next to nothing, and most drafts are blank.
    if file.metadata()?.len() > text.len() as u64 {
        file.set_len(text.len() as u64)?;
    }
    match path::rename_exchange(HERE, &draft, HERE, &name) {
        // The first has nothing to change places with, and not every file system can do it.
        Err(_) => fs::rename(draft, name),
        exchanged => exchanged,
    }
}

/// A draft that the next record can be written to, with nothing of another's in it.
pub fn make_blank(directory: &Path) -> io::Result<()> {
    let file = open(&directory.join(DRAFT), false)?;
    match file.metadata()?.len() {
        0 | 1 => Ok(()),
        _ => file.set_len(1),
    }
}

/// The record of one that is over becomes a draft again.
pub fn take_back(directory: &Path) -> io::Result<()> {
    let (draft, name) = (directory.join(DRAFT), directory.join(NAME));
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(name, draft)
}

fn open(draft: &Path, emptied: bool) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(emptied).write(true).mode(0o600).open(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_what_was_written_last_however_long_the_one_before() {
        let folder = std::env::temp_dir().join(format!("boxd-draft-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let record = || fs::read_to_string(folder.join(NAME)).unwrap();
        for is_kept in [false, true] {
            for text in ["first", "the second, which is longer", "3"] {
                publish(&folder, text, is_kept).unwrap();
                assert_eq!(record(), text);
            }
        }
        publish(&folder, "beside a draft", false).unwrap();
        take_back(&folder).unwrap();
        make_blank(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(fs::read(folder.join(DRAFT)).unwrap(), b"b");
        publish(&folder, "anew", false).unwrap();
        assert_eq!(record(), "anew");
        fs::remove_dir_all(folder).unwrap();
    }
}
