//! Places where a test has hold, or a sandbox's first process, die, to prove that dying there leaves nothing behind. They are in
//! every build, so that what is proven is what is shipped.

use crate::sys::process;
use std::sync::OnceLock;

/// In the order in which a sandbox's life passes them.
pub const PLACES: [&str; 29] = [
    "folder",
    "process",
    "group",
    "record",
    "disk",
    "go",
    "started",
    "claim",
    "extended",
    "frozen",
    "thawed",
    "named",
    "signalled",
    "buried",
    "rested",
    "sealed",
    "freezing",
    "moved",
    "layered",
    "sharing",
    "still",
    "shared",
    "swept",
    "adopted",
    "copied",
    "pointed",
    "undoing",
    "cleared",
    "undone",
];

static WANTED: OnceLock<String> = OnceLock::new();

pub fn want(place: &str) {
    let _ = WANTED.set(place.to_string());
}

/// Dies as by `kill -9`, if this is the place that `--die-at` names.
pub fn reached(place: &'static str) {
    debug_assert!(PLACES.contains(&place));
    if WANTED.get().is_some_and(|wanted| wanted == place) {
        process::exit_now(137);
    }
}
