//! hold's own diary, on standard error.

use crate::sys::time::now_ms;
use std::fmt::Display;
use std::io::Write;

pub fn note(message: impl Display) {
    // A diary that cannot be written is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{} {message}", now_ms());
}
