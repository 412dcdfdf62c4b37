//! All that was written to the root, as a layer: what a snapshot is made of.

use super::layer::Layer;
use super::paths::Paths;
use super::walk::{Deep, Walk};
use crate::serve::Server;
use crate::serve::operations::Begun;
use crate::serve::stream::Work;
use crate::sys::process;
use crate::wire::failure::Failure;
use serde_json::json;
use std::path::PathBuf;

/// What belongs to one life and one machine: a copy gets its own.
const OF_ONE_LIFE: [&str; 8] = [
    "dev",
    "proc",
    "run",
    "sys",
    "tmp",
    "etc/machine-id",
    "var/lib/dbus/machine-id",
    "var/lib/systemd/random-seed",
];
const HOST_KEYS: [&str; 3] = ["rsa", "ecdsa", "ed25519"];

impl Server {
    /// Everybody inside stands still meanwhile, so that no file is half of one moment.
    pub fn capture(&self) -> Result<Begun, Failure> {
        let none = || Failure::invalid("this sandbox's layer is somebody else's");
        let written = self.written.as_ref().ok_or_else(none)?;
        let host_keys = HOST_KEYS.iter().map(|kind| format!("etc/ssh/ssh_host_{kind}_key"));
        let workspace = self.workspace.iter().map(|one| one.target.clone());
        let except = OF_ONE_LIFE.iter().map(|name| name.to_string()).chain(host_keys);
        let except = except.chain(self.covered.iter().cloned()).chain(workspace);
        let except = except.map(|path| PathBuf::from(path.trim_matches('/')));
        let deep = Deep { additions: true, deletions: false };
        let walk = Walk::begin(written, None, Paths::all_but(except), deep)
            .map_err(|error| Failure::internal("the written layer", error))?;
        process::signal_everyone(libc::SIGSTOP);
        Ok(Begun::Streaming(json!({}), Work::Layer(Layer::of(walk, true))))
    }
}
