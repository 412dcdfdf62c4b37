//! What all tunnels carry their bytes in, and where from.

use super::ports::Ports;
use super::shares::Shares;
use crate::sys::splice::Pipe;

/// The most that one turn of a tunnel moves, so that each gets its turn.
pub const MOST_AT_ONCE: usize = 256 * 1024;
/// The same where the kernel moves by itself: that takes a tenth of a copy, and each turn costs two waits.
pub const MOST_UNREAD_AT_ONCE: usize = 1024 * 1024;
/// An idle tunnel has no pipe; so many wait for whoever has bytes.
const SPARE_PIPES: usize = 16;

pub struct Vessels {
    /// For bytes that the guard reads, or that came before it was known where they go.
    pub buffer: Vec<u8>,
    pub ports: Ports,
    pub shares: Shares,
    pipes: Vec<Pipe>,
}

impl Vessels {
    pub fn new() -> Vessels {
        let ports = Ports::of_this_machine();
        Vessels {
            buffer: vec![0; MOST_AT_ONCE],
            ports,
            shares: Shares::default(),
            pipes: Vec::new(),
        }
    }

    /// None where there are no more: the buffer carries too.
    pub fn take_pipe(&mut self) -> Option<Pipe> {
        self.pipes.pop().or_else(|| Pipe::new(MOST_UNREAD_AT_ONCE).ok())
    }

    /// One with bytes in it is of no use to anybody else.
    pub fn give_back(&mut self, pipe: Pipe) {
        if pipe.is_empty() && self.pipes.len() < SPARE_PIPES {
            self.pipes.push(pipe);
        }
    }
}
