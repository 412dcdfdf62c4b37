//! What serve waits for, as numbers that the kernel hands back.

use super::stream::StreamId;

/// What an event is about.
pub enum Source {
    Listener,
    Signals,
    Reader {
        connection: u32,
    },
    Writer {
        connection: u32,
    },
    Output {
        process: u32,
        channel: usize,
    },
    Input {
        process: u32,
    },
    Dial(StreamId),
    Watch(StreamId),
    /// A pipe that a process left to others.
    Leftover(u32),
    /// Names are asked for, and nobody has borrowed the way out.
    Resolver,
    /// Somebody comes to run something as somebody else.
    Callers,
    Caller(u32),
}

/// A token is a kind, a connection and a number, from the highest bits to the lowest.
const KIND_SHIFT: u32 = 56;
const CONNECTION_SHIFT: u32 = 32;
const CONNECTION_MASK: u64 = 0x00ff_ffff;

impl Source {
    pub fn token(&self) -> u64 {
        let (kind, connection, number) = match *self {
            Source::Listener => (0, 0, 0),
            Source::Signals => (1, 0, 0),
            Source::Reader { connection } => (2, connection, 0),
            Source::Writer { connection } => (3, connection, 0),
            Source::Output { process, channel } => (4 + channel as u64, 0, process),
            Source::Input { process } => (6, 0, process),
            Source::Dial(StreamId { connection, number }) => (7, connection, number),
            Source::Leftover(number) => (8, 0, number),
            Source::Watch(StreamId { connection, number }) => (9, connection, number),
            Source::Callers => (10, 0, 0),
            Source::Caller(number) => (11, 0, number),
            Source::Resolver => (12, 0, 0),
        };
        kind << KIND_SHIFT | u64::from(connection) << CONNECTION_SHIFT | u64::from(number)
    }

    pub fn of(token: u64) -> Source {
        let connection = (token >> CONNECTION_SHIFT & CONNECTION_MASK) as u32;
        let number = token as u32;
        match token >> KIND_SHIFT {
            0 => Source::Listener,
            1 => Source::Signals,
            2 => Source::Reader { connection },
            3 => Source::Writer { connection },
            4 => Source::Output { process: number, channel: 0 },
            5 => Source::Output { process: number, channel: 1 },
            6 => Source::Input { process: number },
            7 => Source::Dial(StreamId { connection, number }),
            8 => Source::Leftover(number),
            10 => Source::Callers,
            11 => Source::Caller(number),
            12 => Source::Resolver,
            _ => Source::Watch(StreamId { connection, number }),
        }
    }
}
