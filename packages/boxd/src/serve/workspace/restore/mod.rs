//! Making the workspace what it was: at a point, or before anything ran. Everything is done through
//! the workspace as everybody inside sees it, since a layer of a living overlay cannot be changed.
//! Done twice it comes to the same, so one that was cut off is begun again.

mod make;
mod wanted;

use super::comparison::Comparison;
use super::paths::{Meant, Paths};
use super::points::state::{Entry, State, Thing};
use super::side::{Kind, Side};
use super::walk::names;
use crate::hold::failpoint;
use crate::sys::link;
use crate::sys::path;
use crate::tree::copy::Copy;
use crate::tree::removal::Removal;
use make::shown;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use wanted::{Source, Wanted};

const COPY_SLICE: usize = 256 * 1024;
const REMOVAL_SLICE: usize = 256;

pub struct Restore {
    sides: Sides,
    state: State,
    children: HashMap<PathBuf, Vec<PathBuf>>,
    paths: Paths,
    pass: Pass,
    tasks: Vec<Task>,
    work: Option<Work>,
    pub restored: u64,
}

pub struct Sides {
    pub upper: OwnedFd,
    /// The host's folder.
    pub lower: OwnedFd,
    pub merged: OwnedFd,
    /// The contents of files at points.
    pub copies: OwnedFd,
}

/// First what is in the way goes, so that a full disk has room for the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Clearing,
    Restoring,
}

struct Task {
    path: PathBuf,
    /// Whether what the host's folder has here is to be seen, and whether it is.
    is_to_show: bool,
    shows: bool,
}

enum Work {
    Removal(Removal),
    Copy { copy: Copy, path: PathBuf, mtime_ns: i64 },
    Comparison { contents: Comparison, path: PathBuf, with: Source, mode: u32 },
}

impl Restore {
    /// Without a state: to what the host has.
    pub fn begin(sides: Sides, state: State, paths: Paths) -> Restore {
        let children = state.children();
        let (pass, tasks) = (Pass::Clearing, vec![top()]);
        Restore { sides, state, children, paths, pass, tasks, work: None, restored: 0 }
    }

    /// True when nothing is left to do. An error names the path it is about.
    pub fn step(&mut self) -> Result<bool, (PathBuf, io::Error)> {
        if let Some(work) = self.work.take() {
            let path = match &work {
                Work::Removal(_) => PathBuf::from("."),
                Work::Copy { path, .. } | Work::Comparison { path, .. } => path.clone(),
            };
            return self.go_on(work).map(|()| false).map_err(|error| (path, error));
        }
        match self.tasks.pop() {
            Some(task) => {
                let path = task.path.clone();
                self.look(task).map(|()| false).map_err(|error| (path, error))
            }
            None if self.pass == Pass::Clearing => {
                failpoint::reached("cleared");
                self.pass = Pass::Restoring;
                self.tasks.push(top());
                Ok(false)
            }
            None => Ok(true),
        }
    }

    fn go_on(&mut self, work: Work) -> io::Result<()> {
        match work {
            Work::Removal(mut removal) => {
                if !removal.step(REMOVAL_SLICE)? {
                    self.work = Some(Work::Removal(removal));
                }
            }
            Work::Copy { mut copy, path, mtime_ns } => {
                if !copy.step(COPY_SLICE)? {
                    self.work = Some(Work::Copy { copy, path, mtime_ns });
                    return Ok(());
                }
                let (at, name) = self.place(&path)?;
                link::set_mtime_ns(at.as_fd(), name, mtime_ns)?;
            }
            Work::Comparison { mut contents, path, with, mode } => match contents.step()? {
                None => self.work = Some(Work::Comparison { contents, path, with, mode }),
                Some(true) if mode == with.mode() => {}
                Some(true) => {
                    let (at, name) = self.place(&path)?;
                    path::set_mode_at(at.as_fd(), name, with.mode())?;
                    self.restored += 1;
                }
                Some(false) => self.copy_from(with, path)?,
            },
        }
        Ok(())
    }

    fn look(&mut self, task: Task) -> io::Result<()> {
        let meant = self.paths.meant(&task.path);
        if meant == Meant::No {
            return Ok(());
        }
        let shown = shown(&task.path);
        let state = std::mem::take(&mut self.state);
        let host = Side::at(self.sides.lower.as_fd(), shown)?;
        let has_host_folder = host.as_ref().is_some_and(|host| host.kind == Kind::Directory);
        let wanted = match state.get(&task.path) {
            Some(Entry { thing: Thing::Gone, .. }) => Wanted::Nothing,
            Some(entry) => Wanted::Kept(entry),
            None if task.is_to_show => host.map_or(Wanted::Nothing, Wanted::Host),
            None => Wanted::Nothing,
        };
        let outcome = self.make(task, meant, wanted, has_host_folder);
        self.state = state;
        outcome
    }

    fn make(
        &mut self,
        task: Task,
        meant: Meant,
        wanted: Wanted,
        has_host_folder: bool,
    ) -> io::Result<()> {
        let has = Side::at(self.sides.merged.as_fd(), shown(&task.path))?;
        let has_kind = has.as_ref().map(|has| has.kind);
        let kind = match wanted.kind() {
            // Only what is there already can be it.
            Some(Kind::Other) if has_kind == Some(Kind::Other) => return Ok(()),
            Some(Kind::Other) => None,
            kind => kind,
        };
        let is_clearing = self.pass == Pass::Clearing;
        match (kind, has) {
            (Some(Kind::Directory), Some(has)) if has.kind == Kind::Directory => {
                if meant == Meant::Yes && !is_clearing {
                    let is_changed = self.set_attributes(&task.path, &wanted, &has)?;
                    self.restored += u64::from(is_changed);
                }
                self.descend(task, &wanted, has_host_folder, meant)
            }
            (None, Some(has)) if meant == Meant::Below && has.kind == Kind::Directory => {
                self.descend(task, &wanted, has_host_folder, meant)
            }
            (Some(Kind::Directory), Some(_)) if meant == Meant::Below => {
                Err(io::Error::from_raw_os_error(libc::ENOTDIR))
            }
            (kind, Some(has)) if meant == Meant::Yes && kind != Some(has.kind) => {
                self.restored += u64::from(kind.is_none());
                self.remove(&task.path, has.kind)?;
                // What is to be there instead follows in its own turn.
                if !is_clearing {
                    self.tasks.push(task);
                }
                Ok(())
            }
            (Some(Kind::Directory), None) if !is_clearing => self.make_folder(task, &wanted),
            (Some(_), has) if !is_clearing && meant == Meant::Yes => {
                self.make_file(task, wanted, has)
            }
            _ => Ok(()),
        }
    }

    /// Whatever may differ below a folder that is one now.
    fn descend(
        &mut self,
        task: Task,
        wanted: &Wanted,
        has_host_folder: bool,
        meant: Meant,
    ) -> io::Result<()> {
        let Task { path, is_to_show, shows } = task;
        let hides = matches!(wanted, Wanted::Nothing)
            || matches!(wanted, Wanted::Kept(entry) if entry.thing == Thing::Opaque);
        let is_to_show = is_to_show && has_host_folder && !hides;
        let upper = Side::at(self.sides.upper.as_fd(), shown(&path))?;
        let is_folder = |side: &Side| side.kind == Kind::Directory;
        let covers = upper.as_ref().is_some_and(|upper| !is_folder(upper) || upper.is_opaque());
        let shows = shows && has_host_folder && !covers;
        let mut below: BTreeSet<PathBuf> = BTreeSet::new();
        if meant == Meant::Below {
            below.extend(self.paths.named_below(&path));
        } else {
            below.extend(self.children.get(&path).into_iter().flatten().cloned());
            if upper.as_ref().is_some_and(is_folder) {
                let names = names(self.sides.upper.as_fd(), &path)?;
                below.extend(names.into_iter().map(|name| path.join(name)));
            }
            if is_to_show != shows {
                let names = names(self.sides.lower.as_fd(), &path)?;
                below.extend(names.into_iter().map(|name| path.join(name)));
            }
        }
        self.tasks.extend(below.into_iter().map(|path| Task { path, is_to_show, shows }));
        Ok(())
    }
}

fn top() -> Task {
    Task { path: PathBuf::new(), is_to_show: true, shows: true }
}
