//! Points: what the workspace's layer held before each run, so that one can go back to there.
//!
//! They lie on the sandbox's own disk beside the layer, where nobody inside can reach: `index`
//! says which there are, `s<point>` is the state of one, `c<number>` the content of a file. A copy
//! is shared by the points between two changes of its file, so a point costs what was changed
//! since the one before.

pub mod index;
pub mod keeping;
pub mod state;
pub mod survey;
pub mod take;

use crate::sys::path::{self, PLAIN};
use crate::tree::listing::next_names;
use crate::wire::failure::{Code, Failure};
use index::Index;
use state::State;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use survey::{Survey, copy_name};

const INDEX: &str = "index";
const DRAFT: &str = "new";

pub struct Points {
    pub folder: OwnedFd,
    pub index: Index,
    /// Whether another life of the sandbox may find them.
    is_kept: bool,
}

impl Points {
    /// Those of an earlier life, if there was one. What a death has left besides is removed.
    pub fn open(folder: OwnedFd, is_kept: bool) -> io::Result<Points> {
        let mut points = Points { folder, index: Index::default(), is_kept };
        match points.read(INDEX) {
            Ok(bytes) => points.index = Index::of_bytes(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(points),
            Err(error) => return Err(error),
        }
        points.sweep()?;
        Ok(points)
    }

    pub fn state_of(&self, id: u64) -> io::Result<State> {
        State::of_bytes(&self.read(&format!("s{id}"))?)
    }

    fn write_state(&self, id: u64, state: &State) -> io::Result<()> {
        self.write(&format!("s{id}"), &state.to_bytes())
    }

    /// Before the last run that changed something.
    pub fn last(&self, upper: &OwnedFd) -> Result<u64, Failure> {
        let none = || Failure::new(Code::NotFound, "there is no run to take back");
        let mut newest = self.index.points.iter().rev();
        let last = newest.next().ok_or_else(none)?;
        if last.missing.is_none() && self.is_still_at(last.id, upper).unwrap_or(false) {
            return self.find(newest.next().ok_or_else(none)?.id);
        }
        self.find(last.id)
    }

    fn is_still_at(&self, id: u64, upper: &OwnedFd) -> io::Result<bool> {
        let mut survey = Survey::begin(upper, &self.folder, self.state_of(id)?)?;
        while !survey.step()? {}
        Ok(survey.finish().changed == 0)
    }

    /// The point of this number, if one can go back to it.
    pub fn find(&self, id: u64) -> Result<u64, Failure> {
        let point = self.index.points.iter().find(|point| point.id == id);
        let none = || Failure::new(Code::NotFound, format!("there is no point {id}"));
        let point = point.ok_or_else(none)?;
        match &point.missing {
            Some(why) => {
                let message = format!("there is no way back to point {}: {why}", point.id);
                Err(Failure::new(Code::NotFound, message))
            }
            None => Ok(point.id),
        }
    }

    fn commit(&mut self, index: Index) -> io::Result<()> {
        self.write(INDEX, &index.to_bytes())?;
        self.index = index;
        Ok(())
    }

    /// Removes what no point has a use for, and knows those whose content was not on the medium
    /// when the machine went down.
    fn sweep(&mut self) -> io::Result<()> {
        let mut needed = HashSet::from([PathBuf::from(INDEX)]);
        let mut index = self.index.clone();
        for point in index.points.iter_mut().filter(|point| point.missing.is_none()) {
            match self.state_of(point.id) {
                Ok(state) if self.has_all(&state) => {
                    needed.insert(PathBuf::from(format!("s{}", point.id)));
                    needed.extend(copies_of(&state).into_iter().map(copy_name));
                }
                _ => point.missing = Some("it was lost when the machine went down".to_string()),
            }
        }
        self.index = index;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let listed = path::open(self.folder.as_fd(), ".", flags, 0, PLAIN)?;
        while let Some(names) = next_names(listed.as_fd())? {
            for name in names.iter().map(|name| PathBuf::from(&name.name)) {
                if !needed.contains(&name) {
                    path::unlink(self.folder.as_fd(), name)?;
                }
            }
        }
        Ok(())
    }

    fn has_all(&self, state: &State) -> bool {
        state.entries.values().filter(|entry| entry.copy != 0).all(|entry| {
            let copy = path::stat(self.folder.as_fd(), copy_name(entry.copy));
            copy.is_ok_and(|copy| copy.st_size as u64 == entry.size)
        })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = path::open(self.folder.as_fd(), name, libc::O_RDONLY, 0, PLAIN)?;
        let mut bytes = Vec::new();
        File::from(file).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The whole of it appears at one instant.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        let draft = path::open(self.folder.as_fd(), DRAFT, flags, 0o600, PLAIN)?;
        File::from(draft).write_all(bytes)?;
        path::rename(self.folder.as_fd(), DRAFT, self.folder.as_fd(), name)
    }
}

fn copies_of(state: &State) -> HashSet<u64> {
    state.entries.values().map(|entry| entry.copy).filter(|&copy| copy != 0).collect()
}
