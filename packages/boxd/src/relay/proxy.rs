//! The two proxies for programs that want one: CONNECT and SOCKS 5.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proxy {
    Http,
    Socks { has_greeted: bool },
}

#[derive(PartialEq, Eq, Debug)]
pub enum Step {
    More,
    /// Say this, forget that many bytes, and go on.
    Greet(&'static [u8], usize),
    /// A connection is asked for. Its words have been read and nothing else has come.
    Wanted {
        host: String,
        port: u16,
    },
    /// A request without CONNECT, which takes more than a relay.
    Request,
    /// Say this and end.
    Bad(&'static [u8]),
}

pub const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
pub const SOCKS_CONNECTED: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
pub const SOCKS_DENIED: &[u8] = &[5, 2, 0, 1, 0, 0, 0, 0, 0, 0];
const SOCKS_NO_METHOD: &[u8] = &[5, 0xff];
const SOCKS_NO_COMMAND: &[u8] = &[5, 7, 0, 1, 0, 0, 0, 0, 0, 0];
const SOCKS_NO_ADDRESS: &[u8] = &[5, 8, 0, 1, 0, 0, 0, 0, 0, 0];
const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub const HTTP_PORT: u16 = 3128;
pub const SOCKS_PORT: u16 = 1080;

/// The most that a head may be long.
pub const MOST_HEAD: usize = 8192;

impl Proxy {
    /// As the guard calls it.
    pub fn name(self) -> &'static str {
        match self {
            Proxy::Http => "http-proxy",
            Proxy::Socks { .. } => "socks",
        }
    }

    pub fn port(self) -> u16 {
        match self {
            Proxy::Http => HTTP_PORT,
            Proxy::Socks { .. } => SOCKS_PORT,
        }
    }

    pub fn read(self, bytes: &[u8]) -> Step {
        match self {
            Proxy::Http => read_http(bytes),
            Proxy::Socks { has_greeted: false } => read_methods(bytes),
            Proxy::Socks { has_greeted: true } => read_wish(bytes),
        }
    }
}

fn read_http(bytes: &[u8]) -> Step {
    const METHOD: &[u8] = b"CONNECT ";
    let start = &bytes[..bytes.len().min(METHOD.len())];
    if start != &METHOD[..start.len()] {
        return Step::Request;
    }
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() >= MOST_HEAD { Step::Bad(BAD_REQUEST) } else { Step::More };
    };
    // Words before the answer would reach the far side unasked.
    if bytes.len() > end + 4 {
        return Step::Bad(BAD_REQUEST);
    }
    match str::from_utf8(&bytes[..end]).ok().and_then(wanted_by) {
        Some((host, port)) => Step::Wanted { host, port },
        None => Step::Bad(BAD_REQUEST),
    }
}

fn wanted_by(head: &str) -> Option<(String, u16)> {
    let is_plain = |byte: u8| byte == b'\t' || (0x20..0x7f).contains(&byte);
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (_, authority, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    for line in lines {
        let (name, value) = line.split_once(':')?;
        if name.is_empty() || name.contains([' ', '\t']) || !line.bytes().all(is_plain) {
            return None;
        }
        let says_else = !value.trim().eq_ignore_ascii_case(authority);
        let is_host = name.eq_ignore_ascii_case("host");
        let has_body = ["content-length", "transfer-encoding"]
            .iter()
            .any(|length| name.eq_ignore_ascii_case(length));
        if is_host && says_else || has_body && value.trim() != "0" {
            return None;
        }
    }
    let (host, port) = authority.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.to_string(),
        None if is_name(host) => host.to_string(),
        None => return None,
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    Some((host, port.parse().ok().filter(|&port| is_number && port != 0)?))
}

fn is_name(host: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !host.is_empty() && host.len() <= 253 && host.bytes().all(is_allowed)
}

fn read_methods(bytes: &[u8]) -> Step {
    let &[version, count, ref methods @ ..] = bytes else {
        return if matches!(bytes, [] | [5]) { Step::More } else { Step::Bad(SOCKS_NO_METHOD) };
    };
    let count = usize::from(count);
    match methods.get(..count) {
        _ if version != 5 => Step::Bad(SOCKS_NO_METHOD),
        None => Step::More,
        Some(methods) if methods.contains(&0) => Step::Greet(&[5, 0], 2 + count),
        Some(_) => Step::Bad(SOCKS_NO_METHOD),
    }
}

fn read_wish(bytes: &[u8]) -> Step {
    let &[version, command, reserved, kind, ref rest @ ..] = bytes else {
        return Step::More;
    };
    if version != 5 || reserved != 0 {
        return Step::Bad(SOCKS_DENIED);
    }
    if command != 1 {
        return Step::Bad(SOCKS_NO_COMMAND);
    }
    let (address, rest) = match kind {
        1 => rest.split_at_checked(4).unwrap_or((&[], &[])),
        4 => rest.split_at_checked(16).unwrap_or((&[], &[])),
        3 => match rest.split_first() {
            Some((&0, _)) => return Step::Bad(SOCKS_NO_ADDRESS),
            Some((&length, rest)) => {
                rest.split_at_checked(usize::from(length)).unwrap_or((&[], &[]))
            }
            None => return Step::More,
        },
        _ => return Step::Bad(SOCKS_NO_ADDRESS),
    };
    let &[high, low] = rest else {
        return if rest.len() < 2 { Step::More } else { Step::Bad(SOCKS_DENIED) };
    };
    let host = match (kind, address) {
        (1, &[a, b, c, d]) => Some(Ipv4Addr::new(a, b, c, d).to_string()),
        (4, bytes) => <[u8; 16]>::try_from(bytes).ok().map(|all| Ipv6Addr::from(all).to_string()),
        (_, bytes) => str::from_utf8(bytes).ok().filter(|name| is_name(name)).map(str::to_string),
    };
    match (host, u16::from_be_bytes([high, low])) {
        (Some(host), port @ 1..) => Step::Wanted { host, port },
        _ => Step::Bad(SOCKS_NO_ADDRESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(host: &str, port: u16) -> Step {
        Step::Wanted { host: host.to_string(), port }
    }

    #[test]
    fn connect_names_a_host_and_a_port() {
        let head = b"CONNECT a.test:443 HTTP/1.1\r\nHost: A.test:443\r\nUser-Agent: x\r\n\r\n";
        assert_eq!(Proxy::Http.read(head), wanted("a.test", 443));
        assert_eq!(Proxy::Http.read(b"CONNECT [::1]:80 HTTP/1.1\r\n\r\n"), wanted("::1", 80));
        for length in 0..head.len() {
            assert_eq!(Proxy::Http.read(&head[..length]), Step::More, "{length}");
        }
        assert_eq!(Proxy::Http.read(b"GET http://a.test/ HTTP/1.1\r\n"), Step::Request);
    }

    #[test]
    fn eg9_tricks_with_connect_are_refused() {
        for head in [
            "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\n\r\nearly",
            "CONNECT a.test HTTP/1.1\r\n\r\n",
            "CONNECT a.test:0 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:+1 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:65536 HTTP/1.1\r\n\r\n",
            "CONNECT x@a.test:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.test\0.b.test:443 HTTP/1.1\r\n\r\n",
            "CONNECT  a.test:443 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:443 HTTP/1.1\nHost: a.test:443\r\n\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\nHost : a.test:443\r\n\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        ] {
            assert_eq!(Proxy::Http.read(head.as_bytes()), Step::Bad(BAD_REQUEST), "{head:?}");
        }
        assert_eq!(
            Proxy::Http.read(&[b"CONNECT ".to_vec(), vec![b'a'; MOST_HEAD]].concat()),
            Step::Bad(BAD_REQUEST)
        );
    }

    #[test]
    fn socks_names_a_host_and_a_port() {
        let (new, greeted) =
            (Proxy::Socks { has_greeted: false }, Proxy::Socks { has_greeted: true });
        assert_eq!(new.read(&[5, 2, 0, 2]), Step::Greet(&[5, 0], 4));
        assert_eq!(greeted.read(b"\x05\x01\0\x03\x06a.test\x01\xbb"), wanted("a.test", 443));
        assert_eq!(greeted.read(b"\x05\x01\0\x01\x01\x02\x03\x04\0\x50"), wanted("1.2.3.4", 80));
        for length in 0..14 {
            let part = &b"\x05\x01\0\x03\x06a.test\x01\xbb"[..length.min(12)];
            assert_eq!(greeted.read(part), Step::More, "{length}");
        }
    }

    #[test]
    fn eg17_socks_binds_nothing_and_takes_no_broken_name() {
        let (new, greeted) =
            (Proxy::Socks { has_greeted: false }, Proxy::Socks { has_greeted: true });
        assert_eq!(new.read(&[5, 1, 2]), Step::Bad(SOCKS_NO_METHOD));
        assert_eq!(new.read(&[4, 1]), Step::Bad(SOCKS_NO_METHOD));
        for command in [0, 2, 3] {
            assert_eq!(
                greeted.read(&[5, command, 0, 1, 1, 2, 3, 4, 0, 80]),
                Step::Bad(SOCKS_NO_COMMAND)
            );
        }
        assert_eq!(greeted.read(b"\x05\x01\0\x03\x03a\0b\0\x50"), Step::Bad(SOCKS_NO_ADDRESS));
        assert_eq!(greeted.read(b"\x05\x01\0\x03\0\0\x50"), Step::Bad(SOCKS_NO_ADDRESS));
        let long = [&[5, 1, 0, 3, 255][..], &[b'a'; 255], &[0, 80]].concat();
        assert_eq!(greeted.read(&long), Step::Bad(SOCKS_NO_ADDRESS));
    }
}
