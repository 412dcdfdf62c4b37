//! The clients. Each has streams of its own; what they start belongs to the sandbox.

use super::stream::StreamId;
use crate::sys::unix_socket;
use crate::wire::inbound::Inbound;
use crate::wire::outbound::Outbound;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// How many clients there can be. One more, and somebody goes.
pub const MOST: usize = 16;
/// What may be on its way to a client: enough that it finds the next when it has read the last.
const MOST_UNDER_WAY: i32 = 512 * 1024;
/// Numbers of connections fit into a token beside a stream's.
const MOST_NUMBER: u32 = 0x00ff_ffff;

pub struct Connection {
    pub reader: OwnedFd,
    /// A descriptor of its own, so that waiting to write is apart from waiting to read.
    pub writer: OwnedFd,
    pub inbound: Inbound,
    pub outbound: Outbound,
    /// Streams count up; a number at or below this one has been used.
    pub last_stream: u32,
    pub last_heard: Instant,
    pub is_reading: bool,
    pub is_writing: bool,
}

impl Connection {
    pub fn new(reader: OwnedFd, writer: OwnedFd, arrived: &[u8]) -> Connection {
        // A smaller one carries as well, in more turns; and a pipe is none.
        let _ = unix_socket::hold_more(&writer, MOST_UNDER_WAY);
        Connection {
            reader,
            writer,
            inbound: Inbound::starting_with(arrived),
            outbound: Outbound::default(),
            last_stream: 0,
            last_heard: Instant::now(),
            is_reading: false,
            is_writing: false,
        }
    }
}

#[derive(Default)]
pub struct Connections {
    live: BTreeMap<u32, Connection>,
    last_number: u32,
}

impl Connections {
    pub fn insert(&mut self, connection: Connection) {
        loop {
            self.last_number = (self.last_number + 1) & MOST_NUMBER;
            if !self.live.contains_key(&self.last_number) {
                break;
            }
        }
        self.live.insert(self.last_number, connection);
    }

    pub fn remove(&mut self, number: u32) -> Option<Connection> {
        self.live.remove(&number)
    }

    pub fn get(&self, number: u32) -> Option<&Connection> {
        self.live.get(&number)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Connection> {
        self.live.get_mut(&number)
    }

    /// Where answers on a stream go, while its client is there.
    pub fn outbound(&mut self, stream: StreamId) -> Option<&mut Outbound> {
        self.live.get_mut(&stream.connection).map(|connection| &mut connection.outbound)
    }

    pub fn numbers(&self) -> Vec<u32> {
        self.live.keys().copied().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.live.iter().map(|(number, connection)| (*number, connection))
    }

    /// While nobody asks for anything, none holds more than it needs.
    pub fn rest(&mut self) {
        for connection in self.live.values_mut() {
            connection.inbound.rest();
            connection.outbound.rest();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Who goes when another comes: an idle one before a busy one, and of those the one that
    /// has been silent longest. Nobody, while there is room.
    pub fn to_leave(&self, is_busy: impl Fn(u32) -> bool) -> Option<u32> {
        if self.live.len() < MOST {
            return None;
        }
        let rank =
            |&(number, connection): &(u32, &Connection)| (is_busy(number), connection.last_heard);
        self.iter().min_by_key(rank).map(|(number, _)| number)
    }
}
