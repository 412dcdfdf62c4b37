//! The one client.

use crate::wire::inbound::Inbound;
use crate::wire::outbound::Outbound;
use std::os::fd::OwnedFd;

pub struct Connection {
    pub reader: OwnedFd,
    /// A descriptor of its own, so that waiting to write is apart from waiting to read.
    pub writer: OwnedFd,
    pub inbound: Inbound,
    pub outbound: Outbound,
    /// Streams count up; a number at or below this one has been used.
    pub last_stream: u32,
    pub is_reading: bool,
    pub is_writing: bool,
}

impl Connection {
    pub fn new(reader: OwnedFd, writer: OwnedFd, arrived: &[u8]) -> Connection {
        Connection {
            reader,
            writer,
            inbound: Inbound::starting_with(arrived),
            outbound: Outbound::default(),
            last_stream: 0,
            is_reading: false,
            is_writing: false,
        }
    }
}
