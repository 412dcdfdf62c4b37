//! A run that gets a point first.

use super::points::index::Point;
use super::points::take::Taking;
use crate::serve::Server;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Stream, StreamId, Work};
use crate::sys::time;
use crate::wire::frame::Kind;
use crate::wire::serve_request::Exec;
use std::io;

/// How much of a command a point is shown with.
const MOST_ARGUMENTS: usize = 16;
const MOST_CHARACTERS: usize = 256;

pub struct Pointing {
    exec: Exec,
    taking: Option<Taking>,
}

impl Pointing {
    pub fn before(exec: Exec) -> Pointing {
        Pointing { exec, taking: None }
    }

    fn point(&self, is_alongside: bool) -> Point {
        let shortened = |text: &String| text.chars().take(MOST_CHARACTERS).collect();
        Point {
            id: 0,
            argv: self.exec.argv.iter().take(MOST_ARGUMENTS).map(shortened).collect(),
            at_ms: time::now_ms(),
            attachment: self.exec.attachment.clone(),
            is_alongside,
            bytes: 0,
            changed: None,
            missing: None,
        }
    }
}

impl Server {
    pub fn can_take_points(&self) -> bool {
        self.workspace.as_ref().is_some_and(|workspace| workspace.layers.is_some())
    }

    /// A slice of taking the point; when it is taken, the run.
    pub fn advance_point(&mut self, id: StreamId, stream: &mut Stream) -> Progress {
        let Work::Point(pointing) = &mut stream.work else {
            return Progress::Over;
        };
        match self.take_point(id, pointing) {
            // A run does without, rather than not at all; that it has none is said.
            Err(why) => self.give_up_point(pointing, &why),
            Ok(false) => return Progress::More,
            Ok(true) => {}
        }
        self.release_points(id);
        // Something that waits stands in its place until the run is there.
        let Work::Point(pointing) = std::mem::replace(&mut stream.work, Work::Rollback) else {
            return Progress::Over;
        };
        let begun = self.exec(pointing.exec).and_then(|process| {
            self.attach(id, process, [0, 0]);
            self.following(process, None)
        });
        let Some(out) = self.connections.outbound(id) else {
            return Progress::Over;
        };
        match begun {
            Ok(Begun::Streaming(reply, work)) => {
                out.json(Kind::Reply, id.number, &reply);
                stream.work = work;
                Progress::More
            }
            Ok(_) => Progress::Over,
            Err(failure) => {
                out.fail(id.number, &failure);
                Progress::Over
            }
        }
    }

    /// Who wanted to run something is gone.
    pub fn forget_point(&mut self, id: StreamId, mut pointing: Pointing) {
        if let (Some(taking), Some(points)) = (pointing.taking.take(), self.points()) {
            taking.leave_nothing(points);
        }
        self.release_points(id);
    }

    fn take_point(&mut self, id: StreamId, pointing: &mut Pointing) -> io::Result<bool> {
        let is_alongside = self.is_running();
        let Some(written) = self.workspace.as_mut().and_then(|one| one.layers.as_mut()) else {
            return Ok(true);
        };
        if *written.taking.get_or_insert(id) != id {
            return Ok(false);
        }
        let taking = match &mut pointing.taking {
            Some(taking) => taking,
            None => {
                let most = pointing.exec.points.unwrap_or(1) as usize;
                let point = pointing.point(is_alongside);
                let taking = Taking::begin(&written.points, &written.upper, point, most)?;
                pointing.taking.insert(taking)
            }
        };
        taking.step(&mut written.points)
    }

    fn give_up_point(&mut self, pointing: &mut Pointing, why: &io::Error) {
        let most = pointing.exec.points.unwrap_or(1) as usize;
        let point = Point { missing: Some(why.to_string()), ..pointing.point(self.is_running()) };
        let taking = pointing.taking.take();
        if let Some(points) = self.points() {
            if let Some(taking) = taking {
                taking.leave_nothing(points);
            }
            // Where not even this can be written down, the run before it has the last point.
            let _ = points.note(point, most);
        }
    }

    fn points(&mut self) -> Option<&mut super::Points> {
        let written = self.workspace.as_mut()?.layers.as_mut()?;
        Some(&mut written.points)
    }

    fn release_points(&mut self, id: StreamId) {
        if let Some(written) = self.workspace.as_mut().and_then(|one| one.layers.as_mut())
            && written.taking == Some(id)
        {
            written.taking = None;
        }
    }

    /// Whether a run is still going.
    pub fn is_running(&self) -> bool {
        self.processes.iter().any(|(_, process)| process.exit.is_none())
    }
}
