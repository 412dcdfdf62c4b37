//! A connection that a sandbox has just made, before anybody knows which program did.

use super::owner::{self, Owner};
use super::place::Place;
use super::proxy::{self, Proxy};
use crate::setup::way_out::GATE;
use crate::sys::network;
use serde_json::{Value, json};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;

pub struct Newcomer {
    pub inner: OwnedFd,
    /// None where the kernel does not know any more.
    pub owner: Option<Owner>,
    /// None for one that says it to a proxy.
    pub host: Option<String>,
    pub port: u16,
    pub via: Option<Proxy>,
}

impl Newcomer {
    /// Who has come, or what is to be said of one that is sent away.
    pub fn meet(
        place: &Place,
        socket: TcpStream,
        peer: SocketAddr,
    ) -> Result<Newcomer, Option<Value>> {
        let destination = destination_of(&socket);
        let owner = match (destination, peer, &place.owners) {
            (Some(to), SocketAddr::V4(from), Some(owners)) => owner::of(owners, from, to).ok(),
            _ => None,
        };
        let is_ready = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).is_ok();
        let inner = OwnedFd::from(socket);
        // Nobody's connection is nobody's to decide about.
        let (Some(destination), Some(owner), true) = (destination, owner, is_ready) else {
            network::reset_on_close(&inner);
            return Err(None);
        };
        let port = destination.port();
        let (host, via) = match (*destination.ip(), port) {
            (GATE, proxy::HTTP_PORT) => (None, Some(Proxy::Http)),
            (GATE, proxy::SOCKS_PORT) => (None, Some(Proxy::Socks { has_greeted: false })),
            (address, _) => (place.names.name_of(address).map(str::to_string), None),
        };
        if host.is_none() && via.is_none() {
            network::reset_on_close(&inner);
            let address = destination.ip().to_string();
            return Err(Some(json!({
                "event": "stray", "sandbox": place.sandbox, "address": address, "port": port
            })));
        }
        Ok(Newcomer { inner, owner, host, port, via })
    }
}

/// What a program wanted to connect to.
fn destination_of(socket: &TcpStream) -> Option<SocketAddrV4> {
    match (network::original_destination(socket).ok()?, socket.local_addr().ok()?) {
        (Some(led), _) => Some(led),
        (None, SocketAddr::V4(taken)) => Some(taken),
        _ => None,
    }
}
