//! DNS, as much of it as a sandbox needs. No question ever leaves: every name gets an address of
//! ours, and whether it may be reached is decided when somebody connects to it.

use std::net::Ipv4Addr;

const HEADER: usize = 12;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
/// Short: an address is forgotten when many names are asked for.
const TTL_SECONDS: u32 = 60;

const NO_ERROR: u8 = 0;
const MALFORMED: u8 = 1;
const NO_SUCH_NAME: u8 = 3;

/// The answer to a question, or None for what deserves none.
pub fn answer(question: &[u8], mut address_of: impl FnMut(&str) -> Ipv4Addr) -> Option<Vec<u8>> {
    let header = question.first_chunk::<HEADER>()?;
    if header[2] & 0x80 != 0 {
        return None;
    }
    let is_plain_query = header[2] & 0x78 == 0 && header[4..6] == [0, 1];
    let Some((name, length)) = is_plain_query.then(|| read_name(&question[HEADER..])).flatten()
    else {
        return Some(reply(header, &[], 0, MALFORMED));
    };
    let end = HEADER + length + 4;
    let Some([t0, t1, c0, c1]) = question.get(end - 4..end).and_then(|rest| rest.first_chunk())
    else {
        return Some(reply(header, &[], 0, MALFORMED));
    };
    let (kind, class) = (u16::from_be_bytes([*t0, *t1]), u16::from_be_bytes([*c0, *c1]));
    let asked = &question[HEADER..end];
    if !is_host_name(&name) {
        return Some(reply(header, asked, 0, NO_SUCH_NAME));
    }
    // Whatever else is asked about a name, there is none of it.
    if kind != TYPE_A || class != CLASS_IN {
        return Some(reply(header, asked, 0, NO_ERROR));
    }
    let mut bytes = reply(header, asked, 1, NO_ERROR);
    bytes.extend_from_slice(&[0xc0, HEADER as u8]);
    bytes.extend_from_slice(&TYPE_A.to_be_bytes());
    bytes.extend_from_slice(&CLASS_IN.to_be_bytes());
    bytes.extend_from_slice(&TTL_SECONDS.to_be_bytes());
    bytes.extend_from_slice(&[0, 4]);
    bytes.extend_from_slice(&address_of(&name).octets());
    Some(bytes)
}

/// The name in small letters, and how many bytes it took.
fn read_name(bytes: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), 0);
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            return (name.len() <= LONGEST_NAME).then_some((name, at));
        }
        if length > LONGEST_LABEL || name.len() > LONGEST_NAME {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        let label = bytes.get(at..at + length)?;
        // A dot or a byte that is no ASCII within a label would make another name of it.
        name.extend(label.iter().map(|&byte| match byte {
            b'.' | 0x80.. => '\0',
            byte => char::from(byte.to_ascii_lowercase()),
        }));
        at += length;
    }
}

fn is_host_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.bytes().all(is_allowed)
}

fn reply(header: &[u8; HEADER], asked: &[u8], answers: u8, code: u8) -> Vec<u8> {
    let recursion_desired = header[2] & 1;
    let mut bytes = vec![header[0], header[1], 0x80 | recursion_desired, 0x80 | code];
    bytes.extend_from_slice(&[0, u8::from(!asked.is_empty()), 0, answers, 0, 0, 0, 0]);
    bytes.extend_from_slice(asked);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAKE: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 2);

    fn query(labels: &[&[u8]], kind: u16) -> Vec<u8> {
        let mut bytes = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in labels {
            bytes.push(label.len() as u8);
            bytes.extend_from_slice(label);
        }
        bytes.push(0);
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&[0, 1]);
        bytes
    }

    fn asked(question: &[u8]) -> (Option<String>, Vec<u8>) {
        let mut name = None;
        let bytes = answer(question, |asked| {
            name = Some(asked.to_string());
            FAKE
        });
        (name, bytes.unwrap_or_default())
    }

    #[test]
    fn a_name_gets_its_address_in_small_letters() {
        let (name, bytes) = asked(&query(&[b"Api", b"EXAMPLE", b"com"], 1));
        assert_eq!(name.as_deref(), Some("api.example.com"));
        assert_eq!(bytes[..8], [7, 8, 0x81, 0x80, 0, 1, 0, 1]);
        assert_eq!(bytes[bytes.len() - 4..], FAKE.octets());
    }

    #[test]
    fn eg4_other_kinds_have_no_data_and_hand_out_nothing() {
        for kind in [28, 16, 10, 255, 65, 15] {
            let (name, bytes) = asked(&query(&[b"example", b"com"], kind));
            assert_eq!(name, None);
            assert_eq!((bytes[3] & 15, bytes[7]), (NO_ERROR, 0));
        }
    }

    #[test]
    fn eg8_names_that_are_none_get_no_address() {
        let hostile: [&[&[u8]]; 5] =
            [&[b"a.b"], &[b"a\0b", b"com"], &["ä".as_bytes()], &[b"a b"], &[]];
        for labels in hostile {
            let (name, bytes) = asked(&query(labels, 1));
            assert_eq!(name, None);
            assert_eq!(bytes[3] & 15, NO_SUCH_NAME, "{labels:?}");
        }
    }

    #[test]
    fn bytes_of_any_kind_break_nothing() {
        let whole = query(&[b"example", b"com"], 1);
        for length in 0..whole.len() {
            assert_eq!(asked(&whole[..length]).0, None);
        }
        for at in 0..whole.len() {
            for value in [0, 63, 64, 192, 255] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = asked(&bytes);
            }
        }
    }
}
