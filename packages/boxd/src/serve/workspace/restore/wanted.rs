//! What is to be at a path, and where it comes from.

use crate::serve::workspace::points::state::{Entry, Thing};
use crate::serve::workspace::side::{Kind, Side};

/// What is to be at a path.
pub enum Wanted<'a> {
    Nothing,
    Kept(&'a Entry),
    Host(Side),
}

impl Wanted<'_> {
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Wanted::Nothing => None,
            Wanted::Host(host) => Some(host.kind),
            Wanted::Kept(entry) => match entry.thing {
                Thing::File => Some(Kind::File),
                Thing::Directory | Thing::Opaque => Some(Kind::Directory),
                Thing::Link => Some(Kind::Link),
                Thing::Other => Some(Kind::Other),
                Thing::Gone => None,
            },
        }
    }
}

/// Where a file's content comes from.
pub enum Source {
    Host(Side),
    Kept { copy: u64, mode: u32, mtime_ns: i64 },
}

impl Source {
    pub fn mode(&self) -> u32 {
        match self {
            Source::Host(host) => host.mode(),
            Source::Kept { mode, .. } => *mode,
        }
    }
}
