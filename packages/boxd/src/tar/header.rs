//! The 512 bytes before each thing in an archive.

use super::{BLOCK, Malformed};

pub type Block = [u8; BLOCK];

const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..108;
const UID: std::ops::Range<usize> = 108..116;
const GID: std::ops::Range<usize> = 116..124;
const SIZE: std::ops::Range<usize> = 124..136;
const MTIME: std::ops::Range<usize> = 136..148;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPE: usize = 156;
const TARGET: std::ops::Range<usize> = 157..257;
const MAGIC: std::ops::Range<usize> = 257..263;
const PREFIX: std::ops::Range<usize> = 345..500;

/// The longest name that fits without a record of its own.
pub const LONGEST_NAME: usize = 100;
/// The largest number that fits into seven octal digits, and into eleven.
pub const MOST_SMALL: u64 = 0o7_777_777;
pub const MOST_SIZE: u64 = 0o77_777_777_777;

pub struct Header {
    pub name: Vec<u8>,
    pub target: Vec<u8>,
    pub kind: u8,
    pub mode: u32,
    pub uid: u64,
    pub gid: u64,
    pub mtime: u64,
    pub size: u64,
}

pub fn is_empty(block: &Block) -> bool {
    block.iter().all(|&byte| byte == 0)
}

pub fn parse(block: &Block) -> Result<Header, Malformed> {
    if octal(&block[CHECKSUM])? != checksum(block) {
        return Err(Malformed("a header's checksum is wrong"));
    }
    let mut name = text(&block[NAME]);
    let prefix = text(&block[PREFIX]);
    // GNU's own format uses these bytes for other things.
    if &block[MAGIC] == b"ustar\0" && !prefix.is_empty() {
        name = [&prefix[..], b"/", &name[..]].concat();
    }
    Ok(Header {
        name,
        target: text(&block[TARGET]),
        kind: block[TYPE],
        mode: (number(&block[MODE])? & 0o7777) as u32,
        uid: number(&block[UID])?,
        gid: number(&block[GID])?,
        mtime: number(&block[MTIME]).unwrap_or(0),
        size: number(&block[SIZE])?,
    })
}

/// A header whose members all fit; what does not fit is told by a record before it.
pub fn build(header: &Header) -> Block {
    let mut block = [0; BLOCK];
    put_text(&mut block[NAME], &header.name);
    put_octal(&mut block[MODE], u64::from(header.mode));
    put_octal(&mut block[UID], header.uid.min(MOST_SMALL));
    put_octal(&mut block[GID], header.gid.min(MOST_SMALL));
    put_octal(&mut block[SIZE], header.size.min(MOST_SIZE));
    put_octal(&mut block[MTIME], header.mtime.min(MOST_SIZE));
    block[TYPE] = header.kind;
    put_text(&mut block[TARGET], &header.target);
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum = checksum(&block);
    put_octal(&mut block[CHECKSUM.start..CHECKSUM.end - 1], sum);
    block[CHECKSUM.end - 1] = b' ';
    block
}

/// The sum of all bytes, the checksum's own counted as spaces.
fn checksum(block: &Block) -> u64 {
    let value = |(at, &byte): (usize, &u8)| match CHECKSUM.contains(&at) {
        true => u64::from(b' '),
        false => u64::from(byte),
    };
    block.iter().enumerate().map(value).sum()
}

/// Up to the first NUL.
fn text(field: &[u8]) -> Vec<u8> {
    field.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
}

/// Octal, or, where the first bit says so, binary.
fn number(field: &[u8]) -> Result<u64, Malformed> {
    match field.split_first() {
        Some((0x80, rest)) => rest.iter().try_fold(0u64, |value, &byte| {
            let shifted = value.checked_mul(256).ok_or(Malformed("a number is too large"))?;
            Ok(shifted | u64::from(byte))
        }),
        Some((first, _)) if first & 0x80 != 0 => Err(Malformed("a number is negative")),
        _ => octal(field),
    }
}

fn octal(field: &[u8]) -> Result<u64, Malformed> {
    let is_filler = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field.iter().position(|byte| !is_filler(byte)).unwrap_or(field.len());
    let digits = field[start..].split(is_filler).next().unwrap_or_default();
    digits.iter().try_fold(0u64, |value, &byte| match byte {
        b'0'..=b'7' => Ok(value << 3 | u64::from(byte - b'0')),
        _ => Err(Malformed("a number is not octal")),
    })
}

fn put_text(field: &mut [u8], text: &[u8]) {
    let length = text.len().min(field.len());
    field[..length].copy_from_slice(&text[..length]);
}

fn put_octal(field: &mut [u8], number: u64) {
    let digits = field.len() - 1;
    let text = format!("{number:0digits$o}");
    field[..digits].copy_from_slice(text.as_bytes());
}
