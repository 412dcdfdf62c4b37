//! The group of one sandbox.

use super::{Places, UNIFIED, distinct, v1, v2};
use crate::wire::limits::Limits;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    pub places: Places,
}

/// How a sandbox's first process gets into its group.
pub enum Entry {
    /// It writes 0 to each of these.
    Doors(Vec<OwnedFd>),
    /// The kernel clones it right into this one.
    Folder(OwnedFd),
}

impl Group {
    pub fn at(places: Places) -> Group {
        Group { places }
    }

    pub fn place(&self, controller: &str) -> Option<&Path> {
        self.places.get(controller).map(PathBuf::as_path)
    }

    pub fn unified(&self) -> Option<&Path> {
        self.place(UNIFIED)
    }

    /// What a group of this name holds already is a dead sandbox's.
    pub fn make_folders(&self) -> io::Result<()> {
        for folder in distinct(&self.places) {
            match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    fs::remove_dir(folder)?;
                    fs::create_dir(folder)?;
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// In version 2 a group has its name for good, and stays what it is called.
    pub fn rename(&mut self, id: &str) -> io::Result<()> {
        if self.unified().is_some() {
            return Ok(());
        }
        for folder in distinct(&self.places) {
            fs::rename(folder, folder.with_file_name(id))?;
        }
        self.places.values_mut().for_each(|folder| folder.set_file_name(id));
        Ok(())
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.places.values().any(|folder| folder.ends_with(name))
    }

    pub fn set(&self, limits: &Limits) -> io::Result<()> {
        match self.unified() {
            Some(folder) => v2::set(folder, limits),
            None => v1::set(&self.places, limits),
        }
    }

    pub fn entry(&self) -> io::Result<Entry> {
        match self.unified() {
            Some(folder) => v2::open(folder).map(Entry::Folder),
            None => v1::doors(&distinct(&self.places)).map(Entry::Doors),
        }
    }

    /// Asks the kernel to stop every process of the group. It takes a moment: see `is_frozen`.
    pub fn freeze(&self) -> io::Result<()> {
        match (self.unified(), self.place("freezer")) {
            (Some(folder), _) => write(folder, "cgroup.freeze", 1),
            (None, Some(folder)) => write(folder, "freezer.state", "FROZEN"),
            (None, None) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        }
    }

    pub fn thaw(&self) -> io::Result<()> {
        match (self.unified(), self.place("freezer")) {
            (Some(folder), _) => write(folder, "cgroup.freeze", 0),
            (None, Some(folder)) => write(folder, "freezer.state", "THAWED"),
            (None, None) => Ok(()),
        }
    }

    /// Whether not one process of the group runs any more.
    pub fn is_frozen(&self) -> bool {
        let says = |folder: &Path, file: &str, words: &str| {
            fs::read_to_string(folder.join(file)).is_ok_and(|text| text.contains(words))
        };
        match (self.unified(), self.place("freezer")) {
            (Some(folder), _) => says(folder, "cgroup.events", "frozen 1"),
            (None, Some(folder)) => says(folder, "freezer.state", "FROZEN"),
            (None, None) => false,
        }
    }

    /// Whether it is gone. The kernel refuses while a process of it is still on its way out.
    pub fn remove(&self) -> bool {
        let mut is_gone = true;
        for folder in distinct(&self.places) {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => is_gone = false,
                _ => {}
            }
        }
        is_gone
    }
}

/// Never makes a file: one that is missing is a controller that is.
pub fn write(folder: &Path, file: &str, value: impl ToString) -> io::Result<()> {
    let mut file = File::options().write(true).open(folder.join(file))?;
    file.write_all(value.to_string().as_bytes())
}
