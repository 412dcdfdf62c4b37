//! How one text differs from another, as `diff -u` says it.

mod lines;
mod unified;

pub use unified::differ;

/// What git takes for text, and JSON can carry.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}
