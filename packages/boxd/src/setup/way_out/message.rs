//! A netlink message, put together piece by piece.

const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const ACKNOWLEDGE: u16 = libc::NLM_F_ACK as u16;
const CREATE: u16 = libc::NLM_F_CREATE as u16;
const APPEND: u16 = libc::NLM_F_APPEND as u16;
const NESTED: u16 = libc::NLA_F_NESTED as u16;

pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// One that makes something and asks to hear how that went.
    pub fn making(kind: u16) -> Message {
        Message::new(kind, REQUEST | ACKNOWLEDGE | CREATE | APPEND)
    }

    /// One that changes something, the same way.
    pub fn changing(kind: u16) -> Message {
        Message::new(kind, REQUEST | ACKNOWLEDGE)
    }

    /// One that gets no answer.
    pub fn plain(kind: u16) -> Message {
        Message::new(kind, REQUEST)
    }

    fn new(kind: u16, flags: u16) -> Message {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Message { bytes }
    }

    pub fn raw(mut self, bytes: &[u8]) -> Message {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub fn attribute(mut self, kind: u16, payload: &[u8]) -> Message {
        self.bytes.extend_from_slice(&(4 + payload.len() as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    pub fn text(self, kind: u16, text: &str) -> Message {
        self.attribute(kind, format!("{text}\0").as_bytes())
    }

    /// Netfilter's numbers are big-endian.
    pub fn number(self, kind: u16, number: u32) -> Message {
        self.attribute(kind, &number.to_be_bytes())
    }

    pub fn nested(mut self, kind: u16, fill: impl FnOnce(Message) -> Message) -> Message {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled.bytes[start + 2..start + 4].copy_from_slice(&(kind | NESTED).to_ne_bytes());
        filled
    }

    pub fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn lengths_count_what_is_inside_and_pieces_are_padded() {
        let bytes =
            Message::plain(7).nested(1, |inner| inner.text(2, "abc").attribute(3, &[9])).finish();
        assert_eq!(bytes.len(), 36);
        assert_eq!(bytes[..4], 36u32.to_ne_bytes());
        assert_eq!(bytes[16..18], 20u16.to_ne_bytes());
        assert_eq!(bytes[20..28], [8, 0, 2, 0, b'a', b'b', b'c', 0]);
        assert_eq!(bytes[28..36], [5, 0, 3, 0, 9, 0, 0, 0]);
    }
}
