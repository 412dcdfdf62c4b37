//! All that was written to the root, as a layer: what a snapshot is made of.

use super::layer::Layer;
use super::paths::Paths;
use super::walk::{Deep, Walk};
use crate::serve::Server;
use crate::serve::operations::Begun;
use crate::serve::stream::Work;
use crate::setup::own_life::OF_ONE_LIFE;
use crate::sys::process;
use crate::wire::failure::Failure;
use crate::wire::file_request::Limits;
use serde_json::json;
use std::path::PathBuf;

/// What is never part of a root's layer, besides what belongs to one life.
const OF_THE_KERNEL: [&str; 5] = ["dev", "proc", "run", "sys", "tmp"];

impl Server {
    /// Everybody inside stands still meanwhile, so that no file is half of one moment.
    ///
    /// `below`: not what this sandbox wrote, but what lies so many layers below it, which others wrote.
    pub fn capture(&self, below: u64, limits: Limits) -> Result<Begun, Failure> {
        let none = || Failure::invalid("this sandbox's layer is somebody else's");
        let written = match below {
            0 => self.written.as_ref(),
            below => self.below.get(below as usize - 1),
        };
        let written = written.ok_or_else(none)?;
        let workspace = self.workspace.iter().map(|one| one.target.clone());
        let except = OF_THE_KERNEL.iter().chain(&OF_ONE_LIFE).map(|name| name.to_string());
        let except = except.chain(self.covered.iter().cloned()).chain(workspace);
        let except = except.map(|path| PathBuf::from(path.trim_matches('/')));
        let deep = Deep { additions: true, deletions: false };
        let walk = Walk::begin(written, None, Paths::all_but(except), deep)
            .map_err(|error| Failure::internal("the written layer", error))?;
        process::signal_everyone(libc::SIGSTOP);
        Ok(Begun::Streaming(json!({}), Work::Layer(Layer::of(walk, limits, true))))
    }
}
