//! The bytes before, between and after the things in an archive.

use super::header::{self, Header, LONGEST_NAME, MOST_SIZE, MOST_SMALL};
use super::{BLOCK, Entry, Kind, padding, pax};

/// Appends all that goes before an entry's content.
pub fn begin(out: &mut Vec<u8>, entry: &Entry) {
    let mut records = Vec::new();
    let mut tell = |is_needed: bool, key: &str, value: &[u8]| {
        if is_needed {
            records.extend(pax::record(key, value));
        }
    };
    let (uid, gid) = (u64::from(entry.uid), u64::from(entry.gid));
    tell(entry.path.len() > LONGEST_NAME, "path", &entry.path);
    tell(entry.target.len() > LONGEST_NAME, "linkpath", &entry.target);
    tell(entry.size > MOST_SIZE, "size", entry.size.to_string().as_bytes());
    tell(uid > MOST_SMALL, "uid", uid.to_string().as_bytes());
    tell(gid > MOST_SMALL, "gid", gid.to_string().as_bytes());
    tell(entry.was_there, &String::from_utf8_lossy(pax::WAS_THERE), b"1");
    let header = |kind: u8, name: &[u8], target: &[u8], size: u64| {
        header::build(&Header {
            name: name.to_vec(),
            target: target.to_vec(),
            kind,
            mode: entry.mode,
            uid,
            gid,
            mtime: u64::try_from(entry.mtime).unwrap_or(0),
            size,
        })
    };
    if !records.is_empty() {
        let size = records.len() as u64;
        out.extend_from_slice(&header(b'x', b"PaxHeader", b"", size));
        out.append(&mut records);
        pad(out, size);
    }
    out.extend_from_slice(&header(kind_of(entry.kind), &entry.path, &entry.target, entry.size));
}

fn kind_of(kind: Kind) -> u8 {
    match kind {
        Kind::Directory => b'5',
        Kind::SymbolicLink => b'2',
        Kind::HardLink => b'1',
        Kind::File | Kind::Other => b'0',
    }
}

/// Fills the last block of a content of this size.
pub fn pad(out: &mut Vec<u8>, size: u64) {
    out.resize(out.len() + padding(size), 0);
}

pub fn end(out: &mut Vec<u8>) {
    out.resize(out.len() + 2 * BLOCK, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar::Malformed;
    use crate::tar::reader::{Reader, Sink};

    #[derive(Default, PartialEq, Debug)]
    struct Seen(Vec<(Entry, Vec<u8>, bool)>);

    impl Sink for Seen {
        type Error = Malformed;
        fn refuse(why: Malformed) -> Malformed {
            why
        }
        fn entry(&mut self, entry: &Entry) -> Result<(), Malformed> {
            self.0.push((entry.clone(), Vec::new(), false));
            Ok(())
        }
        fn content(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
            self.0.last_mut().unwrap().1.extend_from_slice(bytes);
            Ok(())
        }
        fn entry_end(&mut self) -> Result<(), Malformed> {
            self.0.last_mut().unwrap().2 = true;
            Ok(())
        }
    }

    /// An entry, its content, and whether its end was seen.
    type Packed = (Entry, Vec<u8>, bool);

    fn sample() -> (Vec<u8>, Vec<Packed>) {
        let entry = |path: &[u8], kind, size: usize| Entry {
            path: path.to_vec(),
            target: Vec::new(),
            kind,
            mode: 0o640,
            uid: 1000,
            gid: 5_000_000,
            mtime: 1_700_000_000,
            size: size as u64,
            was_there: false,
        };
        let long = [b"d/".repeat(200), "grüße".as_bytes().to_vec()].concat();
        let link = Entry { target: vec![b't'; 300], ..entry(b"link", Kind::SymbolicLink, 0) };
        let wanted = vec![
            (entry(b"a/", Kind::Directory, 0), vec![], false),
            (entry(&long, Kind::File, 700), vec![7; 700], true),
            (entry(b"empty", Kind::File, 0), vec![], true),
            (link, vec![], false),
            (entry(b"block", Kind::File, 512), vec![1; 512], true),
        ];
        let mut archive = Vec::new();
        for (entry, content, _) in &wanted {
            begin(&mut archive, entry);
            archive.extend_from_slice(content);
            pad(&mut archive, entry.size);
        }
        end(&mut archive);
        (archive, wanted)
    }

    #[test]
    fn what_is_written_is_read_however_it_is_cut() {
        let (archive, wanted) = sample();
        assert_eq!(archive.len() % BLOCK, 0);
        for size in [1, 3, 511, 512, 513, 4_000, archive.len()] {
            let (mut reader, mut seen) = (Reader::default(), Seen::default());
            for piece in archive.chunks(size) {
                assert!(reader.push(piece, &mut seen).is_ok());
            }
            assert_eq!(reader.finish(), Ok(()));
            assert_eq!(seen.0, wanted, "pieces of {size}");
        }
    }

    #[test]
    fn every_cut_is_noticed_and_no_flipped_byte_is_fatal() {
        let (archive, _) = sample();
        for length in (0..archive.len() - 2 * BLOCK).step_by(97) {
            let mut reader = Reader::default();
            let _ = reader.push(&archive[..length], &mut Seen::default());
            assert!(reader.finish().is_err(), "cut at {length}");
        }
        for at in 0..archive.len() {
            let mut broken = archive.clone();
            broken[at] ^= 0x55;
            let _ = Reader::default().push(&broken, &mut Seen::default());
        }
    }
}
