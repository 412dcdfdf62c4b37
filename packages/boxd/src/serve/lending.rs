//! The sandbox's way out, lent to the guard for as long as its connection lasts.
//!
//! While nobody has borrowed it, connections are refused and names are not answered for: there is
//! no state in which anything gets out unwatched.

use super::Server;
use super::operations::Begun;
use super::source::Source;
use super::stream::StreamId;
use crate::setup::way_out::WayOut;
use crate::sys::{epoll, network, process, unix_socket};
use crate::wire::failure::{Code, Failure};
use crate::wire::frame::{self, Kind};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

pub struct Lending {
    pub way_out: WayOut,
    borrower: Option<u32>,
}

/// Where programs find their SSH agent. A sandbox of any image has this folder, and no snapshot has it.
const AGENT: &str = "/tmp/.sandboxer-ssh-agent";
/// The longest question there can be.
const LONGEST: usize = 512;
const HEADER: usize = 12;

impl Server {
    pub fn keep_way_out(&mut self, way_out: WayOut) -> io::Result<()> {
        self.epoll.add(&way_out.resolver, epoll::READABLE, Source::Resolver.token())?;
        self.lending = Some(Lending { way_out, borrower: None });
        Ok(())
    }

    /// The newest borrower has it. The sockets travel with the END frame.
    pub fn lend(&mut self, id: StreamId, agent: bool) -> Result<Begun, Failure> {
        let failed = |error| Failure::internal("lend", error);
        let Some(lending) = &mut self.lending else {
            return Err(Failure::invalid("this sandbox has no way out"));
        };
        let Some(connection) = self.connections.get_mut(id.connection) else {
            return Ok(Begun::Answered);
        };
        if !unix_socket::is_from_outside(&connection.writer).map_err(failed)? {
            return Err(Failure::new(Code::PermissionDenied, "only for who is outside"));
        }
        connection.outbound.flush(&connection.writer).map_err(failed)?;
        if !connection.outbound.is_empty() {
            return Err(Failure::invalid("read what was answered before"));
        }
        let WayOut { listener, resolver, owners } = &lending.way_out;
        let sockets = [listener.as_fd(), resolver.as_fd(), owners.as_fd()]
            .map(|socket| socket.try_clone_to_owned());
        let mut sockets = sockets.into_iter().collect::<io::Result<Vec<_>>>().map_err(failed)?;
        // A sandbox that spoils its own place for it has none.
        sockets.extend(agent.then(agent_socket).and_then(Result::ok));
        network::listen_again(listener).map_err(failed)?;
        self.epoll.remove(resolver);
        let mut answer = Vec::new();
        frame::put(&mut answer, Kind::End, id.number, b"{}");
        unix_socket::send(&connection.writer, &answer, &sockets).map_err(failed)?;
        let before = lending.borrower.replace(id.connection);
        if let Some(before) = before.filter(|&before| before != id.connection) {
            self.part(before);
        }
        Ok(Begun::Answered)
    }

    /// A client is gone; if it was the guard, the way is closed.
    pub fn take_back(&mut self, connection: u32) {
        let Some(lending) = &mut self.lending else {
            return;
        };
        if lending.borrower != Some(connection) {
            return;
        }
        lending.borrower = None;
        let _ = network::stop_listening(&lending.way_out.listener);
        let token = Source::Resolver.token();
        let _ = self.epoll.add(&lending.way_out.resolver, epoll::READABLE, token);
    }

    /// Says at once that nobody can answer, so that no program waits for it.
    pub fn turn_away(&mut self) {
        let Some(lending) = &self.lending else {
            return;
        };
        let mut question = [0; LONGEST];
        let resolver = &lending.way_out.resolver;
        while let Ok((length, from)) = resolver.recv_from(&mut question) {
            const ANSWER: u8 = 0x80;
            const SERVER_FAILURE: u8 = 2;
            if length >= HEADER && question[2] & ANSWER == 0 {
                question[2] |= ANSWER;
                question[3] = SERVER_FAILURE;
                let _ = resolver.send_to(&question[..length], from);
            }
        }
    }
}

/// It is the borrower's alone: when that one goes, so does who listens, and programs hear so at once.
fn agent_socket() -> io::Result<OwnedFd> {
    if fs::symlink_metadata(AGENT).is_ok_and(|found| found.file_type().is_socket()) {
        fs::remove_file(AGENT)?;
    }
    // Whoever is inside may ask; who it is, the kernel says.
    process::set_umask(0o111);
    let listener = UnixListener::bind(AGENT);
    process::set_umask(0o022);
    listener.map(OwnedFd::from)
}
