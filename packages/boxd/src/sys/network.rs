//! The loopback interface, and connecting to it.

use super::{checked, checked_fd};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Brings `lo` up. The kernel gives it 127.0.0.1 and ::1 by itself.
pub fn loopback_up() -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let socket = checked_fd(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: SIOCSIFFLAGS reads one ifreq.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })?;
    Ok(())
}

/// Begins to connect to `port` on loopback; the socket is writable when that is decided.
pub fn begin_connect_v4(port: u16) -> io::Result<OwnedFd> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    };
    begin_connect(libc::AF_INET, (&raw const address).cast(), size_of_val(&address))
}

pub fn begin_connect_v6(port: u16) -> io::Result<OwnedFd> {
    let address = libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as u16,
        sin6_port: port.to_be(),
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: Ipv6Addr::LOCALHOST.octets() },
        sin6_scope_id: 0,
    };
    begin_connect(libc::AF_INET6, (&raw const address).cast(), size_of_val(&address))
}

fn begin_connect(
    family: i32,
    address: *const libc::sockaddr,
    length: usize,
) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers.
    let socket = checked_fd(unsafe { libc::socket(family, kind, 0) })?;
    // SAFETY: both callers pass the address of a live struct and its size.
    match checked(unsafe { libc::connect(socket.as_raw_fd(), address, length as u32) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// How a connect that was begun has ended.
pub fn connect_outcome(socket: impl AsFd) -> io::Result<()> {
    let mut error: libc::c_int = 0;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: SO_ERROR writes one int.
    checked(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &mut size,
        )
    })?;
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Tells the peer that nothing more comes.
pub fn shut_down_writing(socket: impl AsFd) {
    // SAFETY: takes no pointers; a peer that is gone needs no telling.
    unsafe { libc::shutdown(socket.as_fd().as_raw_fd(), libc::SHUT_WR) };
}
