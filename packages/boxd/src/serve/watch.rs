//! serve's one loop: everything it waits for, and what it does then.

use super::confine::Identity;
use super::connection::Connection;
use super::stream::Stream;
use super::table::Table;
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::process;
use crate::sys::signal::Signals;
use crate::sys::spawn::Spawner;
use crate::wire::frame::Kind;
use crate::wire::fields::Dictionary;
use crate::wire::{PROTOCOL, VERSION};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

/// What an event is about.
pub enum Source {
    Listener,
    Signals,
    Reader,
    Writer,
    Output { process: u32, channel: usize },
    Input { process: u32 },
    Dial { stream: u32 },
    /// A pipe that a process left to others.
    Leftover(u32),
}

impl Source {
    pub fn token(&self) -> u64 {
        let (tag, number) = match *self {
            Source::Listener => (0, 0),
            Source::Signals => (1, 0),
            Source::Reader => (2, 0),
            Source::Writer => (3, 0),
            Source::Output { process, channel } => (4 + channel as u64, process),
            Source::Input { process } => (6, process),
            Source::Dial { stream } => (7, stream),
            Source::Leftover(number) => (8, number),
        };
        tag << 32 | u64::from(number)
    }

    fn of(token: u64) -> Source {
        let number = token as u32;
        match token >> 32 {
            0 => Source::Listener,
            1 => Source::Signals,
            2 => Source::Reader,
            3 => Source::Writer,
            4 => Source::Output { process: number, channel: 0 },
            5 => Source::Output { process: number, channel: 1 },
            6 => Source::Input { process: number },
            7 => Source::Dial { stream: number },
            _ => Source::Leftover(number),
        }
    }
}

pub struct Server {
    pub id: String,
    pub environment: Dictionary,
    pub identity: Identity,
    /// /dev/null.
    pub nowhere: OwnedFd,
    pub epoll: Epoll,
    pub signals: Signals,
    pub listener: Option<UnixListener>,
    pub connection: Option<Connection>,
    pub streams: BTreeMap<u32, Stream>,
    pub processes: Table,
    pub spawner: Spawner,
    pub leftovers: BTreeMap<u32, OwnedFd>,
    pub last_leftover: u32,
    /// For bytes that are between a read and where they belong.
    pub scratch: Vec<u8>,
    /// Told to end: leaves when everybody else has.
    pub is_ending: bool,
}

impl Server {
    pub fn watch_sources(&self) -> io::Result<()> {
        self.epoll.add(&self.signals, epoll::READABLE, Source::Signals.token())?;
        match &self.listener {
            Some(listener) => self.epoll.add(listener, epoll::READABLE, Source::Listener.token()),
            None => Ok(()),
        }
    }

    pub fn run(mut self) -> ! {
        let mut events = Vec::new();
        loop {
            self.take_frames();
            let has_more = self.pump();
            self.flush();
            let patience = if has_more || self.has_frames_to_take() {
                Some(Duration::ZERO)
            } else {
                self.next_deadline().map(|due| due.saturating_duration_since(Instant::now()))
            };
            if self.epoll.wait(patience, &mut events).is_err() {
                process::exit_now(1);
            }
            for event in &events {
                self.handle(event);
            }
            self.end_what_is_due();
        }
    }

    fn handle(&mut self, event: &Event) {
        match Source::of(event.token) {
            Source::Listener => self.welcome(),
            Source::Signals => self.hear_signals(),
            Source::Reader => self.hear(),
            // The loop flushes anyway.
            Source::Writer => {}
            Source::Output { process, channel } => self.read_output(process, channel),
            Source::Input { process } => self.feed(process),
            Source::Dial { stream } => self.dial_event(stream, event),
            Source::Leftover(number) => self.drain_leftover(number),
        }
    }

    fn welcome(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        let Ok((socket, _)) = listener.accept() else {
            return;
        };
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        let reader = OwnedFd::from(socket);
        if let Ok(writer) = reader.try_clone() {
            self.meet(Connection::new(reader, writer, &[]));
        }
    }

    /// A new client takes the place of the old one, whose streams are over.
    pub fn meet(&mut self, mut connection: Connection) {
        self.part();
        let hello = json!({"protocol": PROTOCOL, "boxd": VERSION, "id": self.id});
        connection.outbound.json(Kind::Hello, 0, &hello);
        self.connection = Some(connection);
    }

    /// The client is gone; what it has started goes on.
    pub fn part(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        // Both descriptors stand for one socket, so closing them is not enough for the kernel.
        if connection.is_reading {
            self.epoll.remove(&connection.reader);
        }
        if connection.is_writing {
            self.epoll.remove(&connection.writer);
        }
        for (stream, over) in std::mem::take(&mut self.streams) {
            self.let_go(stream, over);
        }
        if self.listener.is_none() {
            // Over standard streams nobody can come back.
            process::exit_now(0);
        }
    }

    fn hear_signals(&mut self) {
        while let Some(arrival) = self.signals.next() {
            match arrival.signal {
                libc::SIGCHLD => self.reap(),
                // From inside, nobody may end the sandbox by a signal to its first process.
                libc::SIGTERM if arrival.sender == 0 || std::process::id() != 1 => {
                    self.is_ending = true;
                    self.end_everybody();
                }
                _ => {}
            }
        }
    }

    fn end_everybody(&mut self) {
        if std::process::id() == 1 {
            process::signal_everyone(libc::SIGTERM);
        } else {
            for (_, running) in self.processes.iter().filter(|(_, one)| one.exit.is_none()) {
                let _ = process::signal_group(running.pid, libc::SIGTERM);
            }
        }
        self.reap();
    }
}
