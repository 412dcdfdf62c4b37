//! Socket pairs that carry descriptors.

use super::{checked, checked_fd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// How many descriptors fit into one message (the kernel's SCM_MAX_FD).
pub const MOST_DESCRIPTORS: usize = 253;
const CONTROL_SIZE: usize = 2048;

#[repr(align(8))]
struct Control([u8; CONTROL_SIZE]);

/// Two ends that keep messages apart and say when the other end is gone.
pub fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0 as RawFd; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `ends` has room for the two descriptors.
    checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Begins to connect to a listener and never waits: where its queue is full, that is an error.
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers.
    let socket = checked_fd(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: an all-zero address is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    let name = path.as_os_str().as_bytes();
    if name.len() >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, from) in address.sun_path.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is live and of that size.
    checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(socket)
}

/// Whether the peer lives outside this pid namespace: the kernel then has no number for it.
pub fn is_from_outside(socket: impl AsFd) -> io::Result<bool> {
    Ok(peer_pid(socket)? == 0)
}

/// Whoever connected, or whoever made the socket that was connected to listen, alive or not.
pub fn peer_pid(socket: impl AsFd) -> io::Result<i32> {
    Ok(peer(socket)?.pid)
}

/// The same, with its ids as they are counted here.
pub fn peer(socket: impl AsFd) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: -1, uid: 0, gid: 0 };
    let mut size = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: SO_PEERCRED writes one ucred.
    checked(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut size,
        )
    })?;
    Ok(peer)
}

/// From now on every message says which process sent it.
pub fn ask_for_senders(socket: impl AsFd) -> io::Result<()> {
    set_option(socket, libc::SO_PASSCRED, 1)
}

/// Asks that so many bytes may wait in it for the other end; the kernel gives what it may.
pub fn hold_more(socket: impl AsFd, bytes: i32) -> io::Result<()> {
    set_option(socket, libc::SO_SNDBUF, bytes)
}

fn set_option(socket: impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: these options take one int.
    checked(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// A message without descriptors.
pub fn tell(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    send::<OwnedFd>(socket, bytes, &[])
}

pub fn send<D: AsFd>(socket: impl AsFd, bytes: &[u8], descriptors: &[D]) -> io::Result<()> {
    let numbers: Vec<RawFd> = descriptors.iter().map(|one| one.as_fd().as_raw_fd()).collect();
    let payload = size_of_val(numbers.as_slice());
    if numbers.len() > MOST_DESCRIPTORS {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut control = Control([0; CONTROL_SIZE]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
    // SAFETY: the header points at live buffers; the control buffer is aligned for cmsghdr and
    // larger than CMSG_SPACE of the most descriptors.
    checked(unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if !numbers.is_empty() {
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(payload as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(payload as u32) as _;
            std::ptr::copy_nonoverlapping(
                numbers.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(header),
                payload,
            );
        }
        libc::sendmsg(socket.as_fd().as_raw_fd(), &message, libc::MSG_NOSIGNAL) as i64
    })?;
    Ok(())
}

/// One message and the descriptors with it; an empty one means that the other end is gone.
pub fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive_from(socket, into).map(|(count, descriptors, _)| (count, descriptors))
}

/// The same, and who sent it, where that was asked for and the process can be seen from here.
pub fn receive_from(
    socket: impl AsFd,
    into: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>, Option<i32>)> {
    let mut sender = None;
    let mut control = Control([0; CONTROL_SIZE]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut descriptors = Vec::new();
    // SAFETY: the header points at live buffers of the stated sizes; the descriptors the kernel
    // reports are new and belong to nobody else.
    let count = checked(unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_SIZE as _;
        let fd = socket.as_fd().as_raw_fd();
        let count = libc::recvmsg(fd, &mut message, libc::MSG_CMSG_CLOEXEC) as i64;
        let mut header = if count < 0 { null_mut() } else { libc::CMSG_FIRSTHDR(&message) };
        while !header.is_null() {
            let payload = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            match (*header).cmsg_type {
                libc::SCM_RIGHTS => {
                    let numbers = libc::CMSG_DATA(header).cast::<RawFd>();
                    for index in 0..payload / size_of::<RawFd>() {
                        let number = numbers.add(index).read_unaligned();
                        descriptors.push(OwnedFd::from_raw_fd(number));
                    }
                }
                libc::SCM_CREDENTIALS => {
                    let credentials = libc::CMSG_DATA(header).cast::<libc::ucred>();
                    sender = Some(credentials.read_unaligned().pid).filter(|&pid| pid > 0);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
        count
    })?;
    Ok((count as usize, descriptors, sender))
}
