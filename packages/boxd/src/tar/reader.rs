//! Reading an archive as its bytes come, however they are cut.

use super::header::{self, Block, Header};
use super::pax::Overrides;
use super::{BLOCK, Entry, Kind, Malformed, padding};

/// Names and records are held in memory; honest ones are far shorter.
const MOST_RECORD: u64 = 64 * 1024;

/// Takes what an archive holds, in order.
pub trait Sink {
    type Error;
    /// What the sink makes of an archive that is none.
    fn refuse(why: Malformed) -> Self::Error;
    fn entry(&mut self, entry: &Entry) -> Result<(), Self::Error>;
    /// The next bytes of the last entry, if it is a file.
    fn content(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
    fn entry_end(&mut self) -> Result<(), Self::Error>;
}

enum State {
    Header {
        filled: usize,
    },
    /// Bytes that say something about the next header.
    Record {
        kind: u8,
        left: u64,
        pad: usize,
        bytes: Vec<u8>,
    },
    Content {
        left: u64,
        pad: usize,
        is_wanted: bool,
    },
    Padding {
        left: usize,
    },
    Over,
}

pub struct Reader {
    state: State,
    block: Block,
    overrides: Overrides,
}

impl Default for Reader {
    fn default() -> Reader {
        let state = State::Header { filled: 0 };
        Reader { state, block: [0; BLOCK], overrides: Overrides::default() }
    }
}

impl Reader {
    pub fn push<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) -> Result<(), S::Error> {
        while !bytes.is_empty() {
            bytes = self.step(bytes, sink)?;
        }
        Ok(())
    }

    /// Nothing more comes. An archive says itself where it ends.
    pub fn finish(&self) -> Result<(), Malformed> {
        match self.state {
            State::Over => Ok(()),
            _ => Err(Malformed("the archive is cut off")),
        }
    }

    fn step<'a, S: Sink>(&mut self, bytes: &'a [u8], sink: &mut S) -> Result<&'a [u8], S::Error> {
        match &mut self.state {
            // Whatever follows the end is not part of it.
            State::Over => Ok(&[]),
            State::Header { filled } => {
                let count = bytes.len().min(BLOCK - *filled);
                self.block[*filled..*filled + count].copy_from_slice(&bytes[..count]);
                *filled += count;
                if *filled == BLOCK {
                    self.begin(sink)?;
                }
                Ok(&bytes[count..])
            }
            State::Record { kind, left, pad, bytes: record } => {
                let count = (bytes.len() as u64).min(*left) as usize;
                record.extend_from_slice(&bytes[..count]);
                *left -= count as u64;
                if *left == 0 {
                    let (kind, pad, record) = (*kind, *pad, std::mem::take(record));
                    self.state = after(pad);
                    self.take_record(kind, record).map_err(S::refuse)?;
                }
                Ok(&bytes[count..])
            }
            State::Content { left, pad, is_wanted } => {
                let count = (bytes.len() as u64).min(*left) as usize;
                *left -= count as u64;
                let (is_over, pad, is_wanted) = (*left == 0, *pad, *is_wanted);
                if is_over {
                    self.state = after(pad);
                }
                if is_wanted {
                    sink.content(&bytes[..count])?;
                    if is_over {
                        sink.entry_end()?;
                    }
                }
                Ok(&bytes[count..])
            }
            State::Padding { left } => {
                let count = bytes.len().min(*left);
                *left -= count;
                if *left == 0 {
                    self.state = State::Header { filled: 0 };
                }
                Ok(&bytes[count..])
            }
        }
    }

    /// A whole header is there.
    fn begin<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.state = State::Header { filled: 0 };
        if header::is_empty(&self.block) {
            self.state = State::Over;
            return Ok(());
        }
        let header = header::parse(&self.block).map_err(S::refuse)?;
        if let kind @ (b'x' | b'g' | b'L' | b'K') = header.kind {
            if header.size > MOST_RECORD {
                return Err(S::refuse(Malformed("a name is too long")));
            }
            let (left, pad) = (header.size, padding(header.size));
            if left > 0 {
                self.state = State::Record { kind, left, pad, bytes: Vec::new() };
            }
            return Ok(());
        }
        if matches!(header.kind, b'S' | b'M') {
            return Err(S::refuse(Malformed("sparse and split files are not understood")));
        }
        let entry = self.entry(header).map_err(S::refuse)?;
        let (left, pad) = (entry.size, padding(entry.size));
        sink.entry(&entry)?;
        let is_wanted = entry.kind == Kind::File;
        if left > 0 {
            self.state = State::Content { left, pad, is_wanted };
        } else if is_wanted {
            sink.entry_end()?;
        }
        Ok(())
    }

    fn take_record(&mut self, kind: u8, mut record: Vec<u8>) -> Result<(), Malformed> {
        match kind {
            b'x' => return self.overrides.read(&record),
            // One for all that follows would have to be remembered; nothing needs it.
            b'g' => {}
            _ => {
                record.truncate(record.iter().position(|&byte| byte == 0).unwrap_or(record.len()));
                let field = match kind {
                    b'L' => &mut self.overrides.path,
                    _ => &mut self.overrides.target,
                };
                *field = Some(record);
            }
        }
        Ok(())
    }

    fn entry(&mut self, header: Header) -> Result<Entry, Malformed> {
        let instead = std::mem::take(&mut self.overrides);
        let path = instead.path.unwrap_or(header.name);
        let kind = match header.kind {
            // Before there was a type for directories.
            b'0' | 0 | b'7' if path.ends_with(b"/") => Kind::Directory,
            b'0' | 0 | b'7' => Kind::File,
            b'1' => Kind::HardLink,
            b'2' => Kind::SymbolicLink,
            b'5' => Kind::Directory,
            _ => Kind::Other,
        };
        Ok(Entry {
            path,
            target: instead.target.unwrap_or(header.target),
            kind,
            mode: header.mode,
            uid: id(instead.uid.unwrap_or(header.uid))?,
            gid: id(instead.gid.unwrap_or(header.gid))?,
            mtime: instead.mtime.unwrap_or(i64::try_from(header.mtime).unwrap_or(0)),
            size: instead.size.unwrap_or(header.size),
            was_there: instead.was_there,
        })
    }
}

/// A number that is nobody's must not become one that is somebody's.
fn id(number: u64) -> Result<u32, Malformed> {
    match u32::try_from(number) {
        Ok(id) if id != u32::MAX => Ok(id),
        _ => Err(Malformed("an owner is nobody")),
    }
}

fn after(pad: usize) -> State {
    match pad {
        0 => State::Header { filled: 0 },
        left => State::Padding { left },
    }
}
