//! One sandbox whose way out we have borrowed.

use super::caller::Caller;
use super::names::Names;
use super::newcomers::Newcomers;
use super::question;
use super::source::Source;
use crate::sys::epoll::{self, Epoll};
use crate::sys::{descriptor, network, unix_socket};
use crate::wire::frame::{self, Body, Kind};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The stream on which the loan is asked for; it is the only one.
const STREAM: u32 = 1;
const LONGEST_QUESTION: usize = 512;
/// How much of what happened in a sandbox has its turn before the next sandbox's.
const TURN: usize = 16;
/// So many wait for the guard's word; the next wait for theirs in the kernel.
const MOST_ASKING: usize = 64;
const CROWD: usize = 256;
/// Questions answered at a time, before anybody else has a turn.
const QUESTIONS: usize = 64;

pub struct Place {
    pub sandbox: String,
    pub lender: OwnedFd,
    pub listener: Option<TcpListener>,
    pub resolver: Option<UdpSocket>,
    pub owners: Option<OwnedFd>,
    /// Where programs ask an SSH agent, if there is one.
    pub agent: Option<UnixListener>,
    pub caller: Caller,
    pub names: Names,
    pub newcomers: Newcomers,
    /// Tunnels it has open.
    pub tunnels: usize,
    /// Of those, the ones that wait for the guard's word, or for it to be asked.
    pub asking: usize,
    /// Whatever it does is waited for here, so that one sandbox's crowd is one among the sandboxes.
    pub waits: Epoll,
    received: Vec<u8>,
    sockets: Vec<OwnedFd>,
}

impl Place {
    /// Asks at once. A sandbox that is paused answers when it is resumed.
    pub fn ask(
        sandbox: String,
        socket: &str,
        agent: bool,
        first_address: u16,
    ) -> io::Result<Place> {
        let lender = unix_socket::connect(Path::new(socket))?;
        unix_socket::ask_for_senders(&lender)?;
        let mut asking = Vec::new();
        // Only where it is needed: those from before do not know the word.
        let words: &[u8] = match agent {
            true => br#"{"op":"lend","agent":true}"#,
            false => br#"{"op":"lend"}"#,
        };
        frame::put(&mut asking, Kind::Open, STREAM, words);
        descriptor::write(&lender, &asking)?;
        Ok(Place {
            sandbox,
            lender,
            listener: None,
            resolver: None,
            owners: None,
            agent: None,
            caller: Caller::default(),
            names: Names::starting_at(first_address),
            newcomers: Newcomers::default(),
            tunnels: 0,
            asking: 0,
            waits: Epoll::with_room(TURN)?,
            received: Vec::new(),
            sockets: Vec::new(),
        })
    }

    /// Hears what the lender says. True once the way out is ours; an error ends it.
    pub fn hear(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        let (count, sockets, sender) = unix_socket::receive_from(&self.lender, &mut chunk)?;
        if count == 0 {
            return Err(io::Error::other("the sandbox is gone"));
        }
        self.received.extend_from_slice(&chunk[..count]);
        self.sockets.extend(sockets);
        self.caller.look_beside(sender);
        loop {
            let malformed = |_| io::Error::other("the sandbox does not speak the protocol");
            let Some((frame, length)) = frame::decode(&self.received).map_err(malformed)? else {
                return Ok(false);
            };
            let (kind, reason) = match frame.body {
                Body::Json(object) => (frame.kind, object.get("message").map(ToString::to_string)),
                _ => (frame.kind, None),
            };
            self.received.drain(..length);
            match kind {
                Kind::End => return self.take().map(|()| true),
                Kind::Fail => return Err(io::Error::other(reason.unwrap_or_default())),
                _ => {}
            }
        }
    }

    /// What comes from inside is looked at before it is used: it must be what it should be.
    fn take(&mut self) -> io::Result<()> {
        let no_sockets = || io::Error::other("the sandbox lent something else");
        let mut sockets = std::mem::take(&mut self.sockets);
        let agent = if sockets.len() == 4 { sockets.pop() } else { None };
        let [listener, resolver, owners] =
            <[OwnedFd; 3]>::try_from(sockets).map_err(|_| no_sockets())?;
        let is = |socket: &OwnedFd, kind| -> io::Result<bool> {
            Ok(network::socket_fact(socket, libc::SO_DOMAIN)? == libc::AF_INET
                && network::socket_fact(socket, libc::SO_TYPE)? == kind)
        };
        let listens = network::socket_fact(&listener, libc::SO_ACCEPTCONN)? == 1;
        let is_netlink = network::socket_fact(&owners, libc::SO_DOMAIN)? == libc::AF_NETLINK
            && network::socket_fact(&owners, libc::SO_PROTOCOL)? == libc::NETLINK_SOCK_DIAG;
        if !is_netlink
            || !listens
            || !is(&listener, libc::SOCK_STREAM)?
            || !is(&resolver, libc::SOCK_DGRAM)?
        {
            return Err(no_sockets());
        }
        if let Some(agent) = &agent
            && (network::socket_fact(agent, libc::SO_DOMAIN)? != libc::AF_UNIX
                || network::socket_fact(agent, libc::SO_TYPE)? != libc::SOCK_STREAM
                || network::socket_fact(agent, libc::SO_ACCEPTCONN)? != 1)
        {
            return Err(no_sockets());
        }
        if let Some(agent) = &agent {
            descriptor::set_nonblocking(agent)?;
        }
        self.agent = agent.map(UnixListener::from);
        descriptor::set_nonblocking(&listener)?;
        network::send_unpaced(&listener);
        descriptor::set_nonblocking(&resolver)?;
        self.listener = Some(listener.into());
        self.resolver = Some(resolver.into());
        descriptor::set_nonblocking(&owners)?;
        self.owners = Some(owners);
        Ok(())
    }

    /// Waits for what happens there, as the sandbox with this number.
    pub fn open(&self, number: u32) -> io::Result<()> {
        if let (Some(listener), Some(resolver)) = (&self.listener, &self.resolver) {
            self.waits.add(listener, epoll::READABLE, Source::Listener(number).token())?;
            self.waits.add(resolver, epoll::READABLE, Source::Resolver(number).token())?;
        }
        if let Some(agent) = &self.agent {
            self.waits.add(agent, epoll::READABLE, Source::Agent(number).token())?;
        }
        Ok(())
    }

    /// One more waits for the guard's word, or one less. Nobody else is taken while too many do.
    pub fn count_asking(&mut self, number: u32, is_one_more: bool) {
        let was_full = self.is_full();
        self.asking = if is_one_more { self.asking + 1 } else { self.asking.saturating_sub(1) };
        let is_full = self.is_full();
        if let (Some(listener), true) = (&self.listener, is_full != was_full) {
            let events = if is_full { 0 } else { epoll::READABLE };
            let _ = self.waits.modify(listener, events, Source::Listener(number).token());
        }
    }

    pub fn is_full(&self) -> bool {
        self.asking >= MOST_ASKING
    }

    /// Where there is no room for more, whoever came is told so at once, and in a crowd.
    pub fn turn_away_some(&self) {
        for _ in 0..CROWD {
            match self.listener.as_ref().map(|listener| listener.accept()) {
                Some(Ok((socket, _))) => network::reset_on_close(&socket),
                _ => return,
            }
        }
    }

    pub fn answer_questions(&mut self) {
        let Some(resolver) = &self.resolver else {
            return;
        };
        let mut bytes = [0; LONGEST_QUESTION];
        for _ in 0..QUESTIONS {
            let Ok((length, from)) = resolver.recv_from(&mut bytes) else {
                return;
            };
            let answer = question::answer(&bytes[..length], |name| self.names.address_of(name));
            if let Some(answer) = answer {
                let _ = resolver.send_to(&answer, from);
            }
        }
    }
}
