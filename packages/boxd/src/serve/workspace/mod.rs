//! The folder of the host that the sandbox works on: what was changed in it, and taking that back.
//!
//! Everything is read here, inside, where a hostile tree can reach nothing.

pub mod changes;
mod comparison;
pub mod layer;
mod paths;
pub mod pointing;
mod points;
mod restore;
mod side;
pub mod snapshot;
pub mod tally;
mod undo;
mod walk;

use super::operations::Begun;
use super::stream::{StreamId, Work};
use crate::setup::workspace::Layers;
use crate::wire::failure::{Code, Failure};
use crate::wire::serve_request::WorkspaceRequest;
use crate::wire::workspace;
use changes::Changes;
use layer::Layer;
use paths::Paths;
use points::Points;
use serde_json::json;
use std::io;
use std::os::fd::OwnedFd;
use tally::Tally;
use undo::Undo;
use walk::{Deep, Walk};

pub struct Workspace {
    /// Where it is, inside.
    pub target: String,
    layers: Option<Written>,
}

/// A copy-on-write one.
struct Written {
    /// What the sandbox wrote.
    upper: OwnedFd,
    /// The host's folder.
    lower: OwnedFd,
    points: Points,
    /// Who is taking a point.
    taking: Option<StreamId>,
    /// Going back, under way.
    undo: Option<Undo>,
}

impl Workspace {
    pub fn new(wanted: &workspace::Workspace, layers: Option<Layers>) -> io::Result<Workspace> {
        let written = |Layers { upper, lower, points, is_kept }| {
            let points = Points::open(points, is_kept)?;
            Ok::<_, io::Error>(Written { upper, lower, points, taking: None, undo: None })
        };
        let layers = layers.map(written).transpose()?;
        Ok(Workspace { target: wanted.target.clone(), layers })
    }

    fn written(&self) -> Result<&Written, Failure> {
        let none = || Failure::invalid("the workspace is not copy-on-write");
        let written = self.layers.as_ref().ok_or_else(none)?;
        written.whole().map(|()| written)
    }

    fn walk(&self, paths: &[String], deep: Deep) -> Result<Walk, Failure> {
        let Written { upper, lower, .. } = self.written()?;
        let paths = Paths::parse(paths)?;
        Walk::begin(upper, Some(lower), paths, deep)
            .map_err(|error| Failure::internal("the workspace's layers", error))
    }

    /// Whether programs may run: not on the half of something.
    pub fn ready(&self) -> Result<(), Failure> {
        self.layers.as_ref().map_or(Ok(()), Written::whole)
    }
}

impl Written {
    fn whole(&self) -> Result<(), Failure> {
        match (&self.undo, &self.points.index.undoing) {
            (Some(_), _) => {
                Err(Failure::new(Code::Busy, "the workspace is being rolled back; ask again"))
            }
            (None, Some(_)) => {
                let message = "a rollback of the workspace was not completed; roll it back again";
                Err(Failure::new(Code::Busy, message))
            }
            (None, None) => Ok(()),
        }
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
        WorkspaceRequest::Points => {
            let Written { upper, points, .. } = workspace.written()?;
            Ok(Begun::Working(Work::Tally(Box::new(Tally::begin(points, upper)))))
        }
    }
}
