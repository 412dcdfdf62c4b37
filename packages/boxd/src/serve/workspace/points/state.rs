//! What a workspace's layer held at one moment, and how that is written down.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Ends a state that was written as a whole. No path of a workspace begins like this.
const END: &[u8] = b"/end";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thing {
    File,
    Directory,
    /// Nothing that the host's folder has here, or below it, is shown.
    Opaque,
    Link,
    /// What the host's folder has here is gone.
    Gone,
    /// Pipes, sockets and devices: known, and not kept.
    Other,
}

const LETTERS: [(Thing, &str); 6] = [
    (Thing::File, "f"),
    (Thing::Directory, "d"),
    (Thing::Opaque, "o"),
    (Thing::Link, "l"),
    (Thing::Gone, "g"),
    (Thing::Other, "x"),
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub thing: Thing,
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime_ns: i64,
    pub size: u64,
    /// By which a file is known not to have changed: its inode and the kernel's stamp.
    pub inode: u64,
    pub stamp_ns: i64,
    /// False where it was stamped so lately that it may have changed since, unseen.
    pub is_settled: bool,
    /// Of a file: which copy of its content.
    pub copy: u64,
    /// Of a link.
    pub target: Vec<u8>,
}

impl Entry {
    /// Of a file: whether this is still the content that was copied. Of others: whether it is the same.
    pub fn is_same(&self, other: &Entry) -> bool {
        let alike = (self.thing, self.mode, self.owner) == (other.thing, other.mode, other.owner);
        alike
            && match self.thing {
                Thing::File => {
                    let known = |one: &Entry| (one.inode, one.stamp_ns, one.size, one.mtime_ns);
                    known(self) == known(other)
                }
                Thing::Link => self.target == other.target,
                _ => true,
            }
    }
}

/// By path; the folder itself has the empty one.
#[derive(Default)]
pub struct State {
    pub entries: HashMap<PathBuf, Entry>,
}

impl State {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, entry) in &self.entries {
            let letter = LETTERS.iter().find(|(thing, _)| *thing == entry.thing);
            let Entry { mode, owner: (uid, gid), mtime_ns, size, inode, stamp_ns, copy, .. } =
                entry;
            let (letter, settled) = (letter.map_or("x", |(_, it)| it), entry.is_settled as u8);
            let facts = format!(
                "{letter} {mode} {uid} {gid} {mtime_ns} {size} {inode} {stamp_ns} {settled} {copy}"
            );
            for field in [path.as_os_str().as_bytes(), facts.as_bytes(), &entry.target] {
                bytes.extend_from_slice(field);
                bytes.push(0);
            }
        }
        bytes.extend_from_slice(END);
        bytes
    }

    /// One that is cut off is none.
    pub fn of_bytes(bytes: &[u8]) -> io::Result<State> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "a point's state is broken");
        let mut fields = bytes.split(|&byte| byte == 0);
        let mut entries = HashMap::new();
        loop {
            let (path, facts) = (fields.next(), fields.next());
            match (path, facts, fields.next()) {
                (Some(END), None, None) => return Ok(State { entries }),
                (Some(path), Some(facts), Some(target)) => {
                    let entry = parse(facts, target).ok_or_else(broken)?;
                    entries.insert(PathBuf::from(OsStr::from_bytes(path)), entry);
                }
                _ => return Err(broken()),
            }
        }
    }

    /// The names right below each folder that has some.
    pub fn children(&self) -> HashMap<PathBuf, Vec<PathBuf>> {
        let mut children: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
        for path in self.entries.keys() {
            if let Some(parent) = path.parent() {
                children.entry(parent.to_owned()).or_default().push(path.clone());
            }
        }
        children
    }

    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path)
    }
}

fn parse(facts: &[u8], target: &[u8]) -> Option<Entry> {
    let mut facts = std::str::from_utf8(facts).ok()?.split(' ');
    let letter = facts.next()?;
    let entry = Entry {
        thing: LETTERS.iter().find(|(_, it)| *it == letter)?.0,
        mode: facts.next()?.parse().ok()?,
        owner: (facts.next()?.parse().ok()?, facts.next()?.parse().ok()?),
        mtime_ns: facts.next()?.parse().ok()?,
        size: facts.next()?.parse().ok()?,
        inode: facts.next()?.parse().ok()?,
        stamp_ns: facts.next()?.parse().ok()?,
        is_settled: facts.next()? == "1",
        copy: facts.next()?.parse().ok()?,
        target: target.to_vec(),
    };
    facts.next().is_none().then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again_and_what_is_cut_off_is_refused() {
        let entry = |thing, copy, target: &[u8]| Entry {
            thing,
            mode: 0o640,
            owner: (1000, 5),
            mtime_ns: -7,
            size: 3,
            inode: 9,
            stamp_ns: 11,
            is_settled: copy % 2 == 1,
            copy,
            target: target.to_vec(),
        };
        let mut state = State::default();
        state.entries.insert(PathBuf::new(), entry(Thing::Directory, 0, b""));
        state.entries.insert(PathBuf::from("a\nb/c d"), entry(Thing::File, 17, b""));
        state.entries.insert(PathBuf::from("end"), entry(Thing::Gone, 0, b""));
        let odd = PathBuf::from(OsStr::from_bytes(b"\xff\xfe"));
        state.entries.insert(odd, entry(Thing::Link, 0, b"\xffwhere"));
        let bytes = state.to_bytes();
        assert_eq!(State::of_bytes(&bytes).unwrap().entries, state.entries);
        assert!(State::of_bytes(&State::default().to_bytes()).unwrap().entries.is_empty());
        for length in 0..bytes.len() {
            assert!(State::of_bytes(&bytes[..length]).is_err(), "{length}");
        }
        assert_eq!(state.children()[Path::new("")].len(), 2);
    }
}
