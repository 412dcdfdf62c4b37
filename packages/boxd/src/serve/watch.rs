//! serve's one loop: everything it waits for, and what it does then.

use super::confine::Identity;
use super::connection::{Connection, Connections};
use super::elevate::Elevations;
use super::lending::Lending;
use super::scratch::Scratch;
use super::source::Source;
use super::stream::{Stream, StreamId};
use super::table::Table;
use super::workspace::Workspace;
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::memory;
use crate::sys::process;
use crate::sys::signal::Signals;
use crate::sys::spawn::Spawner;
use crate::wire::fields::Dictionary;
use crate::wire::frame::Kind;
use crate::wire::{PROTOCOL, VERSION};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

const IDLE: Duration = Duration::from_millis(500);

pub struct Server {
    pub id: String,
    pub environment: Dictionary,
    /// Made ahead: nothing is done before its owner is known.
    pub awaits_owner: bool,
    pub identity: Identity,
    /// /dev/null.
    pub nowhere: OwnedFd,
    pub epoll: Epoll,
    pub signals: Signals,
    pub listener: Option<UnixListener>,
    /// Those who want to run something as somebody else, where that can be asked.
    pub elevations: Option<Elevations>,
    pub connections: Connections,
    pub streams: BTreeMap<StreamId, Stream>,
    pub processes: Table,
    pub spawner: Spawner,
    pub leftovers: BTreeMap<u32, OwnedFd>,
    pub last_leftover: u32,
    pub scratch: Scratch,
    pub lending: Option<Lending>,
    /// All that was ever written to the root, to be read.
    pub written: Option<OwnedFd>,
    /// What it shares with others below that, the topmost first.
    pub below: Vec<OwnedFd>,
    /// Where something is mounted over what was written.
    pub covered: Vec<String>,
    /// The folder of the host it works on.
    pub workspace: Option<Workspace>,
    /// Where commands start unless said otherwise, if not at home.
    pub directory: Option<String>,
    /// Where no hold keeps the time: when this server leaves, and takes everybody along.
    pub ends_at: Option<Instant>,
    /// Told to end: leaves when everybody else has.
    pub is_ending: bool,
    /// Who is about to stop the sandbox: what would be half is not begun.
    pub settled_by: Option<u32>,
    /// Something was done since the last rest.
    pub is_untidy: bool,
    /// When last looked, there was nobody else.
    pub is_alone: bool,
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
            if self.is_ending && self.is_alone {
                // What the last ones said has been passed on.
                process::exit_now(0);
            }
            if self.streams.is_empty() {
                self.scratch.rest();
            }
            let patience = self.patience(has_more);
            if self.epoll.wait(patience, &mut events).is_err() {
                process::exit_now(1);
            }
            // One that only looked has not waited.
            let has_waited = patience.is_none_or(|patience| patience >= IDLE);
            self.rest_or_work(events.is_empty() && has_waited);
            for event in &events {
                self.handle(event);
            }
            self.end_what_is_due();
        }
    }

    fn patience(&self, has_more: bool) -> Option<Duration> {
        if has_more || self.has_frames_to_take() {
            return Some(Duration::ZERO);
        }
        let deadline =
            self.next_deadline().map(|due| due.saturating_duration_since(Instant::now()));
        let rest = self.is_untidy.then_some(IDLE);
        [deadline, rest].into_iter().flatten().min()
    }

    /// Tidies up when nothing has happened for a while, not while somebody waits.
    fn rest_or_work(&mut self, is_idle: bool) {
        if is_idle && self.is_untidy {
            self.connections.rest();
            if self.streams.is_empty() {
                memory::give_back_now();
            }
        }
        self.is_untidy = !is_idle;
    }

    fn handle(&mut self, event: &Event) {
        match Source::of(event.token) {
            Source::Listener => self.welcome(),
            Source::Signals => self.hear_signals(),
            Source::Reader { connection } => self.hear(connection),
            // The loop flushes anyway.
            Source::Writer { .. } => {}
            Source::Output { process, channel } => self.read_output(process, channel),
            Source::Input { process } => self.feed(process),
            Source::Dial(stream) => self.dial_event(stream, event),
            Source::Watch(stream) => self.hear_of_files(stream),
            Source::Leftover(number) => self.drain_leftover(number),
            Source::Resolver => self.turn_away(),
            Source::Callers => self.welcome_caller(),
            Source::Caller(number) => self.hear_caller(number),
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

    /// Nobody is kept out: where there is no room, somebody who is there goes.
    pub fn meet(&mut self, mut connection: Connection) {
        if let Some(number) = self.connections.to_leave(|number| self.is_busy(number)) {
            self.part(number);
        }
        let hello = json!({"protocol": PROTOCOL, "boxd": VERSION, "id": self.id});
        connection.outbound.json(Kind::Hello, 0, &hello);
        self.connections.insert(connection);
    }

    fn is_busy(&self, connection: u32) -> bool {
        let first = StreamId { connection, number: 0 };
        let last = StreamId { connection, number: u32::MAX };
        self.streams.range(first..=last).next().is_some()
    }

    /// The client is gone; what it has started goes on.
    pub fn part(&mut self, number: u32) {
        let Some(connection) = self.connections.remove(number) else {
            return;
        };
        // Both descriptors stand for one socket, so closing them is not enough for the kernel.
        if connection.is_reading {
            self.epoll.remove(&connection.reader);
        }
        if connection.is_writing {
            self.epoll.remove(&connection.writer);
        }
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids.into_iter().filter(|id| id.connection == number) {
            if let Some(over) = self.streams.remove(&id) {
                self.let_go(id, over);
            }
        }
        self.take_back(number);
        self.settled_by = self.settled_by.filter(|&by| by != number);
        if self.listener.is_none() && self.connections.is_empty() {
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
