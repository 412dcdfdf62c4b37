//! Frames that wait to be written.

use super::failure::Failure;
use super::frame::{self, Kind};
use crate::sys::descriptor;
use serde_json::Value;
use std::io;
use std::os::fd::AsFd;

/// Above this many waiting bytes, nobody adds what can wait.
const FULL: usize = 256 * 1024;

#[derive(Default)]
pub struct Outbound {
    bytes: Vec<u8>,
    start: usize,
}

impl Outbound {
    pub fn json(&mut self, kind: Kind, stream: u32, value: &Value) {
        frame::put(&mut self.bytes, kind, stream, value.to_string().as_bytes());
    }

    pub fn end(&mut self, stream: u32, result: &Value) {
        self.json(Kind::End, stream, result);
    }

    pub fn fail(&mut self, stream: u32, failure: &Failure) {
        self.json(Kind::Fail, stream, &failure.to_json());
    }

    /// A DATA frame from the pieces of a ring.
    pub fn data(&mut self, stream: u32, channel: u8, pieces: [&[u8]; 2]) {
        let length = 1 + pieces[0].len() + pieces[1].len();
        frame::put_header(&mut self.bytes, Kind::Data, stream, length);
        self.bytes.push(channel);
        self.bytes.extend_from_slice(pieces[0]);
        self.bytes.extend_from_slice(pieces[1]);
    }

    /// A DATA frame of what lies at `offset` of a file, `most` bytes of it or less; none where
    /// nothing does. Returns how much that is.
    pub fn data_at(
        &mut self,
        stream: u32,
        channel: u8,
        file: impl AsFd,
        offset: u64,
        most: usize,
    ) -> io::Result<usize> {
        let begin = self.bytes.len();
        frame::put_header(&mut self.bytes, Kind::Data, stream, 0);
        self.bytes.push(channel);
        let count = descriptor::append_from(file, offset, most, &mut self.bytes);
        match count {
            Ok(1..) => frame::put_length(&mut self.bytes[begin..]),
            _ => self.bytes.truncate(begin),
        }
        count
    }

    pub fn eof(&mut self, stream: u32, channel: u8) {
        frame::put(&mut self.bytes, Kind::Eof, stream, &[channel]);
    }

    pub fn window(&mut self, stream: u32, credit: u32) {
        frame::put(&mut self.bytes, Kind::Window, stream, &credit.to_be_bytes());
    }

    pub fn pong(&mut self, echo: [u8; 8]) {
        frame::put(&mut self.bytes, Kind::Pong, 0, &echo);
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() - self.start >= FULL
    }

    /// Writes as much as the peer takes now.
    pub fn flush(&mut self, to: impl AsFd) -> io::Result<()> {
        while self.start < self.bytes.len() {
            match descriptor::write(to.as_fd(), &self.bytes[self.start..]) {
                Ok(count) => self.start += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.forget_written();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.forget_written();
        Ok(())
    }

    fn forget_written(&mut self) {
        self.bytes.drain(..self.start);
        self.start = 0;
    }

    /// Gives back what only a busy connection needs.
    pub fn rest(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }
}
