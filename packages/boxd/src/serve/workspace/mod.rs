//! The folder of the host that the sandbox works on: what was changed in it, and taking that back.
//!
//! Everything is read here, inside, where a hostile tree can reach nothing.

pub mod changes;
pub mod layer;
mod paths;
pub mod rollback;
mod side;
pub mod snapshot;
mod walk;

use super::operations::Begun;
use super::stream::Work;
use crate::setup::workspace::Layers;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::Failure;
use crate::wire::serve_request::WorkspaceRequest;
use crate::wire::workspace;
use changes::Changes;
use layer::Layer;
use paths::Paths;
use rollback::Rollback;
use serde_json::json;
use walk::{Deep, Walk};

pub struct Workspace {
    /// Where it is, inside.
    pub target: String,
    layers: Option<Layers>,
}

impl Workspace {
    pub fn new(wanted: &workspace::Workspace, layers: Option<Layers>) -> Workspace {
        Workspace { target: wanted.target.clone(), layers }
    }

    fn walk(&self, paths: &[String], deep: Deep) -> Result<Walk, Failure> {
        let Some(Layers { upper, lower }) = &self.layers else {
            return Err(Failure::invalid("the workspace is not copy-on-write"));
        };
        let paths = Paths::parse(paths)?;
        Walk::begin(upper, Some(lower), paths, deep)
            .map_err(|error| Failure::internal("the workspace's layers", error))
    }
}

pub fn begin(request: WorkspaceRequest, workspace: Option<&Workspace>) -> Result<Begun, Failure> {
    let none = || Failure::invalid("this sandbox has no workspace");
    let workspace = workspace.ok_or_else(none)?;
    match request {
        WorkspaceRequest::Changes { detail, paths } => {
            let walk = workspace.walk(&paths, Deep { additions: true, deletions: true })?;
            Ok(Begun::Streaming(json!({}), Work::Changes(Changes::of(walk, detail))))
        }
        WorkspaceRequest::Layer { paths, limits } => {
            let walk = workspace.walk(&paths, Deep { additions: true, deletions: false })?;
            Ok(Begun::Streaming(json!({}), Work::Layer(Layer::of(walk, limits, false))))
        }
        WorkspaceRequest::Rollback { paths } => {
            let walk = workspace.walk(&paths, Deep { additions: false, deletions: false })?;
            let merged = path::open_directory(HERE, &workspace.target, NO_MAGIC)
                .map_err(|error| Failure::about_path(&workspace.target, &error))?;
            Ok(Begun::Working(Work::Rollback(Rollback::begin(walk, merged))))
        }
    }
}
