//! Tar archives: ustar, with PAX and GNU long names read, and PAX written.

pub mod header;
pub mod pax;
pub mod reader;
pub mod writer;

pub const BLOCK: usize = 512;

/// In a layer, what the name of something starts with that is gone.
pub const WHITEOUT: &[u8] = b".wh.";
/// In a folder of a layer: nothing that was below it is in it.
pub const OPAQUE: &str = ".wh..wh..opq";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    File,
    HardLink,
    SymbolicLink,
    Directory,
    /// Devices, pipes and whatever else: nothing that is ever made from an archive.
    Other,
}

/// What an archive says about one thing in it. None of it is to be believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub path: Vec<u8>,
    /// Where a link leads.
    pub target: Vec<u8>,
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub mtime: i64,
    pub size: u64,
    /// In a layer: something of this name was below it.
    pub was_there: bool,
}

/// The archive cannot be understood, or must not be.
#[derive(PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

/// How many bytes follow `size` to fill its last block.
pub fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}
