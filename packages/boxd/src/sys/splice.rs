//! Bytes on their way from one descriptor to another, which nobody here reads or copies.

use super::{checked, descriptor};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;

/// Where such bytes are while they are in neither.
pub struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    held: usize,
    /// What the kernel has given: users have only so much room in pipes.
    pub room: usize,
    /// For whoever counts some of them while they are there.
    pub counted: Option<Rc<()>>,
}

impl Pipe {
    pub fn new(room: usize) -> io::Result<Pipe> {
        let (out, into) = descriptor::pipe()?;
        // SAFETY: takes no pointers.
        let given = unsafe {
            libc::fcntl(into.as_raw_fd(), libc::F_SETPIPE_SZ, room as libc::c_int);
            libc::fcntl(into.as_raw_fd(), libc::F_GETPIPE_SZ)
        };
        let room = usize::try_from(given).unwrap_or(0);
        Ok(Pipe { out, into, held: 0, room, counted: None })
    }

    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes what is there, `most` at a time; 0 when nothing will come any more.
    pub fn fill(&mut self, from: impl AsFd, most: usize) -> io::Result<usize> {
        let count = splice(from, &self.into, most)?;
        self.held += count;
        Ok(count)
    }

    /// Gives what the other side takes now.
    pub fn pour(&mut self, to: impl AsFd) -> io::Result<()> {
        while self.held > 0 {
            match splice(&self.out, to.as_fd(), self.held) {
                Ok(count) => self.held -= count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn splice(from: impl AsFd, to: impl AsFd, most: usize) -> io::Result<usize> {
    let (from, to) = (from.as_fd().as_raw_fd(), to.as_fd().as_raw_fd());
    let how = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let (here, there) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: without offsets no memory of ours is touched.
    let count = unsafe { libc::splice(from, here, to, there, most, how) };
    checked(count as i64).map(|count| count as usize)
}
