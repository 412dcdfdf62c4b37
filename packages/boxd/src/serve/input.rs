//! Bytes on their way into a process or a socket.

use super::stream::StreamId;
use crate::sys::descriptor;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

/// Waits in order until the other side takes it. Bounded by the credit that clients are given.
#[derive(Default)]
pub struct Input {
    pub target: Option<OwnedFd>,
    pub is_watched: bool,
    queue: VecDeque<(StreamId, Vec<u8>)>,
    /// How much of the first piece has been taken.
    taken: usize,
    is_ending: bool,
    is_broken: bool,
}

/// Bytes of a stream that are out of the way: (stream, count).
pub type Digested = Vec<(StreamId, usize)>;

impl Input {
    pub fn to(target: OwnedFd) -> Input {
        Input { target: Some(target), ..Input::default() }
    }

    /// Sends `bytes` of `stream` as far as possible at once.
    pub fn push(&mut self, stream: StreamId, bytes: &[u8]) -> Digested {
        if self.target.is_none() || self.is_ending || self.is_broken {
            // Nobody reads any more; like a shell, the writer is not told.
            return vec![(stream, bytes.len())];
        }
        self.queue.push_back((stream, bytes.to_vec()));
        self.advance()
    }

    /// Nothing comes after what is queued.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// Nobody is left to read what is queued.
    pub fn give_up(&mut self) -> Digested {
        self.is_broken = true;
        self.taken = 0;
        self.queue.drain(..).map(|(stream, piece)| (stream, piece.len())).collect()
    }

    pub fn is_waiting(&self) -> bool {
        self.target.is_some() && !self.queue.is_empty()
    }

    /// True once everything is delivered and no more comes.
    pub fn is_finished(&self) -> bool {
        self.is_broken || (self.is_ending && self.queue.is_empty())
    }

    /// Delivers what the other side takes.
    pub fn advance(&mut self) -> Digested {
        let mut digested = Vec::new();
        while let (Some(target), Some((stream, piece))) = (&self.target, self.queue.front()) {
            match descriptor::write(target, &piece[self.taken..]) {
                Ok(count) => {
                    self.taken += count;
                    if self.taken == piece.len() {
                        digested.push((*stream, piece.len()));
                        self.queue.pop_front();
                        self.taken = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    digested.extend(self.give_up());
                    break;
                }
            }
        }
        digested
    }
}
