//! hold: the host's side. Launches every sandbox of one folder and watches over it.
//!
//! One thread and no waiting, so that the child of a clone may simply go on as a sandbox's
//! first process.

mod adopt;
mod birth;
mod census;
mod claim;
mod client;
mod clients;
mod copying;
mod daemon;
mod destroy;
mod draft;
pub mod failpoint;
mod folder;
mod furnish;
mod infancy;
mod launch;
mod layers;
mod log;
mod means;
mod metrics;
mod orphans;
mod pause;
mod record;
mod registry;
mod requests;
mod rest;
mod restart;
mod room;
mod share;
mod source;
mod spares;
mod standstill;
mod start;
pub mod subordinate;
mod tools;
mod trash;
mod waiting;
mod watch;

use crate::arguments::HoldOptions;
use crate::sys::process;
use folder::Folder;
use std::fmt::{self, Display};
use std::io;

/// Another hold has the folder.
pub const EXIT_TAKEN: i32 = 3;

/// Why hold does not start.
pub enum StartError {
    Taken(String),
    Failed(String),
}

impl StartError {
    fn failed(what: impl Display, error: io::Error) -> StartError {
        StartError::Failed(format!("{what}: {error}"))
    }

    pub fn exit_code(&self) -> i32 {
        match self {
            StartError::Taken(_) => EXIT_TAKEN,
            StartError::Failed(_) => 1,
        }
    }
}

impl Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StartError::Taken(message) | StartError::Failed(message) => message.fmt(formatter),
        }
    }
}

/// Returns when hold has nothing left to do, or, as a daemon, when it listens.
pub fn run(options: &HoldOptions) -> Result<(), StartError> {
    if let Some(place) = &options.die_at {
        failpoint::want(place);
    }
    // What passes through here, sandboxes' variables included, is nobody's on a disk.
    process::no_core_dumps().map_err(|error| StartError::failed("core dumps", error))?;
    let folder = Folder::open(&options.directory)?;
    if options.foreground {
        let mut hold = watch::Hold::start(folder, options)?;
        return hold.run();
    }
    daemon::detach(|ready| {
        daemon::leave_terminal(&folder.log())?;
        let mut hold = watch::Hold::start(folder, options)?;
        ready.tell();
        hold.run()
    })
}
