//! A connection to a port inside the sandbox.

use super::Server;
use super::input::Input;
use super::scratch::Scratch;
use super::source::Source;
use super::stream::{Progress, StreamId, Work};
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::{descriptor, network};
use crate::wire::failure::{Code, Failure};
use crate::wire::frame::Kind;
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::io;
use std::os::fd::OwnedFd;

#[derive(PartialEq, Eq)]
enum Phase {
    Connecting { is_last_try: bool },
    Open,
    Refused,
}

pub struct Dial {
    port: u16,
    phase: Phase,
    socket: OwnedFd,
    pub input: Input,
    is_readable: bool,
    is_input_over: bool,
    is_output_over: bool,
    has_replied: bool,
    interest: u32,
}

impl Dial {
    /// Many programs listen on only one of the two loopback addresses; the older one first.
    pub fn begin(port: u16) -> Result<Dial, Failure> {
        let refused = |error| Failure::new(Code::Refused, format!("port {port}: {error}"));
        if port == 0 {
            return Err(Failure::invalid("port 0 cannot be dialled"));
        }
        let socket = network::begin_connect_v4(port)
            .or_else(|_| network::begin_connect_v6(port))
            .map_err(refused)?;
        Dial::over(socket, port).map_err(refused)
    }

    fn over(socket: OwnedFd, port: u16) -> io::Result<Dial> {
        Ok(Dial {
            port,
            phase: Phase::Connecting { is_last_try: false },
            input: Input::to(socket.try_clone()?),
            socket,
            is_readable: false,
            is_input_over: false,
            is_output_over: false,
            has_replied: false,
            interest: 0,
        })
    }

    fn note(&mut self, event: &Event, epoll: &Epoll) {
        if let Phase::Connecting { is_last_try } = self.phase
            && event.writable
        {
            match network::connect_outcome(&self.socket) {
                Ok(()) => self.phase = Phase::Open,
                Err(_) if !is_last_try => self.try_again(epoll),
                Err(_) => self.phase = Phase::Refused,
            }
        }
        self.is_readable |= event.readable && self.phase == Phase::Open;
    }

    fn try_again(&mut self, epoll: &Epoll) {
        self.phase = Phase::Refused;
        let next = network::begin_connect_v6(self.port)
            .and_then(|socket| Ok((socket.try_clone()?, socket)));
        if let Ok((target, socket)) = next {
            self.stop_watching(epoll);
            self.input.target = Some(target);
            self.socket = socket;
            self.phase = Phase::Connecting { is_last_try: true };
        }
    }

    fn stop_watching(&mut self, epoll: &Epoll) {
        if std::mem::take(&mut self.interest) != 0 {
            epoll.remove(&self.socket);
        }
    }

    pub fn advance(
        &mut self,
        stream: u32,
        credit: &mut u64,
        scratch: &mut Scratch,
        out: &mut Outbound,
    ) -> Progress {
        match self.phase {
            Phase::Connecting { .. } => return Progress::Waiting,
            Phase::Refused => {
                let message = format!("nothing listens on port {}", self.port);
                out.fail(stream, &Failure::new(Code::Refused, message));
                return Progress::Over;
            }
            Phase::Open => {}
        }
        if !self.has_replied {
            out.json(Kind::Reply, stream, &json!({}));
            self.has_replied = true;
        }
        if self.input.is_finished() && !self.is_input_over {
            network::shut_down_writing(&self.socket);
            self.is_input_over = true;
        }
        self.read(stream, credit, scratch, out);
        if self.is_output_over && self.is_input_over {
            out.end(stream, &json!({}));
            return Progress::Over;
        }
        Progress::Waiting
    }

    fn read(&mut self, stream: u32, credit: &mut u64, scratch: &mut Scratch, out: &mut Outbound) {
        if !self.is_readable || self.is_output_over || *credit == 0 {
            return;
        }
        let most = (*credit).min(MOST_DATA as u64) as usize;
        self.is_readable = false;
        match descriptor::read(&self.socket, scratch.room(most)) {
            Ok(count @ 1..) => {
                out.data(stream, STDOUT, [scratch.used(count), &[]]);
                *credit -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => {
                out.eof(stream, STDOUT);
                self.is_output_over = true;
            }
        }
    }

    /// Waits for exactly what can be acted on.
    pub fn update_interest(&mut self, epoll: &Epoll, stream: StreamId, has_credit: bool) {
        let wanted = match self.phase {
            Phase::Connecting { .. } => epoll::WRITABLE,
            Phase::Refused => 0,
            Phase::Open => {
                let reading = has_credit && !self.is_output_over && !self.is_readable;
                let writing = self.input.is_waiting() && !self.input.is_finished();
                (u32::from(reading) * epoll::READABLE) | (u32::from(writing) * epoll::WRITABLE)
            }
        };
        let token = Source::Dial(stream).token();
        match (self.interest, wanted) {
            (before, after) if before == after => return,
            (0, _) => drop(epoll.add(&self.socket, wanted, token)),
            (_, 0) => epoll.remove(&self.socket),
            _ => drop(epoll.modify(&self.socket, wanted, token)),
        }
        self.interest = wanted;
    }

    pub fn close(mut self, epoll: &Epoll) {
        self.stop_watching(epoll);
    }
}

impl Server {
    pub fn dial_event(&mut self, id: StreamId, event: &Event) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let Work::Dial(dial) = &mut stream.work else {
            return;
        };
        dial.note(event, &self.epoll);
        let digested = if event.writable { dial.input.advance() } else { Vec::new() };
        self.give_credit(digested);
        self.update_dial_interest(id);
    }

    pub fn update_dial_interest(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id)
            && let Work::Dial(dial) = &mut stream.work
        {
            dial.update_interest(&self.epoll, id, stream.credit > 0);
        }
    }
}
