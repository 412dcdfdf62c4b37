//! What has to be done to the folder, decided before anything is.

use super::Asked;
use super::conflict;
use super::gather::{Gathered, Incoming, What, staged};
use super::held_back;
use super::host::{self, Thing};
use super::stage::Stage;
use super::target::Target;
use super::untouched::Untouched;
use crate::sys::path::{self, PLAIN};
use crate::sys::time;
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MOST_TOLD: usize = 1_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Move it into the stage. The print says what it was.
    Remove {
        print: [u64; 3],
        planned_ns: i64,
    },
    Folder {
        mode: u32,
    },
    /// Bring what waits in the stage, with this inode, in place of what was there.
    Put {
        inode: u64,
        replaces: Option<[u64; 3]>,
    },
    Mode {
        mode: u32,
        old: u32,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub number: usize,
    pub path: PathBuf,
    pub action: Action,
}

#[derive(Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub conflicts: Vec<Value>,
    pub held_back: Vec<Value>,
    pub skipped: u64,
}

impl Plan {
    pub fn make(
        target: &Target,
        stage: &Stage,
        gathered: Gathered,
        asked: &Asked,
        untouched: &Untouched,
    ) -> Result<Plan, Failure> {
        let root = target.root.as_fd();
        let mut maker = Maker {
            untouched,
            root,
            stage: stage.folder.as_fd(),
            force: asked.force,
            folders: HashSet::new(),
            plan: Plan { skipped: gathered.skipped, ..Plan::default() },
        };
        for incoming in &gathered.incoming {
            if let Some(why) = held_back::reason(incoming, &asked.named) {
                let entry = tell(&incoming.path, why);
                maker.plan.held_back.push(entry);
                continue;
            }
            if let Err(error) = maker.add(incoming) {
                match error.raw_os_error() {
                    Some(libc::ELOOP | libc::ENOTDIR | libc::EXDEV) => {
                        maker.object(&incoming.path, "something else is on the way to it");
                    }
                    _ => return Err(Failure::about_path(incoming.path.display(), &error)),
                }
            }
        }
        let mut plan = maker.plan;
        plan.sort();
        Ok(plan)
    }

    /// What goes makes room for what comes.
    pub fn sort(&mut self) {
        self.steps.sort_by_key(|step| match step.action {
            Action::Remove { .. } => 0,
            Action::Folder { .. } => 1,
            Action::Put { .. } => 2,
            Action::Mode { .. } => 3,
        });
    }

    pub fn paths(&self) -> Vec<String> {
        let paths = self.steps.iter().map(|step| step.path.to_string_lossy().into_owned());
        let mut paths: Vec<String> = paths.take(MOST_TOLD).collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

fn tell(path: &Path, why: &str) -> Value {
    json!({ "path": path.to_string_lossy(), "why": why })
}

struct Maker<'a, 'b> {
    untouched: &'a Untouched<'b>,
    root: BorrowedFd<'a>,
    stage: BorrowedFd<'a>,
    force: bool,
    /// Those that the plan makes.
    folders: HashSet<PathBuf>,
    plan: Plan,
}

impl Maker<'_, '_> {
    fn object(&mut self, path: &Path, why: &str) {
        self.plan.conflicts.push(tell(path, why));
    }

    fn step(&mut self, Incoming { number, path, .. }: &Incoming, action: Action) {
        self.plan.steps.push(Step { number: *number, path: path.clone(), action });
    }

    fn add(&mut self, incoming: &Incoming) -> io::Result<()> {
        let above = incoming.path.parent().filter(|above| !above.as_os_str().is_empty());
        let is_made = above.is_some_and(|above| self.folders.contains(above));
        let there = if is_made { None } else { host::at(self.root, &incoming.path)? };
        if let (None, Some(above), false) = (&there, above, is_made) {
            match host::at(self.root, above)? {
                Some(folder) if folder.is_folder() => {}
                _ if matches!(incoming.what, What::Gone) => return Ok(()),
                _ => {
                    self.object(&incoming.path, "the folder it is in is gone");
                    return Ok(());
                }
            }
        }
        // A file that the sandbox moved here looks like one that was here. Nobody has deleted
        // anything in a folder that is as it was.
        if there.is_none()
            && incoming.was_there
            && !self.force
            && !self.untouched.has(host::folder_of(&incoming.path))?
        {
            self.object(&incoming.path, "it was deleted on this machine meanwhile");
            return Ok(());
        }
        match (&incoming.what, there) {
            (What::Gone, None) => {}
            (What::Gone, Some(thing)) => self.remove(incoming, &thing)?,
            (What::Folder { mode }, Some(thing)) if thing.is_folder() => {
                if *mode != thing.mode() & 0o777 {
                    self.step(incoming, Action::Mode { mode: *mode, old: thing.mode() });
                }
            }
            (What::Folder { mode }, there) => {
                if let Some(thing) = there {
                    self.remove(incoming, &thing)?;
                }
                self.folders.insert(incoming.path.clone());
                self.step(incoming, Action::Folder { mode: *mode });
            }
            (What::File { .. } | What::Link { .. }, there) => self.put(incoming, there)?,
        }
        Ok(())
    }

    fn remove(&mut self, incoming: &Incoming, thing: &Thing) -> io::Result<()> {
        let planned_ns = time::stamp_ns();
        self.check(&incoming.path, thing)?;
        self.step(incoming, Action::Remove { print: thing.print(), planned_ns });
        Ok(())
    }

    fn check(&mut self, path: &Path, thing: &Thing) -> io::Result<()> {
        if !self.force
            && let Some(changed) = self.untouched.judge.changed(path, thing)?
        {
            self.object(&changed, "it has changed on this machine meanwhile");
        }
        Ok(())
    }

    fn put(&mut self, incoming: &Incoming, there: Option<Thing>) -> io::Result<()> {
        let name = staged(incoming.number);
        let inode = path::stat(self.stage, &name)?.st_ino;
        let Some(thing) = there else {
            self.step(incoming, Action::Put { inode, replaces: None });
            return Ok(());
        };
        if thing.is_folder() {
            self.remove(incoming, &thing)?;
            self.step(incoming, Action::Put { inode, replaces: None });
            return Ok(());
        }
        match (&incoming.what, thing.kind()) {
            (What::Link { target }, libc::S_IFLNK)
                if path::read_link(thing.handle.as_fd(), "")?.as_bytes() == target =>
            {
                return Ok(());
            }
            (What::File { mode }, libc::S_IFREG) => {
                let staged = path::open(self.stage, &name, libc::O_RDONLY, 0, PLAIN)?;
                if conflict::is_same(&thing, &File::from(staged))? {
                    if *mode != thing.mode() & 0o777 {
                        self.step(incoming, Action::Mode { mode: *mode, old: thing.mode() });
                    }
                    return Ok(());
                }
            }
            _ => {}
        }
        self.check(&incoming.path, &thing)?;
        // It stays whose it was.
        let found = &thing.found;
        let _ = crate::sys::link::set_owner(self.stage, &name, found.st_uid, found.st_gid);
        self.step(incoming, Action::Put { inode, replaces: Some(thing.print()) });
        Ok(())
    }
}
