//! What differs between a layer and the folder below it. Only the layer is walked, so that the cost
//! is that of the changes, however large the folder is.

use super::comparison::Comparison;
use super::paths::{Meant, Paths};
use super::side::{Kind, Side};
use crate::sys::path::{self, PLAIN};
use crate::tree::listing::next_names;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub struct Walk {
    upper: OwnedFd,
    /// None where the layer is told by itself: then its whiteouts are, too.
    lower: Option<OwnedFd>,
    paths: Paths,
    deep: Deep,
    /// What is still to be looked at, the next one last.
    tasks: Vec<Task>,
    comparing: Option<Comparing>,
}

/// Whether what is below a folder that is new or gone is told, too.
#[derive(Clone, Copy)]
pub struct Deep {
    pub additions: bool,
    pub deletions: bool,
}

enum Task {
    /// Something in the layer, and whether its folder is one below, too.
    Look { path: PathBuf, has_below: bool },
    /// Something below that the layer hides.
    Gone { path: PathBuf },
}

/// A difference. At least one side is there.
pub struct Found {
    pub path: PathBuf,
    pub new: Option<Side>,
    pub old: Option<Side>,
    /// Where both are files or links: whether more than the mode differs.
    pub is_rewritten: bool,
    /// A folder that hides all that is below it.
    pub is_opaque: bool,
}

impl Found {
    fn bare(path: PathBuf) -> Found {
        Found { path, new: None, old: None, is_rewritten: true, is_opaque: false }
    }
}

pub enum Step {
    Found(Box<Found>),
    Nothing,
    Over,
}

struct Comparing {
    found: Box<Found>,
    contents: Comparison,
}

impl Walk {
    pub fn begin(
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
        paths: Paths,
        deep: Deep,
    ) -> io::Result<Walk> {
        let lower = lower.map(OwnedFd::try_clone).transpose()?;
        let upper = upper.try_clone()?;
        let first = Task::Look { path: PathBuf::new(), has_below: lower.is_some() };
        Ok(Walk { upper, lower, paths, deep, tasks: vec![first], comparing: None })
    }

    /// What the layer lies on; the layer itself where it is told alone.
    pub fn lower(&self) -> BorrowedFd<'_> {
        self.lower.as_ref().unwrap_or(&self.upper).as_fd()
    }

    /// The next bit of work. An error names the path it is about.
    pub fn step(&mut self) -> Result<Step, (PathBuf, io::Error)> {
        if let Some(comparing) = self.comparing.take() {
            let path = comparing.found.path.clone();
            return self.compare(comparing).map_err(|error| (path, error));
        }
        match self.tasks.pop() {
            None => Ok(Step::Over),
            Some(Task::Look { path, has_below }) => {
                self.look(path.clone(), has_below).map_err(|error| (path, error))
            }
            Some(Task::Gone { path }) => self.gone(path.clone()).map_err(|error| (path, error)),
        }
    }

    fn look(&mut self, path: PathBuf, has_below: bool) -> io::Result<Step> {
        let meant = self.paths.meant(&path);
        if meant == Meant::No {
            return Ok(Step::Nothing);
        }
        let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path.as_path() };
        // It may be gone by now.
        let Some(new) = Side::at(self.upper.as_fd(), shown)? else {
            return Ok(Step::Nothing);
        };
        if new.is_whiteout() {
            if self.lower.is_none() && meant == Meant::Yes {
                return Ok(Step::Found(Box::new(Found::bare(path))));
            }
            self.tasks.extend(has_below.then_some(Task::Gone { path }));
            return Ok(Step::Nothing);
        }
        let old = if has_below { Side::at(self.lower(), shown)? } else { None };
        let old_kind = old.as_ref().map(|old| old.kind);
        match (new.kind, old_kind) {
            (Kind::Directory, Some(Kind::Directory)) => self.descend(&path, &new, true)?,
            (Kind::Directory, _) if self.deep.additions || meant == Meant::Below => {
                self.descend(&path, &new, false)?;
            }
            (_, Some(Kind::Directory)) if self.deep.deletions => self.list_gone(&path)?,
            _ => {}
        }
        if meant == Meant::Below {
            return Ok(Step::Nothing);
        }
        let is_opaque = self.lower.is_none() && new.is_opaque();
        let found = Found { new: Some(new), old, is_opaque, ..Found::bare(path) };
        self.judge(Box::new(found))
    }

    /// Whether two things differ at all.
    fn judge(&mut self, mut found: Box<Found>) -> io::Result<Step> {
        let (Some(new), Some(old)) = (&found.new, &found.old) else {
            return Ok(Step::Found(found));
        };
        if new.kind != old.kind {
            return Ok(Step::Found(found));
        }
        found.is_rewritten = match new.kind {
            Kind::Link => new.target()? != old.target()?,
            Kind::File if new.size() == old.size() => {
                let contents = Comparison::of([new.open()?, old.open()?]);
                self.comparing = Some(Comparing { found, contents });
                return Ok(Step::Nothing);
            }
            Kind::File => true,
            // A folder's content is told by itself; and one pipe is as good as another.
            Kind::Directory | Kind::Other => false,
        };
        Ok(conclude(found))
    }

    fn compare(&mut self, mut comparing: Comparing) -> io::Result<Step> {
        let Some(is_same) = comparing.contents.step()? else {
            self.comparing = Some(comparing);
            return Ok(Step::Nothing);
        };
        comparing.found.is_rewritten = !is_same;
        Ok(conclude(comparing.found))
    }

    fn gone(&mut self, path: PathBuf) -> io::Result<Step> {
        let meant = self.paths.meant(&path);
        if meant == Meant::No {
            return Ok(Step::Nothing);
        }
        let Some(old) = Side::at(self.lower(), &path)? else {
            return Ok(Step::Nothing);
        };
        if old.kind == Kind::Directory && (self.deep.deletions || meant == Meant::Below) {
            self.list_gone(&path)?;
        }
        if meant == Meant::Below {
            return Ok(Step::Nothing);
        }
        Ok(Step::Found(Box::new(Found { old: Some(old), ..Found::bare(path) })))
    }

    fn descend(&mut self, path: &Path, new: &Side, has_below: bool) -> io::Result<()> {
        let names = names(self.upper.as_fd(), path)?;
        let look = |name: &OsString| Task::Look { path: path.join(name), has_below };
        let mut tasks: BTreeMap<OsString, Task> =
            names.iter().map(|name| (name.clone(), look(name))).collect();
        // An opaque folder stands for itself alone: what it does not hold is gone.
        if has_below && new.is_opaque() {
            for name in self::names(self.lower(), path)?.difference(&names) {
                tasks.insert(name.clone(), Task::Gone { path: path.join(name) });
            }
        }
        self.tasks.extend(tasks.into_values().rev());
        Ok(())
    }

    fn list_gone(&mut self, path: &Path) -> io::Result<()> {
        let names = names(self.lower(), path)?;
        self.tasks.extend(names.iter().rev().map(|name| Task::Gone { path: path.join(name) }));
        Ok(())
    }
}

fn conclude(found: Box<Found>) -> Step {
    let modes = [&found.new, &found.old].map(|side| side.as_ref().map(Side::mode));
    let is_link = found.new.as_ref().is_some_and(|new| new.kind == Kind::Link);
    if found.is_rewritten || (modes[0] != modes[1] && !is_link) {
        Step::Found(found)
    } else {
        Step::Nothing
    }
}

/// Sorted, so that the same changes are always told in the same order.
pub fn names(base: BorrowedFd, path: &Path) -> io::Result<BTreeSet<OsString>> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let directory = path::open(base, path, libc::O_RDONLY | libc::O_DIRECTORY, 0, PLAIN)?;
    let mut all = BTreeSet::new();
    while let Some(names) = next_names(directory.as_fd())? {
        all.extend(names.into_iter().map(|entry| entry.name));
    }
    Ok(all)
}
