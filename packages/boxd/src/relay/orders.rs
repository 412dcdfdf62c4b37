//! What the guard decides, a line of JSON each, and what it is told.

use super::purses::Bytes;
use crate::sys::descriptor;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use serde_json::Value;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

const MOST_LINE: usize = 1 << 20;
/// A guard that does not listen any more is no guard.
const MOST_UNREAD: usize = 16 << 20;

pub enum Order {
    /// Borrow the way out of the sandbox behind this socket.
    Watch {
        sandbox: String,
        socket: String,
        /// With a socket for programs that want an SSH agent.
        agent: bool,
    },
    Leave {
        sandbox: String,
    },
    Answer {
        tunnel: u32,
        verdict: Verdict,
    },
    /// The answer will take long: whoever stops talking meanwhile is taken to have left.
    Hold {
        tunnel: u32,
    },
    /// A tunnel has lost its rule.
    Close {
        tunnel: u32,
    },
    /// So much may be carried for this in all.
    Fill {
        purse: String,
        most: Bytes,
        used: Bytes,
    },
    /// From now on these pay for a tunnel.
    Charge {
        tunnel: u32,
        purses: Vec<String>,
    },
}

pub enum Verdict {
    Refuse {
        reason: String,
    },
    /// To the first of these that answers. With `tls`, once the greeting names exactly this host,
    /// or none where the host is an address.
    Dial {
        targets: Vec<SocketAddr>,
        tls: Option<Option<String>>,
    },
    /// The guard wants to read along.
    Inspect,
}

pub fn parse(line: &[u8]) -> Result<Order, Failure> {
    let value =
        serde_json::from_slice(line).map_err(|error| Failure::invalid(error.to_string()))?;
    let mut fields = Fields::nested(value, "order")?;
    Ok(match fields.text("op")?.as_str() {
        "watch" => {
            let (sandbox, socket) = (fields.text("sandbox")?, fields.text("socket")?);
            Order::Watch { sandbox, socket, agent: fields.flag("agent", false)? }
        }
        "leave" => Order::Leave { sandbox: fields.text("sandbox")? },
        "hold" => Order::Hold { tunnel: fields.small("tunnel")? },
        "close" => Order::Close { tunnel: fields.small("tunnel")? },
        "fill" => {
            let most = |bytes: Option<u64>| bytes.unwrap_or(u64::MAX);
            Order::Fill {
                purse: fields.text("purse")?,
                most: Bytes {
                    up: most(fields.number_if_any("up")?),
                    down: most(fields.number_if_any("down")?),
                },
                used: Bytes { up: fields.number("usedUp")?, down: fields.number("usedDown")? },
            }
        }
        "charge" => {
            Order::Charge { tunnel: fields.small("tunnel")?, purses: fields.texts("purses")? }
        }
        "refuse" => Order::Answer {
            tunnel: fields.small("tunnel")?,
            verdict: Verdict::Refuse { reason: fields.text("reason")? },
        },
        "inspect" => Order::Answer { tunnel: fields.small("tunnel")?, verdict: Verdict::Inspect },
        "dial" => {
            let tunnel = fields.small("tunnel")?;
            let port = fields.small("port")?;
            let is_ip = |text: &String| text.parse::<IpAddr>();
            let targets =
                fields.texts("addresses")?.iter().map(is_ip).collect::<Result<Vec<_>, _>>();
            let targets = targets.map_err(|error| Failure::invalid(error.to_string()))?;
            let targets = targets.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
            let tls = match fields.flag("tls", true)? {
                true => Some(fields.text_if_any("name")?),
                false => None,
            };
            Order::Answer { tunnel, verdict: Verdict::Dial { targets, tls } }
        }
        other => return Err(fields.unknown_op(other)),
    })
}

/// Lines that have arrived, and part of the next.
#[derive(Default)]
pub struct Orders {
    bytes: Vec<u8>,
}

impl Orders {
    /// Reads once; false when the guard is gone.
    pub fn fill(&mut self, from: impl AsFd) -> bool {
        let mut chunk = [0; 65_536];
        match descriptor::read(from, &mut chunk) {
            Ok(count @ 1..) => {
                self.bytes.extend_from_slice(&chunk[..count]);
                self.bytes.len() <= MOST_LINE
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            Ok(0) => false,
        }
    }

    pub fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let rest = self.bytes.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.pop();
        Some(line)
    }
}

/// Lines that wait to be written.
#[derive(Default)]
pub struct Reports {
    bytes: Vec<u8>,
}

impl Reports {
    pub fn say(&mut self, what: &Value) {
        self.bytes.extend_from_slice(what.to_string().as_bytes());
        self.bytes.push(b'\n');
    }

    /// False when the guard is gone or does not listen.
    pub fn flush(&mut self, to: impl AsFd) -> bool {
        let mut written = 0;
        while written < self.bytes.len() {
            match descriptor::write(to.as_fd(), &self.bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        self.bytes.drain(..written);
        self.bytes.len() <= MOST_UNREAD
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
