//! One connection to hold.

use crate::wire::inbound::Inbound;
use crate::wire::outbound::Outbound;
use std::io;
use std::os::unix::net::UnixStream;

pub struct Client {
    pub socket: UnixStream,
    pub inbound: Inbound,
    pub outbound: Outbound,
    /// A request is under way; the next one waits, since answers come in order.
    pub is_busy: bool,
}

impl Client {
    pub fn new(socket: UnixStream) -> io::Result<Client> {
        socket.set_nonblocking(true)?;
        let (inbound, outbound) = Default::default();
        Ok(Client { socket, inbound, outbound, is_busy: false })
    }
}
