//! The protocol of PROTOCOL.md: frames, and the JSON they carry.

pub mod elevation;
pub mod failure;
pub mod fields;
pub mod file_request;
pub mod frame;
pub mod hold_request;
pub mod inbound;
pub mod limits;
pub mod outbound;
pub mod serve_request;
pub mod workspace;

#[cfg(test)]
mod vectors;

pub const PROTOCOL: u32 = 0;
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most bytes in a frame's payload.
pub const MOST_PAYLOAD: usize = 1_048_576;
/// The most bytes in a DATA frame, besides its channel.
pub const MOST_DATA: usize = 65_536;
/// What each direction of a stream may send before the first WINDOW.
pub const FIRST_CREDIT: u64 = 262_144;

pub const STDIN: u8 = 0;
pub const STDOUT: u8 = 1;
