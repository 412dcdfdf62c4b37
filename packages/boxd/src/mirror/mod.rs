//! mirror: the host's side of a folder that a sandbox has a copy of. Which folder it is, what is in
//! it, and some of that as an archive. What comes back goes through `apply`.
//!
//! Nothing is followed, and nothing of another filesystem is read.

mod list;
mod pack;

use crate::arguments::MirrorOptions;
use crate::setup::workspace::Pinned;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use crate::wire::workspace::Workspace;
use serde_json::json;
use std::io::{self, Read, Write};

/// Answers on standard output. A failure is told on standard error, since the answer may have begun.
pub fn run(asked: &MirrorOptions) -> Result<(), String> {
    let outcome = read_header().and_then(|fields| match asked {
        MirrorOptions::Pin => pin(fields),
        MirrorOptions::List => list::run(fields),
        MirrorOptions::Pack => pack::run(fields),
    });
    outcome.map_err(|failure| json!({ "failure": failure.to_json() }).to_string())
}

fn read_header() -> Result<Fields, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::internal("standard input", error))?;
    let object = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::invalid(format!("the header is no JSON: {error}")))?;
    Ok(Fields::of(object))
}

fn pin(fields: Fields) -> Result<(), Failure> {
    let pinned = Pinned::pin(&Workspace::parse(fields)?)?;
    let mut facts = pinned.facts();
    // Who asks may know no numbers as large as these.
    for name in ["device", "inode"] {
        facts[name] = facts[name].to_string().into();
    }
    told(io::stdout().lock().write_all(facts.to_string().as_bytes()))
}

fn told(outcome: io::Result<()>) -> Result<(), Failure> {
    outcome.map_err(|error| Failure::internal("standard output", error))
}
