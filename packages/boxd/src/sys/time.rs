//! Clocks.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, as the wire tells time to people and to other machines.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Milliseconds since the boot, sleep included: nobody sets this clock, so nothing ends early or
/// never because the wall's was put right.
pub fn since_boot_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills one timespec; the clock exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// The clock that the kernel stamps files with, in nanoseconds since 1970: a file that changes from
/// now on has no earlier stamp.
pub fn stamp_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills one timespec; the clock exists since Linux 2.6.32.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
