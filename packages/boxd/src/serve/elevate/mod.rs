//! `sudo`, from serve's side. No program in a sandbox can gain rights by being run, so who wants
//! others' asks the one process that may give them, which runs the program in its stead.

mod run;
mod variables;

use super::Server;
use super::confine::Identity;
use super::source::Source;
use super::{family, users};
use crate::sys::abstract_socket::{self, Peer};
use crate::sys::process::{self, Exit};
use crate::sys::{epoll, signal, unix_socket};
use crate::wire::elevation::{self, DESCRIPTORS, Elevation, How, MOST_BYTES, NAME, Outcome};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

/// How many may be at it at once.
const MOST: usize = 64;

/// Who asks, and what was started for them.
struct Caller {
    socket: OwnedFd,
    peer: Peer,
    pid: Option<i32>,
}

pub struct Elevations {
    listener: OwnedFd,
    callers: BTreeMap<u32, Caller>,
    last_number: u32,
}

impl Elevations {
    /// Before any program runs, so that nobody else can have the name.
    pub fn listen() -> io::Result<Elevations> {
        let listener = abstract_socket::listen(NAME)?;
        Ok(Elevations { listener, callers: BTreeMap::new(), last_number: 0 })
    }

    pub fn listener(&self) -> &OwnedFd {
        &self.listener
    }
}

impl Server {
    pub fn welcome_caller(&mut self) {
        let Some(elevations) = &mut self.elevations else {
            return;
        };
        let Ok((socket, peer)) = abstract_socket::accept(&elevations.listener) else {
            return;
        };
        if elevations.callers.len() >= MOST {
            return answer(&socket, &refused("too many at once"));
        }
        elevations.last_number = elevations.last_number.wrapping_add(1);
        let number = elevations.last_number;
        if self.epoll.add(&socket, epoll::READABLE, Source::Caller(number).token()).is_ok() {
            elevations.callers.insert(number, Caller { socket, peer, pid: None });
        }
    }

    pub fn hear_caller(&mut self, number: u32) {
        let Some(caller) = self.elevations.as_mut().and_then(|all| all.callers.get_mut(&number))
        else {
            return;
        };
        let mut bytes = vec![0; MOST_BYTES];
        let (length, lent) = match unix_socket::receive(&caller.socket, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => (0, Vec::new()),
            Ok(received) => received,
        };
        let (peer, pid, message) = (caller.peer, caller.pid, &bytes[..length]);
        match pid {
            _ if length == 0 => self.lose_caller(number),
            Some(pid) => pass_on(pid, message),
            None => match self.elevate(peer, message, lent) {
                Ok(Some(pid)) => caller_mut(self, number, |caller| caller.pid = Some(pid)),
                Ok(None) => self.dismiss(number, &Outcome::Allowed),
                Err(why) => self.dismiss(number, &Outcome::Refused(why)),
            },
        }
    }

    /// Whoever asked is gone, and with it every wish that the program goes on: what a timeout
    /// kills may be a `sudo`.
    fn lose_caller(&mut self, number: u32) {
        let lost = self.elevations.as_mut().and_then(|all| all.callers.remove(&number));
        if let Some(pid) = lost.and_then(|caller| caller.pid) {
            // Not reaped yet, so the number is still its own.
            family::kill(pid);
            let _ = process::signal_group(pid, libc::SIGKILL);
        }
    }

    fn dismiss(&mut self, number: u32, outcome: &Outcome) {
        let gone = self.elevations.as_mut().and_then(|all| all.callers.remove(&number));
        if let Some(caller) = gone {
            answer(&caller.socket, outcome);
        }
    }

    /// A child has ended; perhaps somebody waits for it.
    pub fn tell_caller(&mut self, pid: i32, exit: Exit) {
        let callers = self.elevations.iter().flat_map(|all| &all.callers);
        let waiting = callers.into_iter().find(|(_, caller)| caller.pid == Some(pid));
        let outcome = match exit {
            Exit::Code(code) => Outcome::Exited(code),
            Exit::Signal(signal) => Outcome::Signalled(signal),
        };
        if let Some(number) = waiting.map(|(number, _)| *number) {
            self.dismiss(number, &outcome);
        }
    }

    /// The pid of what runs now, or nothing where only leave was asked for, or why not.
    fn elevate(
        &mut self,
        peer: Peer,
        message: &[u8],
        lent: Vec<OwnedFd>,
    ) -> Result<Option<i32>, String> {
        let asked = Elevation::parse(message).map_err(|failure| failure.message)?;
        self.may_elevate(peer)?;
        let user = users::find(Some(&asked.user), self.identity).map_err(|found| found.message)?;
        let lent: [OwnedFd; DESCRIPTORS] =
            lent.try_into().map_err(|_| "its descriptors did not arrive".to_string())?;
        match asked.how {
            How::Ask => Ok(None),
            _ => self.run_for(peer, asked, &user, lent).map(Some),
        }
    }

    /// The sandbox's root, and the `user` that agents are; not who was made to have fewer rights.
    fn may_elevate(&self, Peer { uid, .. }: Peer) -> Result<(), String> {
        match self.identity {
            Identity::Only { .. } => Err("this sandbox has one user and no root".to_string()),
            Identity::Any { has_root: false, .. } => Err("root is denied in this sandbox".into()),
            _ if uid == 0 || users::default_user().is_some_and(|user| user.uid == uid) => Ok(()),
            _ => Err(format!("the user with the id {uid} may not become another")),
        }
    }
}

fn caller_mut(server: &mut Server, number: u32, change: impl FnOnce(&mut Caller)) {
    if let Some(caller) = server.elevations.as_mut().and_then(|all| all.callers.get_mut(&number)) {
        change(caller);
    }
}

fn pass_on(pid: i32, message: &[u8]) {
    let number = elevation::parse_signal(message).ok().and_then(|name| signal::number(&name));
    if let Some(number) = number {
        // It may have ended a moment ago.
        let _ = process::signal_group(pid, number);
    }
}

fn refused(why: &str) -> Outcome {
    Outcome::Refused(why.to_string())
}

/// Who does not take it, gets none.
fn answer(socket: &OwnedFd, outcome: &Outcome) {
    let _ = unix_socket::tell(socket, outcome.to_json().to_string().as_bytes());
}
