//! Which port of this machine's a connection to outside comes from. A port is not free for another
//! to the same place until a minute after its connection, and the kernel tries one after the other:
//! where many have just been used, that takes it milliseconds, in which nobody else has a turn.

use crate::sys::{network, random};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// So many next to each other are tried, from a place that nobody can foresee.
const TOGETHER: u16 = 32;
/// And in so many places: where none of these is free, next to none is.
const PLACES: usize = 16;

pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// Those that this machine has for connections.
    pub fn of_this_machine() -> Ports {
        let said = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let mut numbers = said.iter().flat_map(|said| said.split_whitespace()).flat_map(str::parse);
        let (first, last) = (numbers.next(), numbers.next());
        Ports { first: first.unwrap_or(32_768), last: last.unwrap_or(60_999) }
    }

    pub fn count(&self) -> usize {
        usize::from(self.last.saturating_sub(self.first)) + 1
    }

    /// The socket is writable when it is decided.
    pub fn begin_connect(&self, to: SocketAddr) -> io::Result<OwnedFd> {
        let socket = network::stream_socket(to)?;
        let mut outcome = Ok(());
        for _ in 0..PLACES {
            let (first, last) = self.some();
            // The kernel looks everywhere where it cannot be told.
            let is_limited = network::limit_ports(&socket, first, last).is_ok();
            outcome = network::begin_connect(&socket, to);
            let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AddrNotAvailable;
            if !is_limited || !outcome.as_ref().is_err_and(is_taken) {
                break;
            }
        }
        outcome.map(|()| socket)
    }

    fn some(&self) -> (u16, u16) {
        let places = self.last.saturating_sub(self.first) / TOGETHER + 1;
        let first = self.first.saturating_add(random::number() % places * TOGETHER);
        (first, first.saturating_add(TOGETHER - 1).min(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::network::connect_outcome;
    use std::collections::BTreeSet;
    use std::net::{TcpListener, TcpStream};

    /// A connection that was begun, and from where.
    fn connect(ports: &Ports, to: SocketAddr) -> io::Result<(TcpStream, u16)> {
        let socket = ports.begin_connect(to)?;
        connect_outcome(&socket)?;
        let stream = TcpStream::from(socket);
        let port = stream.local_addr()?.port();
        Ok((stream, port))
    }

    fn somewhere() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[test]
    fn eg21_where_all_of_a_few_ports_are_taken_it_is_refused_and_not_looked_for_everywhere() {
        let [(_one, to), (_other, elsewhere)] = [somewhere(), somewhere()];
        let first = Ports::of_this_machine().first + 1024;
        let few = Ports { first, last: first + TOGETHER - 1 };
        let mut held = Vec::new();
        let refused = loop {
            match connect(&few, to) {
                Ok(one) => held.push(one),
                Err(error) => break error,
            }
            assert!(held.len() <= usize::from(TOGETHER), "from anywhere");
        };
        assert_eq!(refused.kind(), io::ErrorKind::AddrNotAvailable);
        assert!(held.iter().all(|(_, port)| (few.first..=few.last).contains(port)));
        assert!(connect(&few, elsewhere).is_ok(), "the same ports lead elsewhere all the same");
        let more = Ports { last: few.last + TOGETHER, ..few };
        assert!(connect(&more, to).unwrap().1 > few.last, "another place is tried");
    }

    #[test]
    fn eg21_nobody_foresees_where_a_port_is_looked_for() {
        let (_listener, to) = somewhere();
        let ports = Ports::of_this_machine();
        let held: Vec<_> = (0..64).map(|_| connect(&ports, to).unwrap()).collect();
        let places: BTreeSet<u16> = held.iter().map(|(_, port)| port / TOGETHER).collect();
        assert!(places.len() > 32, "{places:?}");
    }
}
