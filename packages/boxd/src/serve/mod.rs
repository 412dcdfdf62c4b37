//! serve: the first process of a sandbox. Runs programs, serves files, dials ports.

mod acting;
mod archive;
mod confine;
mod connection;
mod dial;
mod elevate;
pub mod ensure_user;
pub mod environment;
mod exec;
mod family;
mod feeding;
mod files;
pub use files::entry::{Entry, mtime_ms};
pub use files::{archive_path, landing, tally};
mod frames;
mod input;
mod lending;
mod operations;
mod output;
mod process;
mod pump;
mod reap;
mod scratch;
mod source;
mod start;
mod stream;
mod table;
mod users;
mod watch;
mod workspace;

use crate::arguments::ServeOptions;
use crate::setup::way_out::{self, WayOut};
use crate::sys::{network, steps};
pub use start::FromHold;
use std::io;
use std::time::Instant;
pub use users::default_user;
pub use watch::Server;

fn make_way_out() -> io::Result<WayOut> {
    let made = way_out::make()?;
    network::loopback_up()?;
    way_out::name_resolver()?;
    Ok(made)
}

/// For a place that somebody else has isolated. Returns only when it cannot start.
pub fn run(options: &ServeOptions) -> Result<(), String> {
    steps::allow();
    if options.ensure_user {
        ensure_user::ensure_user(true).map_err(|error| format!("cannot add a user: {error}"))?;
    }
    let way_out = options.guarded.then(make_way_out).transpose();
    let way_out = way_out.map_err(|error| format!("cannot make a way out: {error}"))?;
    let has_root = !options.denies_root;
    let server = match &options.socket {
        Some(path) => Server::at_socket(&options.id, path, has_root, way_out),
        None => Server::on_standard_streams(&options.id, has_root),
    };
    let mut server = server.map_err(|failure| failure.message)?;
    server.ends_at = options.ttl.and_then(|ttl| Instant::now().checked_add(ttl));
    server.run()
}
