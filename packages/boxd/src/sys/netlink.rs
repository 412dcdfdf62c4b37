//! Asking the kernel's network side for changes.

use super::{checked_fd, descriptor};
use std::io;
use std::os::fd::OwnedFd;

pub const ROUTE: i32 = libc::NETLINK_ROUTE;
pub const NETFILTER: i32 = libc::NETLINK_NETFILTER;
pub const SOCKETS: i32 = libc::NETLINK_SOCK_DIAG;

const HEADER: usize = 16;

/// Belongs to the network namespace it was opened in, wherever the process goes afterwards.
pub struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub fn open(protocol: i32) -> io::Result<Netlink> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointers.
        let socket = checked_fd(unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) })?;
        Ok(Netlink { socket })
    }

    /// For whoever borrows it; they ask about the namespace it was opened in.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends messages, `acknowledged` of which ask for an answer, and waits for those answers.
    pub fn ask(&self, messages: &[u8], acknowledged: usize) -> io::Result<()> {
        descriptor::write(&self.socket, messages)?;
        let mut answers = 0;
        let mut buffer = [0; 8192];
        while answers < acknowledged {
            let count = descriptor::read(&self.socket, &mut buffer)?;
            let mut rest = &buffer[..count];
            while let Some((length, kind)) = header(rest) {
                if i32::from(kind) == libc::NLMSG_ERROR {
                    refusal(rest)?;
                    answers += 1;
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn header(bytes: &[u8]) -> Option<(usize, u16)> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let kind = rest.first_chunk::<2>()?;
    let length = u32::from_ne_bytes(*length) as usize;
    (HEADER..=bytes.len()).contains(&length).then(|| (length, u16::from_ne_bytes(*kind)))
}

/// An answer is an error number, 0 where there is none.
fn refusal(answer: &[u8]) -> io::Result<()> {
    let number = answer.get(HEADER..).and_then(|rest| rest.first_chunk::<4>());
    match number.map(|number| i32::from_ne_bytes(*number)) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
