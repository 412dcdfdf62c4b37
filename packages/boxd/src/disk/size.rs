//! What makes one disk as good as another.

/// The bytes of a disk for which it has one inode, unless said otherwise.
const BYTES_PER_INODE: u64 = 16_384;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub bytes: u64,
    pub inodes: u64,
    /// With a journal: it is to survive a machine that fails.
    pub is_durable: bool,
}

impl Size {
    pub const LENGTH: usize = 16;

    pub fn of(bytes: u64, inodes: Option<u64>) -> Size {
        let inodes = inodes.unwrap_or(bytes / BYTES_PER_INODE).max(64);
        Size { bytes, inodes, is_durable: false }
    }

    pub fn to_bytes(self) -> [u8; Size::LENGTH] {
        (u128::from(self.bytes) << 64 | u128::from(self.inodes)).to_ne_bytes()
    }

    pub fn from_bytes(bytes: [u8; Size::LENGTH]) -> Size {
        let both = u128::from_ne_bytes(bytes);
        Size { bytes: (both >> 64) as u64, inodes: both as u64, is_durable: false }
    }
}
