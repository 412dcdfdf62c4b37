//! What comes back from a sandbox that has a copy of the folder. Who asks has compared both sides
//! and says what is to be taken, what goes, and what the folder had then. Where it has something
//! else by now nothing is done, and it is compared again.

use super::conflict;
use super::gather::{Gather, Incoming, What, staged};
use super::held_back;
use super::host::{self, STRICT, Thing};
use super::plan::{Action, Plan, Step};
use super::stage::Stage;
use super::target::Target;
use super::wanted::{Beside, Wanted, Was};
use super::{journal, read_header, receive};
use crate::sys::path::{self, PLAIN};
use crate::sys::time;
use crate::tree::listing::next_names;
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MOST_HEADER: u32 = 256 << 20;
const NEW_FOLDER: u32 = 0o755;

pub fn land(directory: &Path) -> Result<Value, Failure> {
    let mut input = io::stdin().lock();
    let mut fields = read_header(&mut input, MOST_HEADER)?;
    let target = Target::pinned(&mut fields)?;
    let wanted = Wanted::parse(fields)?;
    let stage = Stage::make(&target, &directory.join("applies"))?;
    let only = wanted.take.keys().cloned().collect();
    let mut gather = Gather::into(&stage, &target, wanted.bytes).only(only);
    let planned = receive(&mut input, &mut gather).and_then(|()| {
        let mut gathered = gather.take();
        gathered.incoming.sort_by(|one, other| one.path.cmp(&other.path));
        let mut maker = Maker::of(&target, &stage, &wanted);
        maker.plan.skipped = gathered.skipped;
        maker.make(&gathered.incoming)?;
        Ok(maker)
    });
    let Maker { plan, kept, .. } = match planned {
        Ok(maker) => maker,
        Err(failure) => {
            stage.clear();
            return Err(failure);
        }
    };
    let mut changed = plan.conflicts.clone();
    if changed.is_empty() && !plan.steps.is_empty() {
        changed = journal::commit(&stage, &target, &plan.steps, None)?;
    }
    stage.clear();
    Ok(json!({
        "applied": if changed.is_empty() { plan.steps.len() } else { 0 },
        "paths": plan.paths(),
        "changed": changed,
        "kept": kept,
        "heldBack": plan.held_back,
        "skipped": plan.skipped,
    }))
}

struct Maker<'a> {
    root: BorrowedFd<'a>,
    stage: BorrowedFd<'a>,
    wanted: &'a Wanted,
    folders: HashSet<PathBuf>,
    kept: Vec<Value>,
    plan: Plan,
}

impl<'a> Maker<'a> {
    fn of(target: &'a Target, stage: &'a Stage, wanted: &'a Wanted) -> Maker<'a> {
        let (root, stage) = (target.root.as_fd(), stage.folder.as_fd());
        let (folders, kept, plan) = (HashSet::new(), Vec::new(), Plan::default());
        Maker { root, stage, wanted, folders, kept, plan }
    }

    fn make(&mut self, incoming: &[Incoming]) -> Result<(), Failure> {
        for (number, (path, was)) in self.wanted.gone.iter().enumerate() {
            // Numbers of their own, beside those of what waits in the stage.
            let outcome = self.remove(usize::MAX / 2 + number, path, was);
            self.noted(path, outcome)?;
        }
        for one in incoming {
            let outcome = self.add(one);
            self.noted(&one.path, outcome)?;
        }
        self.plan.sort();
        Ok(())
    }

    /// That something else is on the way now is a change like any other.
    fn noted(&mut self, path: &Path, outcome: io::Result<()>) -> Result<(), Failure> {
        match outcome {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ELOOP | libc::ENOTDIR | libc::EXDEV)
                ) =>
            {
                self.changed(path);
                Ok(())
            }
            outcome => outcome.map_err(|error| Failure::about_path(path.display(), &error)),
        }
    }

    fn changed(&mut self, path: &Path) {
        self.plan.conflicts.push(json!({ "path": path.to_string_lossy() }));
    }

    fn step(&mut self, number: usize, path: &Path, action: Action) {
        self.plan.steps.push(Step { number, path: path.to_owned(), action });
    }

    fn remove(&mut self, number: usize, path: &Path, was: &Was) -> io::Result<()> {
        match host::at(self.root, path)? {
            None => Ok(()),
            Some(thing) if !was.is(&thing) => {
                self.changed(path);
                Ok(())
            }
            Some(thing) => self.bury(number, path, &thing),
        }
    }

    fn bury(&mut self, number: usize, path: &Path, thing: &Thing) -> io::Result<()> {
        let planned_ns = time::stamp_ns();
        if thing.is_folder() && !self.is_to_be_empty(path)? {
            self.changed(path);
            return Ok(());
        }
        self.step(number, path, Action::Remove { print: thing.print(), planned_ns });
        Ok(())
    }

    /// Nothing goes with a folder that was not to go by itself.
    fn is_to_be_empty(&self, folder: &Path) -> io::Result<bool> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let directory = path::open(self.root, folder, flags, 0, STRICT)?;
        while let Some(names) = next_names(directory.as_fd())? {
            let goes = |path: &PathBuf| self.wanted.goes(path);
            if !names.into_iter().all(|name| goes(&folder.join(name.name))) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, incoming: &Incoming) -> io::Result<()> {
        let Incoming { number, path, what, .. } = incoming;
        if let Some(why) = held_back::reason(incoming, &[]) {
            let told = json!({ "path": path.to_string_lossy(), "why": why });
            self.plan.held_back.push(told);
            return Ok(());
        }
        let Some(take) = self.wanted.take.get(path) else {
            return Ok(());
        };
        let (place, was) = match take {
            Beside::Place(was) => (path, was),
            Beside::Name(name) => {
                if self.is_same(incoming, path)? {
                    return Ok(());
                }
                let told =
                    json!({ "path": path.to_string_lossy(), "keptAs": name.to_string_lossy() });
                self.kept.push(told);
                self.make_above(name)?;
                (name, &None)
            }
        };
        let is_made = place.parent().is_some_and(|above| self.folders.contains(above));
        let there = if is_made { None } else { host::at(self.root, place)? };
        let is_as_it_was = match (&there, was) {
            (None, None) => true,
            (Some(thing), Some(was)) => was.is(thing),
            // Somebody may have brought the same thing here already, as one who died did.
            (Some(_), None) => self.is_same(incoming, place)?,
            (None, Some(_)) => false,
        };
        if !is_as_it_was {
            self.changed(place);
            return Ok(());
        }
        match (what, there) {
            (What::Folder { mode }, Some(thing)) if thing.is_folder() => {
                if *mode != thing.mode() & 0o777 {
                    self.step(*number, place, Action::Mode { mode: *mode, old: thing.mode() });
                }
            }
            (What::Folder { mode }, there) => {
                if let Some(thing) = there {
                    self.bury(*number, place, &thing)?;
                }
                self.folders.insert(place.clone());
                self.step(*number, place, Action::Folder { mode: *mode | 0o700 });
            }
            (_, there) => self.put(incoming, place, there)?,
        }
        Ok(())
    }

    fn put(&mut self, incoming: &Incoming, place: &Path, there: Option<Thing>) -> io::Result<()> {
        let name = staged(incoming.number);
        let inode = path::stat(self.stage, &name)?.st_ino;
        let replaces = match there {
            None => None,
            Some(thing) if thing.is_folder() => {
                self.bury(incoming.number, place, &thing)?;
                None
            }
            Some(thing) => {
                if let (What::File { mode }, true) =
                    (&incoming.what, self.is_same(incoming, place)?)
                {
                    if *mode != thing.mode() & 0o777 {
                        let action = Action::Mode { mode: *mode, old: thing.mode() };
                        self.step(incoming.number, place, action);
                    }
                    return Ok(());
                }
                let (uid, gid) = (thing.found.st_uid, thing.found.st_gid);
                let _ = crate::sys::link::set_owner(self.stage, &name, uid, gid);
                Some(thing.print())
            }
        };
        self.step(incoming.number, place, Action::Put { inode, replaces });
        Ok(())
    }

    /// Whether the folder has the very same there already.
    fn is_same(&self, incoming: &Incoming, place: &Path) -> io::Result<bool> {
        let there = match host::at(self.root, place) {
            Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => None,
            outcome => outcome?,
        };
        let Some(thing) = there else {
            return Ok(false);
        };
        match (&incoming.what, thing.kind()) {
            (What::Link { target }, libc::S_IFLNK) => {
                Ok(path::read_link(thing.handle.as_fd(), "")?.as_bytes() == target)
            }
            (What::File { .. }, libc::S_IFREG) => {
                let name = staged(incoming.number);
                let waiting = path::open(self.stage, name, libc::O_RDONLY, 0, PLAIN)?;
                conflict::is_same(&thing, &File::from(waiting))
            }
            (What::Folder { .. }, libc::S_IFDIR) => Ok(true),
            _ => Ok(false),
        }
    }

    /// The folders above a name that is kept beside the host's, where there are none yet.
    fn make_above(&mut self, name: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = name.ancestors().skip(1).collect();
        above.retain(|one| !one.as_os_str().is_empty() && !self.folders.contains(*one));
        for folder in above.into_iter().rev() {
            let parent_is_made = folder.parent().is_some_and(|one| self.folders.contains(one));
            if parent_is_made || host::at(self.root, folder)?.is_none() {
                self.folders.insert(folder.to_owned());
                let number = usize::MAX / 4 + self.folders.len();
                self.step(number, folder, Action::Folder { mode: NEW_FOLDER });
            }
        }
        Ok(())
    }
}
