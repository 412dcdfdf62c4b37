//! Processes for the sandboxes to come, made while nobody waits for them. Each is in namespaces, ids
//! and control groups of its own and has left the host behind; it knows of no image and no owner.
//!
//! It ends when hold does, and becomes one sandbox at most.

use super::infancy::{self, Report};
use super::log;
use super::record::start_time;
use super::watch::Hold;
use crate::cgroup::{Entry, Group, Leftovers};
use crate::setup::idmap::{IdMap, IdSupply};
use crate::sys::process::{self, Clone, FileLimit};
use crate::sys::{poll, time, unix_socket};
use crate::wire::hold_request::Create;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// So that the next who comes finds one.
const ENOUGH: usize = 2;
/// Long enough after the last request: making one keeps hold from answering.
const DELAY: Duration = Duration::from_millis(8);
/// More descriptors than this are not told in one word.
const MOST_TREES: usize = 100;

pub struct Waiting {
    pub ids: IdMap,
    pub pid: i32,
    pub start_time: u64,
    pub pidfd: OwnedFd,
    pub socket: OwnedFd,
    pub group: Option<Group>,
}

#[derive(Default)]
pub struct Waiters {
    ready: Vec<Waiting>,
    count: u64,
    due: Option<Instant>,
    /// One could not be made: sandboxes are made as they are asked for, and that says why not.
    is_given_up: bool,
}

impl Waiters {
    /// Somebody asks for something, and goes first.
    pub fn stand_back(&mut self) {
        if !self.is_given_up && self.ready.len() < ENOUGH {
            self.due = Some(Instant::now() + DELAY);
        }
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn bases(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().filter_map(|waiting| waiting.ids.base())
    }

    pub fn put_back(&mut self, waiting: Option<Waiting>) {
        self.ready.extend(waiting);
    }

    /// Nothing of them is left behind.
    pub fn leave(&mut self) {
        for waiting in self.ready.drain(..) {
            let _ = process::signal_pidfd(&waiting.pidfd, libc::SIGKILL);
            process::await_end(&waiting.pidfd);
            if let Some(group) = waiting.group {
                group.remove();
            }
        }
    }

    fn take(&mut self, leftovers: &mut Leftovers) -> Option<Waiting> {
        while let Some(waiting) = self.ready.pop() {
            let ended = poll::first_readable(&[waiting.pidfd.as_fd()], Duration::ZERO);
            if matches!(ended, Ok(None)) {
                return Some(waiting);
            }
            process::reap_pidfd(&waiting.pidfd);
            if let Report::Failure(failure) = infancy::hear_report(&waiting.socket) {
                log::note(format_args!("cannot make a process ahead: {}", failure.message));
                self.is_given_up = true;
            }
            if let Some(group) = waiting.group {
                leftovers.take(group);
            }
        }
        None
    }
}

impl Hold {
    /// One that can become what is asked for.
    pub fn waiting_for(&mut self, create: &Create, request_length: usize) -> Option<Waiting> {
        let is_plain = !create.root.shows_owner()
            && create.keeps.is_none()
            && create.layers.is_empty()
            && create.root.lowers.len() + create.root.mounts.len() <= MOST_TREES
            && request_length <= infancy::LONGEST_REQUEST;
        if is_plain { self.waiters.take(&mut self.leftovers) } else { None }
    }

    /// Makes one, and comes back for the next.
    pub fn make_waiters_when_due(&mut self) {
        if self.waiters.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.waiters.due = None;
        // Who shares ids with hold's user needs the host's folders in sight.
        if self.means.ids != IdSupply::Ranges {
            return;
        }
        match self.make_waiting() {
            Ok(waiting) => {
                self.waiters.ready.push(waiting);
                self.waiters.stand_back();
            }
            Err(error) => {
                log::note(format_args!("cannot make a process ahead: {error}"));
                self.waiters.is_given_up = true;
            }
        }
    }

    fn make_waiting(&mut self) -> io::Result<Waiting> {
        let ids = self.choose_ids(false)?;
        self.waiters.count += 1;
        // Sandboxes of an earlier hold may still have theirs.
        let name = format!("waiting-{}-{}", time::since_boot_ms(), self.waiters.count);
        let group = self.means.groups.make(&name, &Default::default())?;
        let (socket, theirs) = unix_socket::message_pair()?;
        match give_birth(ids, group.as_ref(), &socket, theirs, self.limits) {
            Ok((pid, start_time, pidfd)) => {
                Ok(Waiting { ids, pid, start_time, pidfd, socket, group })
            }
            Err(error) => {
                // Without its socket it ends by itself.
                self.leftovers.extend(group);
                Err(error)
            }
        }
    }
}

/// Into the group where the kernel can do that; else it is let in once it has ids.
fn give_birth(
    ids: IdMap,
    group: Option<&Group>,
    socket: &OwnedFd,
    theirs: OwnedFd,
    limits: FileLimit,
) -> io::Result<(i32, u64, OwnedFd)> {
    let (cradle, doors) = match group.map(Group::entry).transpose()? {
        Some(Entry::Folder(folder)) => (Some(folder), Vec::new()),
        Some(Entry::Doors(doors)) => (None, doors),
        None => (None, Vec::new()),
    };
    let cradle = cradle.as_ref().map(AsFd::as_fd);
    let (pid, pidfd) = ids.charged_to(cradle.is_some(), || {
        match process::clone_into_group(process::EVERY_NAMESPACE, cradle)? {
            Clone::Parent { pid, pidfd } => Ok((pid, pidfd)),
            Clone::Child => infancy::wait_to_be_born(ids, theirs, limits),
        }
    })?;
    ids.write(pid)?;
    unix_socket::send(socket, b"ids", &doors)?;
    Ok((pid, start_time(pid)?, pidfd))
}
