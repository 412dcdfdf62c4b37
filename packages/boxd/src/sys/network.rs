//! Interfaces and connections.

use super::{checked, checked_fd};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
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
    begin_connect_to((Ipv4Addr::LOCALHOST, port).into())
}

pub fn begin_connect_v6(port: u16) -> io::Result<OwnedFd> {
    begin_connect_to((Ipv6Addr::LOCALHOST, port).into())
}

fn begin_connect_to(to: SocketAddr) -> io::Result<OwnedFd> {
    let socket = stream_socket(to)?;
    begin_connect(&socket, to)?;
    Ok(socket)
}

/// A socket that can be connected to such an address.
pub fn stream_socket(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers.
    checked_fd(unsafe { libc::socket(family, kind, 0) })
}

pub fn begin_connect(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    match to {
        SocketAddr::V4(to) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*to.ip()).to_be() },
                sin_zero: [0; 8],
            };
            connect(socket, (&raw const address).cast(), size_of_val(&address))
        }
        SocketAddr::V6(to) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                sin6_scope_id: to.scope_id(),
            };
            connect(socket, (&raw const address).cast(), size_of_val(&address))
        }
    }
}

fn connect(socket: &OwnedFd, address: *const libc::sockaddr, length: usize) -> io::Result<()> {
    // SAFETY: the caller passes the address of a live struct and its size.
    match checked(unsafe { libc::connect(socket.as_raw_fd(), address, length as u32) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Of these alone the kernel takes the port that a socket connects from. Fails before Linux 6.3.
pub fn limit_ports(socket: impl AsFd, first: u16, last: u16) -> io::Result<()> {
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let range = u32::from(last) << 16 | u32::from(first);
    // SAFETY: reads one u32.
    checked(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_IP,
            IP_LOCAL_PORT_RANGE,
            (&raw const range).cast(),
            size_of_val(&range) as libc::socklen_t,
        )
    })?;
    Ok(())
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

/// Reads without taking.
pub fn peek(socket: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the slice is writable for its whole length.
    let count = unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), libc::MSG_PEEK) };
    checked(count as i64).map(|count| count as usize)
}

/// Tells the peer that nothing more comes.
pub fn shut_down_writing(socket: impl AsFd) {
    // SAFETY: takes no pointers; a peer that is gone needs no telling.
    unsafe { libc::shutdown(socket.as_fd().as_raw_fd(), libc::SHUT_WR) };
}

/// Whoever connects from now on is refused; who waits to be accepted is reset.
pub fn stop_listening(listener: impl AsFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::shutdown(listener.as_fd().as_raw_fd(), libc::SHUT_RD) })?;
    Ok(())
}

/// Takes connections again on the port it has kept.
pub fn listen_again(listener: impl AsFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::listen(listener.as_fd().as_raw_fd(), BACKLOG) })?;
    Ok(())
}

const BACKLOG: i32 = 1024;

/// The network namespace that a socket belongs to.
pub fn namespace_of(socket: impl AsFd) -> io::Result<OwnedFd> {
    const SIOCGSKNS: libc::c_ulong = 0x894c;
    // SAFETY: takes no pointers and returns a new descriptor.
    checked_fd(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCGSKNS as _) })
}

/// Lets a listener take connections that were made for any other address and port.
pub fn take_any_destination(listener: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: reads one int.
    checked(unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::SOL_IP,
            libc::IP_TRANSPARENT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Where a connection was going that was led elsewhere; None for one that was taken as it is.
pub fn original_destination(socket: impl AsFd) -> io::Result<Option<SocketAddrV4>> {
    const SO_ORIGINAL_DST: libc::c_int = 80;
    // SAFETY: an all-zero address is valid, and the option writes one of them at most.
    let (address, outcome) = unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let fd = socket.as_fd().as_raw_fd();
        let into = (&raw mut address).cast();
        let outcome = libc::getsockopt(fd, libc::SOL_IP, SO_ORIGINAL_DST, into, &mut size);
        (address, checked(outcome))
    };
    match outcome.err().and_then(|error| error.raw_os_error()) {
        None => {}
        Some(libc::ENOENT | libc::ENOPROTOOPT) => return Ok(None),
        Some(other) => return Err(io::Error::from_raw_os_error(other)),
    }
    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
    Ok(Some(SocketAddrV4::new(ip, u16::from_be(address.sin_port))))
}

/// Closing it tells the peer that this was no regular end.
pub fn reset_on_close(socket: impl AsFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: reads one linger; a socket that is gone needs no telling.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
}

/// Small pieces do not wait for each other.
pub fn send_at_once(socket: impl AsFd) {
    let on: libc::c_int = 1;
    // SAFETY: reads one int; without it a connection is slower and nothing else.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
}

/// Nothing is lost on a way within this machine, so nothing has to be paced on it either, whatever
/// this machine does for those that lead away. Every kernel has this one.
pub const UNPACED: &str = "reno";

/// What a listener takes is like it.
pub fn send_unpaced(socket: impl AsFd) {
    // SAFETY: reads that many bytes; without it a connection is slower and nothing else.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            UNPACED.as_ptr().cast(),
            UNPACED.len() as libc::socklen_t,
        )
    };
}

/// An integer option of a socket, such as whether it is a listener.
pub fn socket_fact(socket: impl AsFd, option: libc::c_int) -> io::Result<i32> {
    let mut fact: libc::c_int = 0;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the options asked for write one int.
    checked(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut fact).cast(),
            &mut size,
        )
    })?;
    Ok(fact)
}
