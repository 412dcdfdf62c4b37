//! Which system calls a sandbox may make: everything that is not listed is refused, whatever a
//! future kernel brings.

mod allowed;
mod program;
#[cfg(test)]
mod simulation;

use crate::sys::filter;
use std::io;

/// Puts this process, and all that it will ever run, behind the filter. For good.
pub fn enter() -> io::Result<()> {
    filter::install(&program::build())
}
