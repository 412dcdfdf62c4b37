//! Whose a connection is. The kernel says so, and nobody inside can say otherwise.

use crate::sys::descriptor;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;

const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const HEADER: usize = 16;
/// struct inet_diag_req_v2.
const QUESTION: usize = 56;
/// Where struct inet_diag_msg has the user, and then the file by which it is held.
const UID_AT: usize = HEADER + 4 + 48 + 12;

pub struct Owner {
    /// As the sandbox counts them.
    pub uid: u32,
    /// What the kernel calls the socket.
    pub inode: u32,
}

/// Of who connected from `from` to `to`; None for a connection whose program has closed it already:
/// it was somebody's, and nobody knows whose.
pub fn of(owners: impl AsFd, from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Option<Owner>> {
    let socket = owners.as_fd();
    forget_old_answers(socket);
    descriptor::write(socket, &question(from, to))?;
    let mut answer = [0; 512];
    let length = descriptor::read(socket, &mut answer)?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let about = answer.get(HEADER + 4..HEADER + 8);
    if length < UID_AT + 8 || kind != BY_FAMILY || about != Some(&ports(from, to)[..]) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let number = |at: usize| answer[at..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let inode = number(UID_AT + 4).filter(|&inode| inode != 0);
    Ok(number(UID_AT).zip(inode).map(|(uid, inode)| Owner { uid, inode }))
}

/// The socket is also in the sandbox's hands, so an answer may lie there that is not ours.
fn forget_old_answers(socket: impl AsFd) {
    let mut nowhere = [0; 512];
    for _ in 0..16 {
        if descriptor::read(socket.as_fd(), &mut nowhere).is_err() {
            return;
        }
    }
}

fn question(from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
    const EVERY_STATE: [u8; 4] = [0xff; 4];
    const NO_COOKIE: [u8; 8] = [0xff; 8];
    let mut bytes = Vec::with_capacity(HEADER + QUESTION);
    bytes.extend_from_slice(&((HEADER + QUESTION) as u32).to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    bytes.extend_from_slice(&EVERY_STATE);
    bytes.extend_from_slice(&ports(from, to));
    for address in [from, to] {
        bytes.extend_from_slice(&address.ip().octets());
        bytes.extend_from_slice(&[0; 12]);
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&NO_COOKIE);
    bytes
}

fn ports(from: SocketAddrV4, to: SocketAddrV4) -> [u8; 4] {
    let ([a, b], [c, d]) = (from.port().to_be_bytes(), to.port().to_be_bytes());
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{credentials, netlink};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_connection_is_its_makers() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
        let client = TcpStream::connect(to).unwrap();
        let SocketAddr::V4(from) = client.local_addr().unwrap() else { panic!() };
        let owners = netlink::Netlink::open(netlink::SOCKETS).unwrap().into_socket();
        descriptor::set_nonblocking(&owners).unwrap();
        let owner = of(&owners, from, to).unwrap().unwrap();
        assert_eq!(owner.uid, credentials::effective_uid());
        let link = format!("/proc/self/fd/{}", client.as_raw_fd());
        let name = format!("socket:[{}]", owner.inode);
        assert_eq!(std::fs::read_link(link).unwrap().to_str(), Some(&name[..]));
        let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        assert!(of(&owners, nobody, to).is_err());
        drop(client);
        assert!(of(&owners, from, to).unwrap().is_none(), "left open by the other side alone");
    }
}
