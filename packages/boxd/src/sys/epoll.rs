//! Waiting for many descriptors at once.

use super::{checked, checked_fd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

pub const READABLE: u32 = libc::EPOLLIN as u32;
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;
/// The other side has said its last word.
pub const LEAVING: u32 = libc::EPOLLRDHUP as u32;

#[derive(Clone, Copy)]
pub struct Event {
    pub readable: bool,
    pub writable: bool,
    pub token: u64,
}

pub struct Epoll {
    fd: OwnedFd,
    raw: Vec<libc::epoll_event>,
}

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        Epoll::with_room(64)
    }

    /// For so many events at a time.
    pub fn with_room(room: usize) -> io::Result<Epoll> {
        // SAFETY: takes no pointers.
        let fd = checked_fd(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let raw = vec![libc::epoll_event { events: 0, u64: 0 }; room];
        Ok(Epoll { fd, raw })
    }

    pub fn add(&self, fd: impl AsFd, events: u32, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, token)
    }

    pub fn modify(&self, fd: impl AsFd, events: u32, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, token)
    }

    pub fn remove(&self, fd: impl AsFd) {
        // Fails only for a descriptor that is not watched, which is what is wanted.
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, 0);
    }

    fn control(&self, how: i32, fd: impl AsFd, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        let watched = fd.as_fd().as_raw_fd();
        // SAFETY: `event` outlives the call.
        checked(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), how, watched, &mut event) })?;
        Ok(())
    }

    /// Waits for this one like for any other: it is readable while one of its own has something.
    pub fn add_other(&self, other: &Epoll, token: u64) -> io::Result<()> {
        self.add(&other.fd, READABLE, token)
    }

    /// Waits until something happens or `patience` is over; without patience, for ever.
    pub fn wait(&mut self, patience: Option<Duration>, into: &mut Vec<Event>) -> io::Result<()> {
        // Rounded up, so that a timer has really passed when the wait ends.
        let millis = patience
            .map_or(-1, |wait| wait.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32);
        let room = self.raw.len() as i32;
        into.clear();
        // SAFETY: `raw` has room for that many events.
        let count = match checked(unsafe {
            libc::epoll_wait(self.fd.as_raw_fd(), self.raw.as_mut_ptr(), room, millis)
        }) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        into.extend(self.raw[..count].iter().map(|event| {
            let events = event.events;
            let failed = events & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
            Event {
                readable: failed || events & READABLE != 0,
                writable: failed || events & WRITABLE != 0,
                token: event.u64,
            }
        }));
        Ok(())
    }
}
