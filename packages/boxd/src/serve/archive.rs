//! An archive on its way out: what is made of it waits here until the reader has room.

use super::stream::Progress;
use crate::tar::{Entry, writer};
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::fs::File;
use std::io::Read;

#[derive(Default)]
pub struct Archive {
    ready: Vec<u8>,
    file: Option<Content>,
    pub entries: u64,
    /// What an archive of this kind cannot hold.
    pub skipped: u64,
    is_written: bool,
}

struct Content {
    file: File,
    size: u64,
    left: u64,
}

impl Archive {
    /// Whether there is less than one frame's worth of it, and more to come.
    pub fn has_room(&self) -> bool {
        self.ready.len() < MOST_DATA && !self.is_written
    }

    /// An entry whose content, as much as it announces, is that of the file.
    pub fn begin(&mut self, entry: &Entry, file: Option<File>) {
        writer::begin(&mut self.ready, entry);
        let size = entry.size;
        self.file = file.filter(|_| size > 0).map(|file| Content { file, size, left: size });
    }

    /// Nothing follows.
    pub fn finish(&mut self) {
        writer::end(&mut self.ready);
        self.is_written = true;
    }

    /// Some of the content of the last entry; false where there is no more of it. As many bytes
    /// as were announced: what is missing by now is zeros, what is more is left.
    pub fn read_content(&mut self) -> bool {
        let Some(content) = &mut self.file else {
            return false;
        };
        let want = content.left.min(MOST_DATA as u64) as usize;
        let start = self.ready.len();
        let read = content.file.by_ref().take(want as u64).read_to_end(&mut self.ready);
        if !matches!(read, Ok(1..)) {
            self.ready.resize(start + want, 0);
        }
        content.left -= (self.ready.len() - start) as u64;
        if content.left == 0 {
            writer::pad(&mut self.ready, content.size);
            self.file = None;
        }
        true
    }

    /// As much as the reader has room for.
    pub fn send(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        let most = self.ready.len().min((*credit).min(MOST_DATA as u64) as usize);
        if most > 0 {
            out.data(stream, STDOUT, [&self.ready[..most], &[]]);
            *credit -= most as u64;
            self.ready.drain(..most);
        }
        if self.ready.is_empty() && self.is_written {
            out.eof(stream, STDOUT);
            out.end(stream, &json!({"entries": self.entries, "skipped": self.skipped}));
            return Progress::Over;
        }
        if *credit == 0 { Progress::Waiting } else { Progress::More }
    }
}
