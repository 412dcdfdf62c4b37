//! The first words of TLS, read for the one thing they say in the clear: the name.

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;
const MOST_RECORD: usize = 16_384 + 256;
/// More than any client says before it has heard anything.
pub const MOST: usize = 65_536;

#[derive(PartialEq, Eq, Debug)]
pub enum Greeting {
    /// More has to come.
    Partial,
    Name(Option<String>),
    /// It is no TLS, or hides or repeats the name.
    Refused(&'static str),
}

pub fn read(bytes: &[u8]) -> Greeting {
    match hello(bytes) {
        Ok(Some(hello)) => match server_name(&hello) {
            Ok(name) => Greeting::Name(name),
            Err(reason) => Greeting::Refused(reason),
        },
        Ok(None) if bytes.len() >= MOST => Greeting::Refused("the greeting does not end"),
        Ok(None) => Greeting::Partial,
        Err(reason) => Greeting::Refused(reason),
    }
}

/// The body of the ClientHello, put together from however many records it came in.
fn hello(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut message: Vec<u8> = Vec::new();
    loop {
        if let Some((&[kind, l0, l1, l2], body)) = message.split_first_chunk::<4>() {
            let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
            if kind != CLIENT_HELLO || length > MOST {
                return Err("this is no TLS");
            }
            if body.len() >= length {
                return Ok(Some(body[..length].to_vec()));
            }
        }
        match bytes.first() {
            Some(&kind) if kind != HANDSHAKE => return Err("this is no TLS"),
            _ => {}
        }
        let Some((&[_, major, _, l0, l1], rest)) = bytes.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if major != 3 || length == 0 || length > MOST_RECORD {
            return Err("this is no TLS");
        }
        let Some(record) = rest.get(..length) else {
            return Ok(None);
        };
        message.extend_from_slice(record);
        bytes = &rest[length..];
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("a broken greeting")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<usize, &'static str> {
        Ok(self.take(bytes)?.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
    }

    /// As many bytes as the number before them says.
    fn block(&mut self, prefix: usize) -> Result<Reader<'a>, &'static str> {
        let length = self.number(prefix)?;
        self.take(length).map(Reader)
    }
}

fn server_name(hello: &[u8]) -> Result<Option<String>, &'static str> {
    let mut reader = Reader(hello);
    reader.take(2 + 32)?;
    reader.block(1)?;
    reader.block(2)?;
    reader.block(1)?;
    if reader.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = reader.block(2)?;
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)? as u16;
        let mut body = extensions.block(2)?;
        match kind {
            ENCRYPTED_HELLO => return Err("the greeting hides a name"),
            SERVER_NAME if name.is_some() => return Err("the greeting names two servers"),
            SERVER_NAME => name = Some(only_name(&mut body)?),
            _ => {}
        }
    }
    Ok(name)
}

fn only_name(body: &mut Reader) -> Result<String, &'static str> {
    let mut list = body.block(2)?;
    let kind = list.number(1)?;
    let name = list.block(2)?.0;
    if kind != 0 || !list.0.is_empty() || !body.0.is_empty() {
        return Err("the greeting names two servers");
    }
    let text = str::from_utf8(name).map_err(|_| "the greeting names no host")?;
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(prefix: usize, body: &[u8]) -> Vec<u8> {
        [&body.len().to_be_bytes()[8 - prefix..], body].concat()
    }

    fn names(names: &[&str]) -> Vec<u8> {
        let list: Vec<u8> =
            names.iter().flat_map(|name| [vec![0], block(2, name.as_bytes())].concat()).collect();
        extension(SERVER_NAME, &block(2, &list))
    }

    fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
        [kind.to_be_bytes().to_vec(), block(2, body)].concat()
    }

    fn greeting(extensions: &[u8]) -> Vec<u8> {
        let body = [
            vec![3, 3],
            vec![9; 32],
            block(1, &[1; 32]),
            block(2, &[19, 1]),
            block(1, &[0]),
            block(2, extensions),
        ]
        .concat();
        [vec![CLIENT_HELLO], block(3, &body)].concat()
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message
            .chunks(size)
            .flat_map(|part| [vec![HANDSHAKE, 3, 1], block(2, part)].concat())
            .collect()
    }

    #[test]
    fn eg10_the_name_is_found_however_the_greeting_is_cut() {
        let message =
            greeting(&[extension(10, &[0, 2, 0, 29]), names(&["Api.Example.com"])].concat());
        for size in 1..message.len() {
            let bytes = records(&message, size);
            let found = Greeting::Name(Some("api.example.com".to_string()));
            assert_eq!(read(&bytes), found, "records of {size}");
            for length in 0..bytes.len() {
                assert_eq!(read(&bytes[..length]), Greeting::Partial, "{length} of {size}");
            }
        }
    }

    #[test]
    fn eg10_a_name_that_is_hidden_repeated_or_missing_is_not_taken_for_one() {
        let refused = |extensions: &[u8]| {
            matches!(read(&records(&greeting(extensions), 4096)), Greeting::Refused(_))
        };
        assert!(refused(&names(&["a.test", "b.test"])));
        assert!(refused(&[names(&["a.test"]), names(&["b.test"])].concat()));
        assert!(refused(&[names(&["a.test"]), extension(ENCRYPTED_HELLO, &[0])].concat()));
        assert_eq!(read(&records(&greeting(&[]), 4096)), Greeting::Name(None));
    }

    #[test]
    fn eg9_what_is_no_tls_is_seen_at_its_first_byte() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"SSH-2.0-x", b"\x16\x02\x00\x00\x10", b"\x00"] {
            assert!(matches!(read(bytes), Greeting::Refused(_)));
        }
    }

    #[test]
    fn bytes_of_any_kind_break_nothing() {
        let bytes = records(&greeting(&names(&["a.test"])), 4096);
        for at in 0..bytes.len() {
            for value in [0, 1, 127, 128, 255] {
                let mut broken = bytes.clone();
                broken[at] = value;
                let _ = read(&broken);
            }
        }
    }
}
