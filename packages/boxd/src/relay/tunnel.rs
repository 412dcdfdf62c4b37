//! One connection of a sandbox, from its first byte to its last.

use super::carriage::Ready;
use super::flow::Flow;
use super::proxy::{self, Proxy};
use super::purses::{Bytes, Purses};
use super::vessels::Vessels;
use crate::sys::epoll::{Epoll, Event};
use crate::sys::{descriptor, network};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a program may take for the words that say what it wants, and a host to answer.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Why a tunnel ended whose program did not wait for more.
pub const LEFT: &str = "the program left";

pub enum Stage {
    /// It says to a proxy where it wants to go.
    Proxied(Proxy),
    /// The guard decides. Nothing is read meanwhile.
    Asking,
    /// Its TLS greeting has to name this host, or nobody.
    Greeting {
        name: Option<String>,
        targets: Vec<SocketAddr>,
    },
    Dialling {
        targets: Vec<SocketAddr>,
    },
    Open,
}

/// What the relay has to do next for a tunnel.
pub enum Next {
    Nothing,
    /// Ask the guard about this destination.
    Ask {
        host: String,
        port: u16,
    },
    /// It sends requests to the proxy, which the guard reads.
    AskAboutRequests,
    End(&'static str),
}

pub struct Tunnel {
    pub place: u32,
    /// As the sandbox counts them; None where the kernel does not know any more.
    pub uid: Option<u32>,
    /// Who made it, where that can be seen.
    pub program: Option<String>,
    pub stage: Stage,
    pub via: Option<Proxy>,
    /// It is one of those that the guard has been asked about.
    pub is_asking: bool,
    /// Somebody is asked, which takes as long as people do.
    pub is_held: bool,
    pub up: Flow,
    pub down: Flow,
    /// What its bytes are taken from.
    pub purses: Vec<String>,
    pub deadline: Option<Instant>,
    /// Under which the relay has it.
    pub known_deadline: Option<Instant>,
    pub inner: OwnedFd,
    pub outer: Option<OwnedFd>,
    /// Where that leads, unless it is the guard.
    pub target: Option<SocketAddr>,
    /// The program has ended it before the far side did.
    pub left_first: bool,
    pub interest: [u32; 2],
}

impl Tunnel {
    pub fn new(
        place: u32,
        uid: Option<u32>,
        program: Option<String>,
        inner: OwnedFd,
        via: Option<Proxy>,
    ) -> Tunnel {
        Tunnel {
            place,
            uid,
            program,
            stage: via.map_or(Stage::Asking, Stage::Proxied),
            via,
            is_asking: false,
            is_held: false,
            up: Flow::default(),
            down: Flow::default(),
            purses: Vec::new(),
            deadline: via.map(|_| Instant::now() + PATIENCE),
            known_deadline: None,
            inner,
            outer: None,
            target: None,
            left_first: false,
            interest: [0, 0],
        }
    }

    pub fn on_inner(
        &mut self,
        epoll: &Epoll,
        number: u32,
        event: &Event,
        vessels: &mut Vessels,
    ) -> Next {
        match &self.stage {
            Stage::Proxied(_) | Stage::Greeting { .. } => self.read_words(epoll, number, vessels),
            Stage::Open => self.relay(Ready::inner(event), vessels),
            // Nothing but its end is waited for.
            Stage::Asking | Stage::Dialling { .. } => Next::End(LEFT),
        }
    }

    pub fn on_outer(
        &mut self,
        epoll: &Epoll,
        number: u32,
        event: &Event,
        vessels: &mut Vessels,
    ) -> Next {
        let Stage::Dialling { targets } = &mut self.stage else {
            return self.relay(Ready::outer(event), vessels);
        };
        let outcome = self.outer.as_ref().map(network::connect_outcome);
        if matches!(outcome, Some(Ok(()))) {
            self.deadline = None;
            self.stage = Stage::Open;
            (self.up.is_unread, self.down.is_unread) = (true, true);
            return self.relay(Ready::TO_READ, vessels);
        }
        let targets = std::mem::take(targets);
        self.dial(epoll, number, targets, vessels)
    }

    /// The verdict was yes. Who came through a proxy is told so, and then has to keep its word.
    pub fn admit(
        &mut self,
        epoll: &Epoll,
        number: u32,
        targets: Vec<SocketAddr>,
        tls: Option<Option<String>>,
        vessels: &mut Vessels,
    ) -> Next {
        if !self.say_connected() {
            return Next::End(LEFT);
        }
        match tls {
            Some(name) => {
                self.deadline = Some(Instant::now() + PATIENCE);
                self.stage = Stage::Greeting { name, targets };
                Next::Nothing
            }
            None => self.dial(epoll, number, targets, vessels),
        }
    }

    fn say_connected(&self) -> bool {
        let words = match self.via {
            Some(Proxy::Http) => proxy::CONNECTED,
            Some(Proxy::Socks { .. }) => proxy::SOCKS_CONNECTED,
            None => return true,
        };
        descriptor::write(&self.inner, words).is_ok()
    }

    /// The guard reads along: it gets the tunnel's number first, then every byte.
    pub fn hand_over(&mut self, number: u32, guard: OwnedFd, vessels: &mut Vessels) -> Next {
        // Words that still wait are a request to the proxy itself; without any, it was a CONNECT.
        if self.up.waiting.is_empty() && !self.say_connected() {
            return Next::End(LEFT);
        }
        self.up.total += self.up.waiting.len() as u64;
        self.up.waiting.splice(0..0, format!("{number}\n").into_bytes());
        self.outer = Some(guard);
        self.stage = Stage::Open;
        self.relay(Ready::TO_READ, vessels)
    }

    pub fn turn_away(&mut self, reason: &str) {
        match self.via {
            Some(Proxy::Http) => {
                let reason = reason.replace(|one: char| one.is_control(), " ");
                let answer = format!(
                    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{reason}\n",
                    reason.len() + 1
                );
                let _ = descriptor::write(&self.inner, answer.as_bytes());
            }
            Some(Proxy::Socks { .. }) => {
                let _ = descriptor::write(&self.inner, proxy::SOCKS_DENIED);
            }
            None => self.reset(),
        }
    }

    /// Does something for which its purses pay.
    pub fn metered<T>(&mut self, purses: &mut Purses, act: impl FnOnce(&mut Tunnel) -> T) -> T {
        if self.purses.is_empty() {
            return act(self);
        }
        let left = purses.left(&self.purses);
        (self.up.allowed, self.down.allowed) = (Some(left.up), Some(left.down));
        let before = Bytes { up: self.up.total, down: self.down.total };
        let outcome = act(self);
        let (up, down) = (self.up.total - before.up, self.down.total - before.down);
        if up + down > 0 {
            purses.take(&self.purses, Bytes { up, down });
        }
        outcome
    }

    /// Its end shall be heard as no regular one.
    pub fn reset(&self) {
        network::reset_on_close(&self.inner);
        if let Some(outer) = &self.outer {
            network::reset_on_close(outer);
        }
    }

    /// For an end that is no regular one. Who was told so by a proxy must be able to read it.
    pub fn reset_unless_told(&self) {
        let was_told = self.via.is_some() && self.outer.is_none();
        if !was_told {
            self.reset();
        }
    }
}
