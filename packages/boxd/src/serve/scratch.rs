//! A buffer for bytes that are between a read and where they belong.

use crate::wire::MOST_DATA;

/// Most programs say little; a buffer for those who say much is made when one does.
const SMALL: usize = 4 * 1024;

#[derive(Default)]
pub struct Scratch {
    bytes: Vec<u8>,
}

impl Scratch {
    /// Room for up to `most` bytes, and for fewer as long as fewer come at a time.
    pub fn room(&mut self, most: usize) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SMALL];
        }
        let length = most.min(self.bytes.len());
        &mut self.bytes[..length]
    }

    /// Tells how much came at once, so that the next room is large enough.
    pub fn used(&mut self, count: usize) -> &[u8] {
        if count == self.bytes.len() && count < MOST_DATA {
            self.bytes.resize(MOST_DATA, 0);
        }
        &self.bytes[..count]
    }

    /// Nobody is in a hurry: a large buffer is not needed.
    pub fn rest(&mut self) {
        if self.bytes.len() > SMALL {
            self.bytes = Vec::new();
        }
    }
}
