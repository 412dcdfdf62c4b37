//! The only way out of a sandbox's network: into a second namespace, the throat, in which nothing
//! lives but two sockets. Whoever holds those sockets hears every connection that a program
//! makes and every name it asks for. The throat itself leads nowhere.
//!
//! In the sandbox's own namespace no port is taken and no rule is set, so there is nothing in it
//! to get in the way of or to get around.

mod interface;
mod message;
mod redirect;

use crate::sys::netlink::{self, Netlink};
use crate::sys::{descriptor, namespace, network};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

/// The throat's own address: the resolver, and the proxies for programs that want one.
pub const GATE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SANDBOX: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const DNS: u16 = 53;
/// Any would do, in a namespace without anybody else; one that was chosen is kept while it is deaf.
const PORT: u16 = 1;

pub struct WayOut {
    /// Takes every TCP connection; deaf until somebody is there to take them from it.
    pub listener: TcpListener,
    pub resolver: UdpSocket,
    /// Says whose a connection of the sandbox's own namespace is.
    pub owners: OwnedFd,
}

/// Turns the namespace this process is in into the throat and leaves it for a new one.
pub fn make() -> io::Result<WayOut> {
    let step = |what: &'static str| move |error| io::Error::other(format!("{what}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(step("listener"))?;
    network::stop_listening(&listener).map_err(step("listener"))?;
    let resolver = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, DNS)).map_err(step("resolver"))?;
    listener.set_nonblocking(true)?;
    resolver.set_nonblocking(true)?;
    let throat = Netlink::open(netlink::ROUTE)?;
    lead_to(&listener).map_err(step("nftables"))?;
    let throat_namespace = network::namespace_of(&listener).map_err(step("network namespace"))?;

    namespace::new_network_namespace().map_err(step("network namespace"))?;
    let here = Netlink::open(netlink::ROUTE)?;
    interface::make_pair(&here, throat_namespace.as_fd()).map_err(step("veth"))?;
    interface::set_up_throat(&throat).map_err(step("throat"))?;
    interface::set_up_sandbox(&here).map_err(step("eth0"))?;
    let owners = Netlink::open(netlink::SOCKETS).map_err(step("socket owners"))?.into_socket();
    descriptor::set_nonblocking(&owners)?;
    Ok(WayOut { listener, resolver, owners })
}

/// Every connection ends at the listener.
fn lead_to(listener: &TcpListener) -> io::Result<()> {
    let taken = network::take_any_destination(listener)
        .and_then(|()| redirect::take(&Netlink::open(netlink::NETFILTER)?, PORT));
    // A kernel without that has the other.
    taken.or_else(|_| redirect::translate(&Netlink::open(netlink::NETFILTER)?, PORT))
}

/// Tells programs where the resolver is. Whatever the image has there is not followed but replaced.
pub fn name_resolver() -> io::Result<()> {
    let file = "/etc/resolv.conf";
    fs::create_dir_all("/etc")?;
    match fs::remove_file(file) {
        // Somebody has mounted one there, which can be written but not removed.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(file, format!("nameserver {GATE}\noptions ndots:0 timeout:2 attempts:2\n"))
}
