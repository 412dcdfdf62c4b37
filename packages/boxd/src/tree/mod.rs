//! Directory trees, walked without ever following a link.

pub mod copy;
pub mod listing;
pub mod removal;
