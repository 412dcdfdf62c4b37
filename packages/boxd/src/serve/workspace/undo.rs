//! Going back: once it has begun it is carried to its end, whether its client, this process or the
//! machine goes away meanwhile.

use super::paths::Paths;
use super::points::index::Undoing;
use super::points::state::State;
use super::restore::{Restore, Sides};
use super::{Workspace, Written};
use crate::hold::failpoint;
use crate::serve::Server;
use crate::serve::operations::Begun;
use crate::serve::stream::{StreamId, Work};
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::sys::process;
use crate::wire::failure::{Code, Failure};
use crate::wire::serve_request::To;
use serde_json::json;

pub struct Undo {
    restore: Restore,
    waiting: Option<StreamId>,
    /// Everybody else in the sandbox stands still until its end.
    is_still: bool,
}

impl Server {
    pub fn begin_undo(
        &mut self,
        id: StreamId,
        to: To,
        paths: Vec<String>,
    ) -> Result<Begun, Failure> {
        let is_running = self.is_running();
        let none = || Failure::invalid("this sandbox has no workspace");
        let workspace = self.workspace.as_mut().ok_or_else(none)?;
        Paths::parse(&paths)?;
        let target = workspace.target.clone();
        let not = || Failure::invalid("the workspace is not copy-on-write");
        let written = workspace.layers.as_mut().ok_or_else(not)?;
        if written.undo.is_some() || written.taking.is_some() {
            return Err(Failure::new(Code::Busy, "the workspace is being rolled back or kept"));
        }
        let point = match to {
            To::Beginning => None,
            To::Last => Some(written.points.last(&written.upper)?),
            To::Point(id) => Some(written.points.find(id)?),
        };
        if point.is_some() && is_running {
            let message = "a run is still going; only what nobody works on goes back to a point";
            return Err(Failure::new(Code::Busy, message));
        }
        let undoing = Undoing { to: point, paths };
        let mut undo = Undo::of(written, &target, &undoing)?;
        written
            .points
            .begin_undoing(undoing)
            .map_err(|error| Failure::about_path("the workspace's points", &error))?;
        failpoint::reached("undoing");
        undo.waiting = Some(id);
        undo.is_still = point.is_some();
        if undo.is_still {
            process::signal_everyone(libc::SIGSTOP);
        }
        written.undo = Some(undo);
        Ok(Begun::Working(Work::Rollback))
    }

    /// A slice of it, if one is under way. True while there is more.
    pub fn advance_undo(&mut self) -> bool {
        let Some(written) = self.workspace.as_mut().and_then(|one| one.layers.as_mut()) else {
            return false;
        };
        let Some(mut undo) = written.undo.take() else {
            return false;
        };
        let outcome = match undo.restore.step() {
            Ok(false) => {
                written.undo = Some(undo);
                return true;
            }
            Ok(true) => {
                failpoint::reached("undone");
                written.points.end_undoing().map_err(|error| ("points".into(), error))
            }
            Err(failed) => Err(failed),
        };
        if undo.is_still {
            process::signal_everyone(libc::SIGCONT);
        }
        let outcome = outcome
            .map(|()| json!({ "restored": undo.restore.restored }))
            .map_err(|(path, error)| Failure::about_path(path.display(), &error));
        if let Some(id) = undo.waiting
            && self.streams.remove(&id).is_some()
        {
            self.conclude(id, outcome);
        }
        false
    }

    /// One that an earlier life began. Where it cannot be completed nothing runs before it is
    /// asked for again.
    pub fn complete_undo(&mut self) {
        let Some(Workspace { target, layers: Some(written) }) = &mut self.workspace else {
            return;
        };
        let Some(undoing) = written.points.index.undoing.clone() else {
            return;
        };
        if let Ok(undo) = Undo::of(written, target, &undoing) {
            written.undo = Some(undo);
            while self.advance_undo() {}
        }
    }
}

impl Undo {
    fn of(written: &Written, target: &str, undoing: &Undoing) -> Result<Undo, Failure> {
        let internal = |error| Failure::internal("the workspace's layers", error);
        let Undoing { to, paths } = undoing;
        let state = match to {
            Some(point) => written.points.state_of(*point).map_err(internal)?,
            None => State::default(),
        };
        let merged = path::open_directory(HERE, target, NO_MAGIC)
            .map_err(|error| Failure::about_path(target, &error))?;
        let sides = Sides {
            upper: written.upper.try_clone().map_err(internal)?,
            lower: written.lower.try_clone().map_err(internal)?,
            copies: written.points.folder.try_clone().map_err(internal)?,
            merged,
        };
        let restore = Restore::begin(sides, state, Paths::parse(paths)?);
        Ok(Undo { restore, waiting: None, is_still: false })
    }
}
