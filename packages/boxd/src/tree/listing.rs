//! The names in one directory, a buffer at a time.

use crate::sys::path;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

const BUFFER: usize = 32 * 1024;
/// Where the record length, the type and the name are in a linux_dirent64.
const LENGTH_AT: usize = 16;
const TYPE_AT: usize = 18;
const NAME_AT: usize = 19;

pub struct Name {
    pub name: OsString,
    /// True only when it certainly is one; some filesystems do not tell.
    pub is_directory: bool,
    pub is_certain: bool,
}

/// The next names of an open directory, `.` and `..` left out; None at its end.
pub fn next_names(directory: BorrowedFd) -> io::Result<Option<Vec<Name>>> {
    names_within(directory, BUFFER)
}

/// No more of them than fit into so many bytes.
pub fn names_within(directory: BorrowedFd, room: usize) -> io::Result<Option<Vec<Name>>> {
    let mut buffer = vec![0u8; room];
    let length = path::read_directory(directory, &mut buffer)?;
    Ok((length > 0).then(|| parse(&buffer[..length])))
}

fn parse(mut records: &[u8]) -> Vec<Name> {
    let mut names = Vec::new();
    while let (Some(&low), Some(&high)) = (records.get(LENGTH_AT), records.get(LENGTH_AT + 1)) {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let Some(record) = records.get(..length).filter(|record| record.len() > NAME_AT) else {
            break;
        };
        let name = record[NAME_AT..].split(|&byte| byte == 0).next().unwrap_or_default();
        if name != b"." && name != b".." && !name.is_empty() {
            names.push(Name {
                name: OsStr::from_bytes(name).to_owned(),
                is_directory: record[TYPE_AT] == libc::DT_DIR,
                is_certain: record[TYPE_AT] != libc::DT_UNKNOWN,
            });
        }
        records = &records[length..];
    }
    names
}
