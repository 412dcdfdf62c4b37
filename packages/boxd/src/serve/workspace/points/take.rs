//! Taking a point: a survey of the layer, and copies of the files that nobody has kept yet.

use super::Points;
use super::index::Point;
use super::keeping::Going;
use super::state::State;
use super::survey::{Found, Survey, copy_name};
use crate::hold::failpoint;
use crate::sys::path::{self, PLAIN};
use crate::sys::{filesystem, link};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// All points of a sandbox together, and never more than this part of its disk.
const MOST_BYTES: u64 = 256 << 20;
const PART_OF_DISK: u64 = 8;
/// How much is looked at, or copied, in one slice.
const LOOKS: usize = 16;
const COPY_SLICE: u64 = 1 << 20;

pub struct Taking {
    upper: OwnedFd,
    /// Names the run, and gets its number at the end.
    point: Point,
    most: usize,
    work: Stage,
}

enum Stage {
    Looking(Box<Survey>),
    Copying(Box<Copying>),
    Over,
}

struct Copying {
    state: State,
    changed: u64,
    fresh: Vec<PathBuf>,
    file: Option<Piece>,
    last_copy: u64,
    bytes: u64,
    /// The oldest points, which make room for it.
    going: Going,
}

impl Taking {
    /// At most so many are kept.
    pub fn begin(
        points: &Points,
        upper: &OwnedFd,
        point: Point,
        most: usize,
    ) -> io::Result<Taking> {
        let before = match points.index.newest() {
            Some(newest) => points.state_of(newest.id)?,
            None => State::default(),
        };
        let survey = Survey::begin(upper, &points.folder, before)?;
        let work = Stage::Looking(Box::new(survey));
        Ok(Taking { upper: upper.try_clone()?, point, most, work })
    }

    /// A slice of it. True when the point is there.
    pub fn step(&mut self, points: &mut Points) -> io::Result<bool> {
        match &mut self.work {
            Stage::Looking(survey) => {
                for _ in 0..LOOKS {
                    if survey.step()? {
                        return self.have_looked(points);
                    }
                }
                Ok(false)
            }
            Stage::Copying(copying) => {
                if copying.step(&self.upper, points)? {
                    return Ok(false);
                }
                self.keep(points)
            }
            Stage::Over => Ok(true),
        }
    }

    /// It is not to be: what was copied for it goes.
    pub fn leave_nothing(self, points: &Points) {
        if let Stage::Copying(copying) = &self.work {
            for copy in points.index.last_copy + 1..=copying.last_copy {
                let _ = path::unlink(points.folder.as_fd(), copy_name(copy));
            }
        }
    }

    fn have_looked(&mut self, points: &mut Points) -> io::Result<bool> {
        let Stage::Looking(survey) = std::mem::replace(&mut self.work, Stage::Over) else {
            return Ok(false);
        };
        let found = survey.finish();
        if found.changed == 0
            && let Some(newest) = points.index.newest().map(|point| point.id)
        {
            // What was looked at closely once need not be before every run.
            if found.knows_better {
                points.write_state(newest, &found.state)?;
            }
            points.rename(&self.point)?;
            return Ok(true);
        }
        let going = points.make_room(&found, self.most)?;
        let Found { state, fresh, changed, .. } = found;
        let last_copy = points.index.last_copy;
        let copying = Copying { state, changed, fresh, file: None, last_copy, bytes: 0, going };
        self.work = Stage::Copying(Box::new(copying));
        Ok(false)
    }

    fn keep(&mut self, points: &mut Points) -> io::Result<bool> {
        let Stage::Copying(copying) = &self.work else {
            return Ok(false);
        };
        failpoint::reached("copied");
        let Copying { state, changed, last_copy, bytes, going, .. } = &**copying;
        let point = Point { bytes: *bytes, ..self.point.clone() };
        points.add(point, state, (*changed, *last_copy), going)?;
        failpoint::reached("pointed");
        Ok(true)
    }
}

struct Piece {
    name: PathBuf,
    from: File,
    to: File,
    bytes: u64,
}

impl Copying {
    /// False when there is nothing left to copy.
    fn step(&mut self, upper: &OwnedFd, points: &Points) -> io::Result<bool> {
        if let Some(mut piece) = self.file.take() {
            let count = io::copy(&mut piece.from.by_ref().take(COPY_SLICE), &mut piece.to)?;
            piece.bytes += count;
            self.bytes += count;
            if self.bytes > MOST_BYTES {
                return Err(too_much());
            }
            if count > 0 {
                self.file = Some(piece);
            } else if let Some(entry) = self.state.entries.get_mut(&piece.name) {
                // Of one that somebody writes to, what there was when it was read.
                entry.size = piece.bytes;
            }
            return Ok(true);
        }
        let Some(name) = self.fresh.pop() else {
            return Ok(false);
        };
        let from = match path::open(upper.as_fd(), &name, libc::O_RDONLY, 0, PLAIN) {
            // Somebody has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.state.entries.remove(&name);
                return Ok(true);
            }
            from => from?,
        };
        self.last_copy += 1;
        let Some(entry) = self.state.entries.get_mut(&name) else {
            return Ok(true);
        };
        entry.copy = self.last_copy;
        let copy = copy_name(self.last_copy);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        let to = path::open(points.folder.as_fd(), &copy, flags, 0o600, PLAIN)?;
        let (uid, gid) = entry.owner;
        // As a file of the same owner and mode it is copied back as such.
        let _ = link::set_owner(points.folder.as_fd(), &copy, uid, gid);
        path::set_mode(to.as_fd(), entry.mode & 0o777)?;
        self.file = Some(Piece { name, from: File::from(from), to: File::from(to), bytes: 0 });
        Ok(true)
    }
}

fn too_much() -> io::Error {
    io::Error::other("what is changed takes more room than points may have")
}

impl Points {
    /// Which of the oldest go so that a point with these files fits. Fails where that does not help.
    fn make_room(&self, found: &Found, most: usize) -> io::Result<Going> {
        let room = filesystem::room(self.folder.as_fd())?;
        let allowed = MOST_BYTES.min(room.bytes / PART_OF_DISK);
        let size = |path: &PathBuf| found.state.get(path).map_or(0, |entry| entry.size);
        let needed: u64 = found.fresh.iter().map(size).sum();
        let spare = room.free_bytes.saturating_sub(room.bytes / PART_OF_DISK);
        let mut going = Going::default();
        while self.index.points.len() - going.count >= most
            || self.index.bytes() + needed > allowed + going.freed
            || needed > spare + going.freed
        {
            if !self.let_oldest_go(&mut going, &found.state)? {
                return Err(too_much());
            }
        }
        Ok(going)
    }
}
