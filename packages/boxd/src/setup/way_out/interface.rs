//! The pair of interfaces between a sandbox's network and its throat.

use super::message::Message;
use super::{GATE, SANDBOX};
use crate::sys::netlink::Netlink;
use crate::sys::network;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Both namespaces are new, so the first free number is the same in both.
const PAIR: u32 = 2;
const LOOPBACK: u32 = 1;
/// As large as on loopback: nothing on this way has to cut packets up.
const MTU: u32 = 65_535;
const NO_ADDRESSES_BY_ITSELF: u8 = 1;
const LINK_UP: u32 = libc::IFF_UP as u32;

const RTAX_CC_ALGO: u16 = 16;
const VETH_PEER: u16 = 1;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const INET6_ADDRESS_MODE: u16 = 8;

/// Makes the pair: `eth0` here, its other end in the throat.
pub fn make_pair(here: &Netlink, throat: BorrowedFd) -> io::Result<()> {
    let make = Message::making(libc::RTM_NEWLINK)
        .raw(&link(PAIR, 0))
        .text(libc::IFLA_IFNAME, "eth0")
        .attribute(libc::IFLA_MTU, &MTU.to_ne_bytes())
        .nested(libc::IFLA_LINKINFO, |info| {
            info.text(INFO_KIND, "veth").nested(INFO_DATA, |data| {
                data.nested(VETH_PEER, |peer| {
                    peer.raw(&link(PAIR, 0))
                        .text(libc::IFLA_IFNAME, "eth0")
                        .attribute(libc::IFLA_MTU, &MTU.to_ne_bytes())
                        .attribute(libc::IFLA_NET_NS_FD, &throat.as_raw_fd().to_ne_bytes())
                })
            })
        });
    here.ask(&make.finish(), 1)
}

/// The sandbox's end: everything behind the gate is reached through it, and nothing else is.
pub fn set_up_sandbox(here: &Netlink) -> io::Result<()> {
    without_inet6_address(here)?;
    bring_up(here, PAIR)?;
    add_address(here, SANDBOX)?;
    let route = route(libc::RT_TABLE_MAIN, libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST, 15)
        .attribute(libc::RTA_DST, &Ipv4Addr::new(198, 18, 0, 0).octets())
        .attribute(libc::RTA_GATEWAY, &GATE.octets())
        .nested(libc::RTA_METRICS, |metrics| metrics.text(RTAX_CC_ALGO, network::UNPACED));
    here.ask(&route.finish(), 1)
}

/// The throat's end: every address that stands for a name is its own, so that what is no TCP
/// is refused at once instead of getting lost.
pub fn set_up_throat(throat: &Netlink) -> io::Result<()> {
    bring_up(throat, LOOPBACK)?;
    without_inet6_address(throat)?;
    bring_up(throat, PAIR)?;
    add_address(throat, GATE)?;
    let route = route(libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST, libc::RTN_LOCAL, 16)
        .attribute(libc::RTA_DST, &Ipv4Addr::new(198, 19, 0, 0).octets())
        .attribute(libc::RTA_OIF, &LOOPBACK.to_ne_bytes());
    throat.ask(&route.finish(), 1)
}

fn bring_up(netlink: &Netlink, index: u32) -> io::Result<()> {
    let up = Message::changing(libc::RTM_NEWLINK).raw(&link(index, LINK_UP));
    netlink.ask(&up.finish(), 1)
}

/// Before it is up, or it has one already. A kernel without IPv6 has no such family.
fn without_inet6_address(netlink: &Netlink) -> io::Result<()> {
    let message = Message::changing(libc::RTM_NEWLINK).raw(&link(PAIR, 0)).nested(
        libc::IFLA_AF_SPEC,
        |families| {
            families.nested(libc::AF_INET6 as u16, |inet6| {
                inet6.attribute(INET6_ADDRESS_MODE, &[NO_ADDRESSES_BY_ITSELF])
            })
        },
    );
    match netlink.ask(&message.finish(), 1) {
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
        outcome => outcome,
    }
}

fn add_address(netlink: &Netlink, address: Ipv4Addr) -> io::Result<()> {
    let message = Message::making(libc::RTM_NEWADDR)
        .raw(&[libc::AF_INET as u8, 30, 0, 0])
        .raw(&PAIR.to_ne_bytes())
        .attribute(libc::IFA_LOCAL, &address.octets())
        .attribute(libc::IFA_ADDRESS, &address.octets());
    netlink.ask(&message.finish(), 1)
}

/// struct ifinfomsg.
fn link(index: u32, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// struct rtmsg.
fn route(table: u8, scope: u8, kind: u8, prefix: u8) -> Message {
    let family = libc::AF_INET as u8;
    Message::making(libc::RTM_NEWROUTE).raw(&[
        family,
        prefix,
        0,
        0,
        table,
        libc::RTPROT_BOOT,
        scope,
        kind,
        0,
        0,
        0,
        0,
    ])
}
