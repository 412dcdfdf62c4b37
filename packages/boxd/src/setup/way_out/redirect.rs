//! Every TCP connection that enters the throat ends at one listener, whatever it was made for.
//!
//! It is taken as it is where the kernel can do that. Where it has to be translated instead, two
//! connections from one port to two hosts become one and the same, and the kernel then gives the
//! second another port, under which nobody knows whose it is: it is refused.

use super::message::Message;
use crate::sys::netlink::Netlink;
use std::io;

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NFTABLES: u16 = 10;
const NEW_TABLE: u16 = NFTABLES << 8;
const NEW_CHAIN: u16 = NFTABLES << 8 | 3;
const NEW_RULE: u16 = NFTABLES << 8 | 6;

const ANY_FAMILY: u8 = 0;
const IPV4: u8 = 2;
const PREROUTING: u32 = 0;
const BEFORE_TRANSLATION: i32 = -150;
const TRANSLATION: i32 = -100;
const PROTOCOL: u32 = 16;
const EQUAL: u32 = 0;
const REGISTER: u32 = 1;
const TCP: u8 = 6;

const TABLE: &str = "guard";
const CHAIN: &str = "in";

pub fn take(netfilter: &Netlink, port: u16) -> io::Result<()> {
    lead(netfilter, port, "filter", BEFORE_TRANSLATION, |list| {
        expression(list, "tproxy", |it| it.number(1, u32::from(IPV4)).number(3, REGISTER))
    })
}

pub fn translate(netfilter: &Netlink, port: u16) -> io::Result<()> {
    lead(netfilter, port, "nat", TRANSLATION, |list| {
        expression(list, "redir", |it| it.number(1, REGISTER))
    })
}

fn lead(
    netfilter: &Netlink,
    port: u16,
    kind: &str,
    priority: i32,
    how: impl FnOnce(Message) -> Message,
) -> io::Result<()> {
    let table = Message::making(NEW_TABLE).raw(&about(IPV4, 0)).text(1, TABLE);
    let chain = Message::making(NEW_CHAIN)
        .raw(&about(IPV4, 0))
        .text(1, TABLE)
        .text(3, CHAIN)
        .nested(4, |hook| hook.number(1, PREROUTING).number(2, priority as u32))
        .text(7, kind);
    let rule = Message::making(NEW_RULE).raw(&about(IPV4, 0)).text(1, TABLE).text(2, CHAIN).nested(
        4,
        |list| {
            let list = expression(list, "meta", |it| it.number(1, REGISTER).number(2, PROTOCOL));
            let list = expression(list, "cmp", |it| {
                it.number(1, REGISTER).number(2, EQUAL).nested(3, |data| data.attribute(1, &[TCP]))
            });
            let list = expression(list, "immediate", |it| {
                it.number(1, REGISTER).nested(2, |data| data.attribute(1, &port.to_be_bytes()))
            });
            how(list)
        },
    );
    let batch = [
        Message::plain(BATCH_BEGIN).raw(&about(ANY_FAMILY, NFTABLES)).finish(),
        table.finish(),
        chain.finish(),
        rule.finish(),
        Message::plain(BATCH_END).raw(&about(ANY_FAMILY, NFTABLES)).finish(),
    ]
    .concat();
    netfilter.ask(&batch, 3)
}

fn expression(list: Message, name: &str, fill: impl FnOnce(Message) -> Message) -> Message {
    list.nested(1, |element| element.text(1, name).nested(2, fill))
}

/// struct nfgenmsg.
fn about(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}
