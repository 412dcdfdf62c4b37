//! Processes that make disks ahead: most of the time that a disk takes is spent waiting for the
//! kernel, and nobody should wait with it. What is ready stays in a socket until it is taken.

use super::{Made, Size};
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, poll, signal, title, unix_socket};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// A maker that takes longer than this is no help.
const PATIENCE: Duration = Duration::from_secs(1);

pub type Make = fn(&Path, Size) -> io::Result<super::Made>;

#[derive(Default)]
pub struct Makers {
    at_work: Vec<Maker>,
    most: usize,
    ahead_each: usize,
}

/// It ends with hold.
struct Maker {
    socket: OwnedFd,
    asked: VecDeque<Size>,
    pidfd: OwnedFd,
}

impl Drop for Maker {
    fn drop(&mut self) {
        process::reap_pidfd(&self.pidfd);
    }
}

impl Makers {
    /// So many processes, each so far ahead.
    pub fn new(most: usize, ahead_each: usize) -> Makers {
        Makers { at_work: Vec::new(), most, ahead_each }
    }

    /// A disk of that size, if one is ready or about to be. None is ever given twice.
    pub fn take(&mut self, size: Size) -> Option<Made> {
        while let Some(disk) = self.next_ready(Duration::ZERO) {
            if let Some(disk) = disk.of_size(size) {
                return Some(disk);
            }
        }
        while self.at_work.iter().any(|maker| maker.asked.contains(&size)) {
            if let Some(disk) = self.next_ready(PATIENCE)?.of_size(size) {
                return Some(disk);
            }
        }
        None
    }

    /// How many of that size are ready or being made.
    pub fn count(&self, size: Size) -> usize {
        let of_size = |maker: &Maker| maker.asked.iter().filter(|asked| **asked == size).count();
        self.at_work.iter().map(of_size).sum()
    }

    /// Has as many made as are likely to be wanted soon.
    pub fn ask_for(&mut self, size: Size, folder: &Path, make: Make) -> io::Result<()> {
        while self.at_work.len() < self.most {
            self.at_work.push(Maker::start(folder, make)?);
        }
        for maker in &mut self.at_work {
            while maker.asked.len() < self.ahead_each
                && unix_socket::tell(&maker.socket, &size.to_bytes()).is_ok()
            {
                maker.asked.push_back(size);
            }
        }
        // Of one that somebody ended, what it had made is still good.
        self.at_work.retain(|maker| !maker.asked.is_empty());
        Ok(())
    }

    fn next_ready(&mut self, patience: Duration) -> Option<Ready> {
        let busy = self.at_work.iter().enumerate().filter(|(_, maker)| !maker.asked.is_empty());
        let (places, sockets): (Vec<usize>, Vec<_>) =
            busy.map(|(place, maker)| (place, maker.socket.as_fd())).unzip();
        let place = places[poll::first_readable(&sockets, patience).ok()??];
        let size = self.at_work[place].asked.pop_front()?;
        match unix_socket::receive(&self.at_work[place].socket, &mut [0]) {
            Ok((1, disks)) => Some(Ready { size, disk: Made::from_list(disks) }),
            // It is gone. The next one is started when there is something to ask for.
            _ => {
                self.at_work.swap_remove(place);
                Some(Ready { size, disk: None })
            }
        }
    }
}

struct Ready {
    size: Size,
    disk: Option<Made>,
}

impl Ready {
    /// One of another size is of no use to anybody, and is gone with this.
    fn of_size(self, size: Size) -> Option<Made> {
        self.disk.filter(|_| self.size == size)
    }
}

impl Maker {
    fn start(folder: &Path, make: Make) -> io::Result<Maker> {
        let (socket, theirs) = unix_socket::message_pair()?;
        match process::clone_into(0)? {
            Clone::Child => work(&theirs, folder, make),
            Clone::Parent { pidfd, .. } => Ok(Maker { socket, asked: VecDeque::new(), pidfd }),
        }
    }
}

fn work(socket: &OwnedFd, folder: &Path, make: Make) -> ! {
    signal::unblock_all();
    title::set(&format!("boxd disks {}", folder.display()));
    let closed = descriptor::close_all_except(&mut [socket.as_raw_fd()]);
    let mut order = [0; Size::LENGTH];
    while closed.is_ok()
        && let Ok((Size::LENGTH, _)) = unix_socket::receive(socket, &mut order)
    {
        // What cannot be made ahead is made when it is wanted, and that says why not.
        let disk = make(folder, Size::from_bytes(order)).map(Made::into_list).unwrap_or_default();
        let sent = unix_socket::send(socket, &[0], &disk);
        if sent.is_err() {
            break;
        }
    }
    process::exit_now(0)
}
