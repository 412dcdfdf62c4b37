//! One connection of a sandbox, from its first byte to its last.

use super::flow::Flow;
use super::greeting::{self, Greeting};
use super::proxy::{self, Proxy, Step};
use super::source::Source;
use crate::sys::epoll::{self, Epoll};
use crate::sys::{descriptor, network};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a program may take for the words that say what it wants, and a host to answer.
const PATIENCE: Duration = Duration::from_secs(15);

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
    /// Of the sandbox.
    pub uid: u32,
    pub stage: Stage,
    pub via: Option<Proxy>,
    pub up: Flow,
    pub down: Flow,
    pub deadline: Option<Instant>,
    inner: OwnedFd,
    outer: Option<OwnedFd>,
    interest: [u32; 2],
}

impl Tunnel {
    pub fn new(place: u32, uid: u32, inner: OwnedFd, via: Option<Proxy>) -> Tunnel {
        Tunnel {
            place,
            uid,
            stage: via.map_or(Stage::Asking, Stage::Proxied),
            via,
            up: Flow::default(),
            down: Flow::default(),
            deadline: via.map(|_| Instant::now() + PATIENCE),
            inner,
            outer: None,
            interest: [0, 0],
        }
    }

    pub fn on_inner(&mut self, epoll: &Epoll, number: u32, buffer: &mut [u8]) -> Next {
        match &self.stage {
            Stage::Proxied(_) | Stage::Greeting { .. } => self.read_words(epoll, number, buffer),
            Stage::Open => self.relay(buffer),
            // Nothing but its end is waited for.
            Stage::Asking | Stage::Dialling { .. } => Next::End("the program left"),
        }
    }

    pub fn on_outer(&mut self, epoll: &Epoll, number: u32, buffer: &mut [u8]) -> Next {
        let Stage::Dialling { targets } = &mut self.stage else {
            return self.relay(buffer);
        };
        let outcome = self.outer.as_ref().map(network::connect_outcome);
        if matches!(outcome, Some(Ok(()))) {
            self.deadline = None;
            self.stage = Stage::Open;
            return self.relay(buffer);
        }
        let targets = std::mem::take(targets);
        self.dial(epoll, number, targets)
    }

    fn read_words(&mut self, epoll: &Epoll, number: u32, buffer: &mut [u8]) -> Next {
        match descriptor::read(&self.inner, buffer) {
            Ok(0) => return Next::End("the program left"),
            Ok(count) => self.up.waiting.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Next::Nothing,
            Err(_) => return Next::End("the program left"),
        }
        if self.up.waiting.len() > greeting::MOST {
            return Next::End("too many words");
        }
        match &self.stage {
            Stage::Greeting { .. } => self.check_greeting(epoll, number),
            Stage::Proxied(proxy) => self.take_step(*proxy),
            _ => Next::Nothing,
        }
    }

    fn take_step(&mut self, proxy: Proxy) -> Next {
        match proxy.read(&self.up.waiting) {
            Step::More => Next::Nothing,
            Step::Greet(words, length) => {
                self.up.waiting.drain(..length);
                let next = Proxy::Socks { has_greeted: true };
                self.stage = Stage::Proxied(next);
                match descriptor::write(&self.inner, words) {
                    Ok(_) if self.up.waiting.is_empty() => Next::Nothing,
                    Ok(_) => self.take_step(next),
                    Err(_) => Next::End("the program left"),
                }
            }
            Step::Wanted { host, port } => {
                self.up.waiting.clear();
                self.wait_for_verdict();
                Next::Ask { host, port }
            }
            Step::Request => {
                self.wait_for_verdict();
                Next::AskAboutRequests
            }
            Step::Bad(words) => {
                let _ = descriptor::write(&self.inner, words);
                Next::End("not a proxy's language")
            }
        }
    }

    fn wait_for_verdict(&mut self) {
        self.deadline = None;
        self.stage = Stage::Asking;
    }

    fn check_greeting(&mut self, epoll: &Epoll, number: u32) -> Next {
        let Stage::Greeting { name, targets } = &mut self.stage else {
            return Next::Nothing;
        };
        match greeting::read(&self.up.waiting) {
            Greeting::Partial => Next::Nothing,
            Greeting::Refused(reason) => Next::End(reason),
            Greeting::Name(said) if said != *name => Next::End("TLS is for another name"),
            Greeting::Name(_) => {
                let targets = std::mem::take(targets);
                self.up.total = self.up.waiting.len() as u64;
                self.dial(epoll, number, targets)
            }
        }
    }

    /// The verdict was yes. Who came through a proxy is told so, and then has to keep its word.
    pub fn admit(
        &mut self,
        epoll: &Epoll,
        number: u32,
        targets: Vec<SocketAddr>,
        tls: Option<Option<String>>,
    ) -> Next {
        let words = match self.via {
            Some(Proxy::Http) => proxy::CONNECTED,
            Some(Proxy::Socks { .. }) => proxy::SOCKS_CONNECTED,
            None => &[],
        };
        if !words.is_empty() && descriptor::write(&self.inner, words).is_err() {
            return Next::End("the program left");
        }
        match tls {
            Some(name) => {
                self.deadline = Some(Instant::now() + PATIENCE);
                self.stage = Stage::Greeting { name, targets };
                Next::Nothing
            }
            None => self.dial(epoll, number, targets),
        }
    }

    /// The guard reads along: it gets the tunnel's number first, then every byte.
    pub fn hand_over(&mut self, number: u32, guard: OwnedFd, buffer: &mut [u8]) -> Next {
        self.up.waiting.splice(0..0, format!("{number}\n").into_bytes());
        self.outer = Some(guard);
        self.stage = Stage::Open;
        self.relay(buffer)
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

    fn dial(&mut self, epoll: &Epoll, number: u32, mut targets: Vec<SocketAddr>) -> Next {
        if let Some(outer) = self.outer.take() {
            self.interest[1] = 0;
            epoll.remove(&outer);
        }
        self.deadline = Some(Instant::now() + PATIENCE);
        while !targets.is_empty() {
            let target = targets.remove(0);
            if let Ok(socket) = network::begin_connect_to(target) {
                network::send_at_once(&socket);
                self.outer = Some(socket);
                self.stage = Stage::Dialling { targets };
                self.watch(epoll, number);
                return Next::Nothing;
            }
        }
        Next::End("the host does not answer")
    }

    fn relay(&mut self, buffer: &mut [u8]) -> Next {
        let Some(outer) = &self.outer else {
            return Next::Nothing;
        };
        let moved = self
            .up
            .carry(&self.inner, outer, buffer)
            .and_then(|()| self.down.carry(outer, &self.inner, buffer));
        match moved {
            Ok(()) if self.up.is_over() && self.down.is_over() => Next::End("done"),
            Ok(()) => Next::Nothing,
            Err(_) => {
                self.reset();
                Next::End("broken off")
            }
        }
    }

    /// Waits for exactly what can be acted on.
    pub fn watch(&mut self, epoll: &Epoll, number: u32) {
        let (reads, writes) = (epoll::READABLE, epoll::WRITABLE);
        let flow = |flow: &Flow| if flow.wants_to_read() { reads } else { 0 };
        let room = |flow: &Flow| if flow.wants_to_write() { writes } else { 0 };
        let wanted = match &self.stage {
            Stage::Proxied(_) | Stage::Greeting { .. } => [reads, 0],
            Stage::Asking => [0, 0],
            Stage::Dialling { .. } => [0, writes],
            Stage::Open => [flow(&self.up) | room(&self.down), flow(&self.down) | room(&self.up)],
        };
        let sides = [Some(&self.inner), self.outer.as_ref()];
        let tokens = [Source::Inner(number).token(), Source::Outer(number).token()];
        for side in 0..2 {
            let Some(socket) = sides[side] else {
                continue;
            };
            // Watched from the first time on: an end is always heard.
            const WATCHED: u32 = 1 << 31;
            let wish = wanted[side] | WATCHED;
            let changed = match self.interest[side] {
                before if before == wish => Ok(()),
                0 => epoll.add(socket, wanted[side], tokens[side]),
                _ => epoll.modify(socket, wanted[side], tokens[side]),
            };
            if changed.is_ok() {
                self.interest[side] = wish;
            }
        }
    }
}
