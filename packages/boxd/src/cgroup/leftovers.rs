//! Groups whose sandbox is gone, until the kernel lets go of them.

use super::{Group, Groups, Places};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const AGAIN: Duration = Duration::from_millis(10);
/// What resists for so long is left to the next hold.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Leftovers {
    groups: Vec<(Group, Instant)>,
    due: Option<Instant>,
}

impl Leftovers {
    pub fn take(&mut self, group: Group) {
        self.groups.push((group, Instant::now() + PATIENCE));
        self.due = Some(Instant::now());
    }

    pub fn extend(&mut self, groups: impl IntoIterator<Item = Group>) {
        groups.into_iter().for_each(|group| self.take(group));
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn remove_when_due(&mut self) {
        let now = Instant::now();
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.groups.retain(|(group, until)| !group.remove() && *until > now);
        self.due = (!self.groups.is_empty()).then_some(now + AGAIN);
    }

    /// Takes what an earlier hold of this folder left, wherever it ran: `diary` names every
    /// place that ever held a group of this folder.
    pub fn sweep(
        &mut self,
        diary: &Path,
        groups: &Groups,
        is_alive: impl Fn(&str) -> bool,
    ) -> io::Result<()> {
        let known = fs::read_to_string(diary).unwrap_or_default();
        let mut parents: BTreeSet<PathBuf> = known.lines().map(PathBuf::from).collect();
        for parent in &parents {
            for id in ids_in(parent).iter().filter(|id| !is_alive(id)) {
                let place = (String::new(), parent.join(id));
                self.take(Group::at(Places::from([place])));
            }
            if !groups.parents().contains(&parent.as_path()) {
                let _ = fs::remove_dir(parent);
            }
        }
        parents.retain(|parent| parent.exists());
        parents.extend(groups.parents().into_iter().map(Path::to_path_buf));
        let lines: Vec<String> = parents.iter().map(|path| path.display().to_string()).collect();
        fs::write(diary, lines.join("\n"))
    }
}

fn ids_in(parent: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let folder = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            folder(entry).then_some(name)
        })
        .collect()
}
