//! Between every two things that `apply` does to the host, a test can have it die.

use crate::sys::process;
use std::sync::atomic::{AtomicI64, Ordering};

static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Die when `pass` is called for the time after this many.
pub fn want(count: u32) {
    LEFT.store(i64::from(count), Ordering::Relaxed);
}

pub fn pass() {
    if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
        process::exit_now(137);
    }
}
