//! What the relay does for sandboxes and tunnels.

use super::Relay;
use super::orders::Verdict;
use super::owner;
use super::proxy::Proxy;
use super::tunnel::{Next, Stage, Tunnel};
use crate::setup::way_out::GATE;
use crate::sys::epoll::{Epoll, Event};
use crate::sys::{network, unix_socket};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// Connections of one sandbox at a time; one more is refused, so that others have theirs.
pub const MOST_TUNNELS: usize = 2048;
const HTTP_PROXY: u16 = 3128;
const SOCKS_PROXY: u16 = 1080;

impl Relay {
    pub fn welcome(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(&number) else {
            return;
        };
        let Some(Ok((socket, peer))) = place.listener.as_ref().map(|listener| listener.accept())
        else {
            return;
        };
        let destination = network::original_destination(&socket);
        let owner = match (&destination, peer, &place.owners) {
            (Ok(to), SocketAddr::V4(from), Some(owners)) => owner::of(owners, from, *to).ok(),
            _ => None,
        };
        let is_ready = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).is_ok();
        let inner = OwnedFd::from(socket);
        let is_ready = is_ready && place.tunnels < MOST_TUNNELS;
        // Nobody's connection is nobody's to decide about.
        let (Ok(destination), Some(owner), true) = (destination, owner, is_ready) else {
            network::reset_on_close(&inner);
            return;
        };
        let (host, via) = match (*destination.ip(), destination.port()) {
            (GATE, HTTP_PROXY) => (None, Some(Proxy::Http)),
            (GATE, SOCKS_PROXY) => (None, Some(Proxy::Socks { has_greeted: false })),
            (address, _) => (place.names.name_of(address).map(str::to_string), None),
        };
        if host.is_none() && via.is_none() {
            network::reset_on_close(&inner);
            let (address, port) = (destination.ip().to_string(), destination.port());
            let stray = json!({
                "event": "stray", "sandbox": place.sandbox, "address": address, "port": port
            });
            self.reports.say(&stray);
            return;
        }
        place.tunnels += 1;
        let program = place.caller.program_with(owner.inode);
        self.last_tunnel = self.last_tunnel.wrapping_add(1);
        let tunnel = self.last_tunnel;
        self.tunnels.insert(tunnel, Tunnel::new(number, owner.uid, program, inner, via));
        if let Some(host) = host {
            self.ask(tunnel, &host, destination.port());
        }
        self.watch(tunnel);
    }

    fn ask(&mut self, number: u32, host: &str, port: u16) {
        let Some(tunnel) = self.tunnels.get(&number) else {
            return;
        };
        let Some(place) = self.places.get(&tunnel.place) else {
            return;
        };
        let via = match tunnel.via {
            Some(Proxy::Http) => "http-proxy",
            Some(Proxy::Socks { .. }) => "socks",
            None => "name",
        };
        // Who asks a proxy for an address it got from us means the name.
        let named = host.parse().ok().and_then(|address: Ipv4Addr| place.names.name_of(address));
        let host = named.unwrap_or(host);
        self.reports.say(&json!({
            "event": "open", "tunnel": number, "sandbox": place.sandbox,
            "host": host, "port": port, "via": via, "uid": tunnel.uid, "program": tunnel.program,
        }));
    }

    pub fn decide(&mut self, number: u32, verdict: Verdict) {
        let Some(tunnel) = self.tunnels.get_mut(&number) else {
            return;
        };
        if !matches!(tunnel.stage, Stage::Asking) {
            return;
        }
        let next = match verdict {
            Verdict::Refuse { reason } => {
                tunnel.turn_away(&reason);
                Next::End("refused")
            }
            Verdict::Dial { targets, tls } => tunnel.admit(&self.epoll, number, targets, tls),
            Verdict::Inspect => match unix_socket::connect(&self.inspector) {
                Ok(guard) => tunnel.hand_over(number, guard, &mut self.buffer),
                Err(_) => {
                    tunnel.turn_away("the guard is busy");
                    Next::End("the guard is busy")
                }
            },
        };
        self.go_on(number, next);
    }

    pub fn on_tunnel(
        &mut self,
        number: u32,
        event: &Event,
        act: impl FnOnce(&mut Tunnel, &Epoll, u32, &Event, &mut [u8]) -> Next,
    ) {
        if let Some(tunnel) = self.tunnels.get_mut(&number) {
            let next = act(tunnel, &self.epoll, number, event, &mut self.buffer);
            self.go_on(number, next);
        }
    }

    fn go_on(&mut self, number: u32, next: Next) {
        match next {
            Next::Nothing => self.watch(number),
            Next::Ask { host, port } => {
                self.ask(number, &host, port);
                self.watch(number);
            }
            Next::AskAboutRequests => {
                self.ask(number, "", 0);
                self.watch(number);
            }
            Next::End(reason) => self.end(number, reason),
        }
    }

    pub fn watch(&mut self, number: u32) {
        if let Some(tunnel) = self.tunnels.get_mut(&number) {
            tunnel.watch(&self.epoll, number);
        }
    }

    pub fn hold(&mut self, number: u32) {
        if let Some(tunnel) = self.tunnels.get_mut(&number)
            && matches!(tunnel.stage, Stage::Asking)
        {
            tunnel.is_held = true;
            tunnel.watch(&self.epoll, number);
        }
    }

    pub fn close(&mut self, number: u32) {
        if let Some(tunnel) = self.tunnels.get(&number) {
            tunnel.reset();
            self.end(number, "closed");
        }
    }

    fn end(&mut self, number: u32, reason: &str) {
        let Some(tunnel) = self.tunnels.remove(&number) else {
            return;
        };
        if let Some(place) = self.places.get_mut(&tunnel.place) {
            place.tunnels -= 1;
        }
        if !matches!(reason, "done") {
            tunnel.reset_unless_told();
        }
        self.reports.say(&json!({
            "event": "over", "tunnel": number, "reason": reason,
            "up": tunnel.up.total, "down": tunnel.down.total,
        }));
    }

    pub fn end_what_is_due(&mut self) {
        let now = Instant::now();
        let is_due = |tunnel: &Tunnel| tunnel.deadline.is_some_and(|deadline| deadline <= now);
        let due: Vec<u32> =
            self.tunnels.iter().filter(|(_, one)| is_due(one)).map(|(&number, _)| number).collect();
        for number in due {
            self.end(number, "too slow");
        }
    }
}
