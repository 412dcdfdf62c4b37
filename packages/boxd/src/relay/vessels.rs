//! What all tunnels carry their bytes in, and where from.

use super::ports::Ports;
use super::shares::Shares;
use crate::sys::splice::Pipe;
use std::rc::Rc;

/// The most that one turn of a tunnel moves, so that each gets its turn.
pub const MOST_AT_ONCE: usize = 256 * 1024;
/// The same where the kernel moves by itself: that takes a tenth of a copy, and each turn costs two waits.
pub const MOST_UNREAD_AT_ONCE: usize = 1024 * 1024;
/// So many pipes have room for that; the others for as much as a copy moves. The kernel lets a user have
/// 64 MiB of pipes, and those of whoever has more hold next to nothing.
const LARGE_PIPES: usize = 16;
/// An idle tunnel has no pipe; so many wait for whoever has bytes.
const SPARE_PIPES: usize = 16;

pub struct Vessels {
    /// For bytes that the guard reads, or that came before it was known where they go.
    pub buffer: Vec<u8>,
    pub ports: Ports,
    pub shares: Shares,
    pipes: Vec<Pipe>,
    /// One for each large pipe, wherever it is, and ours.
    large: Rc<()>,
}

impl Vessels {
    pub fn new() -> Vessels {
        let ports = Ports::of_this_machine();
        Vessels {
            buffer: vec![0; MOST_AT_ONCE],
            ports,
            shares: Shares::default(),
            pipes: Vec::new(),
            large: Rc::default(),
        }
    }

    /// None where there are no more, or none that would hold much: the buffer carries too.
    pub fn take_pipe(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.pipes.pop() {
            return Some(pipe);
        }
        let is_large = Rc::strong_count(&self.large) <= LARGE_PIPES;
        let mut pipe = Pipe::new(if is_large { MOST_UNREAD_AT_ONCE } else { MOST_AT_ONCE }).ok()?;
        pipe.counted = is_large.then(|| Rc::clone(&self.large));
        (pipe.room >= MOST_AT_ONCE).then_some(pipe)
    }

    /// One with bytes in it is of no use to anybody else.
    pub fn give_back(&mut self, pipe: Pipe) {
        if pipe.is_empty() && self.pipes.len() < SPARE_PIPES {
            self.pipes.push(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pipes_are_large_and_one_that_is_gone_makes_room_for_another() {
        let mut vessels = Vessels::new();
        let mut held: Vec<_> = (0..2 * LARGE_PIPES).filter_map(|_| vessels.take_pipe()).collect();
        let large = |held: &[Pipe]| held.iter().filter(|one| one.counted.is_some()).count();
        assert_eq!((held.len(), large(&held)), (2 * LARGE_PIPES, LARGE_PIPES));
        assert!(held.iter().all(|one| one.room >= MOST_AT_ONCE));
        drop(held.remove(0));
        held.extend(vessels.take_pipe());
        assert_eq!(large(&held), LARGE_PIPES);
    }
}
