//! One frame, from and to bytes.

use super::{MOST_DATA, MOST_PAYLOAD};
use serde_json::{Map, Value};

pub const HEADER: usize = 9;

pub type Object = Map<String, Value>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Hello = 1,
    Open = 2,
    Reply = 3,
    Data = 4,
    Eof = 5,
    Window = 6,
    End = 7,
    Fail = 8,
    Cancel = 9,
    Ping = 10,
    Pong = 11,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        use Kind::*;
        [Hello, Open, Reply, Data, Eof, Window, End, Fail, Cancel, Ping, Pong]
            .into_iter()
            .find(|&kind| kind as u8 == byte)
    }

    fn carries_json(self) -> bool {
        matches!(self, Kind::Hello | Kind::Open | Kind::Reply | Kind::End | Kind::Fail)
    }

    fn belongs_to_the_connection(self) -> bool {
        matches!(self, Kind::Hello | Kind::Ping | Kind::Pong)
    }
}

#[derive(PartialEq, Debug)]
pub enum Body<'a> {
    Json(Object),
    Data { channel: u8, bytes: &'a [u8] },
    Eof { channel: u8 },
    Window { credit: u32 },
    Cancel,
    Echo([u8; 8]),
}

#[derive(PartialEq, Debug)]
pub struct Frame<'a> {
    pub kind: Kind,
    pub stream: u32,
    pub body: Body<'a>,
}

/// The peer does not speak the protocol; the connection cannot go on.
#[derive(PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

/// The first frame of `bytes` and its length, or None while it is not complete.
pub fn decode(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, Malformed> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let [l0, l1, l2, l3, kind, s0, s1, s2, s3] = *header;
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let stream = u32::from_be_bytes([s0, s1, s2, s3]);
    // The header alone condemns a frame, so nobody waits for a megabyte of nonsense.
    if length > MOST_PAYLOAD {
        return Err(Malformed("payload over 1 MiB"));
    }
    let kind = Kind::from_byte(kind).ok_or(Malformed("unknown kind"))?;
    if kind.belongs_to_the_connection() != (stream == 0) {
        return Err(Malformed("wrong stream for this kind"));
    }
    let Some(payload) = rest.get(..length) else {
        return Ok(None);
    };
    let body = decode_body(kind, payload)?;
    Ok(Some((Frame { kind, stream, body }, HEADER + length)))
}

/// Whether `bytes` start with a whole frame, without looking into its payload.
pub fn is_whole(bytes: &[u8]) -> Result<bool, Malformed> {
    let Some(&[l0, l1, l2, l3]) = bytes.first_chunk() else {
        return Ok(false);
    };
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    if length > MOST_PAYLOAD {
        return Err(Malformed("payload over 1 MiB"));
    }
    Ok(bytes.len() >= HEADER + length)
}

fn decode_body(kind: Kind, payload: &[u8]) -> Result<Body<'_>, Malformed> {
    if kind.carries_json() {
        return serde_json::from_slice(payload)
            .map(Body::Json)
            .map_err(|_| Malformed("not a JSON object"));
    }
    match (kind, payload) {
        (Kind::Data, [channel @ 0..=2, bytes @ ..]) if bytes.len() <= MOST_DATA => {
            Ok(Body::Data { channel: *channel, bytes })
        }
        (Kind::Eof, [channel @ 0..=2]) => Ok(Body::Eof { channel: *channel }),
        (Kind::Window, &[a, b, c, d]) => {
            Ok(Body::Window { credit: u32::from_be_bytes([a, b, c, d]) })
        }
        (Kind::Cancel, []) => Ok(Body::Cancel),
        (Kind::Ping | Kind::Pong, payload) => {
            payload.try_into().map(Body::Echo).map_err(|_| Malformed("PING and PONG carry 8 bytes"))
        }
        _ => Err(Malformed("wrong payload for this kind")),
    }
}

/// Appends a header for a payload that the caller appends next.
pub fn put_header(out: &mut Vec<u8>, kind: Kind, stream: u32, length: usize) {
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.push(kind as u8);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Says in its header how long a frame has become.
pub fn put_length(frame: &mut [u8]) {
    let length = (frame.len() - HEADER) as u32;
    frame[..4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a whole frame.
pub fn put(out: &mut Vec<u8>, kind: Kind, stream: u32, payload: &[u8]) {
    put_header(out, kind, stream, payload.len());
    out.extend_from_slice(payload);
}
