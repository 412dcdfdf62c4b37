//! Control groups: what holds a sandbox to its share of the machine.
//!
//! Every sandbox has a group of its own below one that belongs to the hold of a folder:
//! `sandboxer-<folder>/<sandbox id>`, in each hierarchy of version 1 or in the one of version 2.

mod group;
mod leftovers;
mod name;
mod system;
mod usage;
mod v1;
mod v2;

pub use group::{Entry, Group};
pub use leftovers::Leftovers;
pub use name::number_of;
pub use usage::{Usage, oom_kills};

use crate::wire::limits::Limits;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Controllers by name, with the folder of ours in that controller's hierarchy. Version 2 has
/// one folder for all, under `UNIFIED`.
pub type Places = BTreeMap<String, PathBuf>;

pub const UNIFIED: &str = "unified";

/// What hold has to make groups with.
pub struct Groups {
    places: Places,
    /// Controllers that cannot be used, and why.
    missing: BTreeMap<&'static str, String>,
}

/// What limits and pauses are made of.
const CONTROLLERS: [&str; 4] = ["cpu", "memory", "pids", "freezer"];

impl Groups {
    /// Looks for what this process may use, and makes the group that all others go below.
    pub fn find(folder: &Path) -> Groups {
        let name = match name::of_folder(folder) {
            Ok(name) => name,
            Err(error) => return Groups::none(&error.to_string()),
        };
        match system::read() {
            Ok(system) if system.has_version_1_memory() => v1::find(&system, &name),
            Ok(system) => v2::find(&system, &name),
            Err(error) => Groups::none(&format!("/proc cannot be read: {error}")),
        }
    }

    fn none(reason: &str) -> Groups {
        let missing = CONTROLLERS.map(|controller| (controller, reason.to_string()));
        Groups { places: Places::new(), missing: BTreeMap::from(missing) }
    }

    pub fn why_missing(&self, controller: &str) -> Option<&str> {
        self.missing.get(controller).map(String::as_str)
    }

    /// How many descriptors a sandbox needs to enter a group by itself; none where the kernel
    /// puts it there.
    pub fn entries(&self) -> usize {
        if self.are_unified() { 0 } else { distinct(&self.places).len() }
    }

    /// All controllers share one hierarchy, of version 2.
    fn are_unified(&self) -> bool {
        self.places.contains_key(UNIFIED)
    }

    /// A group for one sandbox, with its limits in force. None where there are no groups.
    pub fn make(&self, id: &str, limits: &Limits) -> io::Result<Option<Group>> {
        if self.places.is_empty() {
            return Ok(None);
        }
        let below = |(name, path): (&String, &PathBuf)| (name.clone(), path.join(id));
        let group = Group::at(self.places.iter().map(below).collect());
        let made = group.make_folders().and_then(|()| group.set(limits));
        if let Err(error) = made {
            group.remove();
            return Err(error);
        }
        Ok(Some(group))
    }

    /// The folders that sandboxes' groups are made in.
    pub fn parents(&self) -> Vec<&Path> {
        distinct(&self.places)
    }

    /// Takes down what holds no sandbox any more. The kernel refuses for the rest.
    pub fn leave(&self) {
        for parent in self.parents() {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// Controllers can share a hierarchy, as cpu and cpuacct often do.
fn distinct(places: &Places) -> Vec<&Path> {
    let mut folders: Vec<&Path> = places.values().map(PathBuf::as_path).collect();
    folders.sort();
    folders.dedup();
    folders
}
