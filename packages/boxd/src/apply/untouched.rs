//! Folders in which the host has made, moved and deleted nothing since the sandbox saw them first.

use super::conflict::Judge;
use super::host;
use super::plan::Step;
use std::io;
use std::path::{Path, PathBuf};

pub struct Untouched<'a> {
    pub judge: Judge<'a>,
    /// Looked at before there was a stage in it.
    is_top: bool,
}

impl<'a> Untouched<'a> {
    pub fn before_staging(judge: Judge<'a>) -> io::Result<Untouched<'a>> {
        let mut untouched = Untouched { judge, is_top: false };
        untouched.is_top = untouched.is_as_it_was(Path::new("."))?;
        Ok(untouched)
    }

    pub fn has(&self, folder: &Path) -> io::Result<bool> {
        if folder == Path::new(".") { Ok(self.is_top) } else { self.is_as_it_was(folder) }
    }

    /// Those that are about to be changed by nobody but us.
    pub fn ours(&self, steps: &[Step]) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            steps.iter().map(|step| host::folder_of(&step.path).to_owned()).collect();
        // The stage is made and removed there.
        folders.push(PathBuf::from("."));
        folders.sort();
        folders.dedup();
        folders.retain(|folder| self.has(folder).unwrap_or(false));
        folders
    }

    fn is_as_it_was(&self, folder: &Path) -> io::Result<bool> {
        let Judge { root, since_ns, known } = &self.judge;
        let there = host::at(*root, folder)?;
        Ok(there
            .is_some_and(|thing| thing.changed_ns() < *since_ns || known.is_ours(folder, &thing)))
    }
}
