//! Clocks.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, as the wire and the records on disk count time.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
