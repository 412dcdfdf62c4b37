//! Sockets with a name that is in no filesystem: it belongs to the network namespace, so it is in
//! nobody's way, and nobody outside of a sandbox can reach it. They keep messages apart.

use super::{checked, checked_fd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Who has connected, as the kernel saw it then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    pub uid: u32,
    pub gid: u32,
}

/// Never waits; `accept` from it neither.
pub fn listen(name: &str) -> io::Result<OwnedFd> {
    let socket = new(libc::SOCK_NONBLOCK)?;
    let (address, length) = address(name)?;
    // SAFETY: the address is valid for the given length.
    unsafe {
        checked(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length))?;
        checked(libc::listen(socket.as_raw_fd(), 64))?;
    }
    Ok(socket)
}

pub fn connect(name: &str) -> io::Result<OwnedFd> {
    let socket = new(0)?;
    let (address, length) = address(name)?;
    // SAFETY: the address is valid for the given length.
    checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

pub fn accept(listener: impl AsFd) -> io::Result<(OwnedFd, Peer)> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let nobody = std::ptr::null_mut();
    let fd = listener.as_fd().as_raw_fd();
    // SAFETY: the peer's address is not asked for.
    let socket = checked_fd(unsafe { libc::accept4(fd, nobody, nobody.cast(), flags) })?;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most one ucred.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        )
    })?;
    Ok((socket, Peer { uid: peer.uid, gid: peer.gid }))
}

fn new(flags: i32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | flags;
    // SAFETY: takes no pointers.
    checked_fd(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })
}

fn address(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte stays 0: that is what makes it abstract.
    let Some(room) = address.sun_path.get_mut(1..=name.len()) else {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    };
    for (place, byte) in room.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, length as libc::socklen_t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{credentials, unix_socket};

    #[test]
    fn messages_arrive_with_who_sent_them() {
        let name = format!("boxd/test/{}", std::process::id());
        let listener = listen(&name).unwrap();
        assert!(accept(&listener).is_err(), "nobody has come");
        let client = connect(&name).unwrap();
        unix_socket::tell(&client, b"hello").unwrap();
        let (server, peer) = accept(&listener).unwrap();
        assert_eq!(peer.uid, credentials::effective_uid());
        let mut bytes = [0; 16];
        assert_eq!(unix_socket::receive(&server, &mut bytes).unwrap().0, 5);
        assert!(listen(&name).is_err(), "the name is taken");
        assert!(connect(&"x".repeat(200)).is_err());
    }
}
