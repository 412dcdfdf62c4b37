//! Bytes that arrived and are not yet frames.

use super::frame::{self, Frame, Malformed};
use crate::sys::descriptor;
use std::io;
use std::os::fd::AsFd;

/// What most requests fit in; an idle connection holds no more.
const SMALL: usize = 8 * 1024;
/// How much one read takes at most; more waits its turn behind other streams. All that a peer's
/// socket holds: only then does the peer fill it again while we work on this.
const SLICE: usize = 256 * 1024;

#[derive(Default)]
pub struct Inbound {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the last frame began: none is as long as this can count.
    last: u32,
    hungry: bool,
}

impl Inbound {
    /// Starts with bytes that somebody else has read already.
    pub fn starting_with(bytes: &[u8]) -> Inbound {
        Inbound { bytes: bytes.to_vec(), start: 0, end: bytes.len(), last: 0, hungry: false }
    }

    /// Reads once. `Ok(0)` is the end of the stream.
    pub fn fill(&mut self, from: impl AsFd) -> io::Result<usize> {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end, self.last) = (0, self.end - self.start, 0);
        let room = if self.hungry { SLICE } else { SMALL };
        if self.bytes.len() < self.end + room {
            self.bytes.resize(self.end + room, 0);
        }
        let most = self.bytes.len().min(self.end + SLICE);
        let count = descriptor::read(from, &mut self.bytes[self.end..most])?;
        self.end += count;
        self.hungry = self.end == most;
        Ok(count)
    }

    /// Gives back what only a busy connection needs.
    pub fn rest(&mut self) {
        if self.start == self.end && self.bytes.len() > SMALL {
            *self = Inbound::default();
        }
    }

    /// The next whole frame, if it has arrived.
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        let Some((frame, length)) = frame::decode(&self.bytes[self.start..self.end])? else {
            return Ok(None);
        };
        (self.last, self.start) = (self.start as u32, self.start + length);
        Ok(Some(frame))
    }

    /// Whether `next` has something to say.
    pub fn has_frame(&self) -> bool {
        !matches!(frame::is_whole(self.behind()), Ok(false))
    }

    /// The frame that `next` gave last, and what has arrived behind it.
    pub fn last_and_rest(&self) -> &[u8] {
        &self.bytes[self.last as usize..self.end]
    }

    /// What has arrived behind the last frame.
    pub fn behind(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }
}
