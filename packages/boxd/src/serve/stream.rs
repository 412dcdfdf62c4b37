//! One operation under way.

use super::dial::Dial;
use super::files::copy::Copying;
use super::files::list::Listing;
use super::files::pack::Packing;
use super::files::read::Reading;
use super::files::remove::Removing;
use super::files::share::Sharing;
use super::files::unpack::Unpacking;
use super::files::watch::Watching;
use super::files::write::Writing;
use super::workspace::changes::Changes;
use super::workspace::layer::Layer;
use super::workspace::pointing::Pointing;
use super::workspace::tally::Tally;
use crate::wire::FIRST_CREDIT;

/// A stream among those of every client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamId {
    pub connection: u32,
    pub number: u32,
}

/// What goes straight to a file may be on its way in such an amount: it waits nowhere here.
const WIDE: u64 = 1 << 20;

pub struct Stream {
    /// How many bytes we may still send.
    pub credit: u64,
    /// How many bytes the client may still send.
    pub allowance: u64,
    owed: u32,
    /// Credit is returned in lumps, not byte by byte.
    lump: u32,
    pub work: Work,
}

pub enum Work {
    /// Follows the output of a process and feeds its input.
    Attached {
        process: u32,
    },
    Read(Reading),
    Write(Writing),
    List(Listing),
    Remove(Removing),
    Share(Sharing),
    Move(Copying),
    Pack(Packing),
    Unpack(Unpacking),
    Watch(Watching),
    Changes(Changes),
    Layer(Layer),
    /// Waits for the workspace to be what it was. That goes on without it, too.
    Rollback,
    /// Runs a program as soon as there is a way back to before it.
    Point(Box<Pointing>),
    Tally(Box<Tally>),
    Dial(Dial),
}

impl Stream {
    pub fn new(work: Work) -> Stream {
        let lump = (FIRST_CREDIT / 2) as u32;
        Stream { credit: FIRST_CREDIT, allowance: FIRST_CREDIT, owed: 0, lump, work }
    }

    /// The credit to give the client at once, beyond what it begins with.
    pub fn widen(&mut self) -> Option<u32> {
        if !matches!(self.work, Work::Write(_) | Work::Unpack(_)) {
            return None;
        }
        let more = WIDE - self.allowance;
        (self.allowance, self.lump) = (WIDE, (WIDE / 2) as u32);
        Some(more as u32)
    }

    /// False when the client sends more than it may.
    pub fn spend_allowance(&mut self, length: usize) -> bool {
        match self.allowance.checked_sub(length as u64) {
            Some(rest) => {
                self.allowance = rest;
                true
            }
            None => false,
        }
    }

    /// Bytes of the client's are out of the way. Returns the credit to give it now.
    pub fn digested(&mut self, length: usize) -> Option<u32> {
        self.owed = self.owed.saturating_add(length as u32);
        if self.owed < self.lump {
            return None;
        }
        let credit = std::mem::take(&mut self.owed);
        self.allowance += u64::from(credit);
        Some(credit)
    }
}

/// What advancing a stream has come to.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum Progress {
    /// It has more to do at once.
    More,
    /// It waits: for credit, for a process, for the client.
    Waiting,
    Over,
}
