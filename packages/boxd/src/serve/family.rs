//! Everybody who descends from a process, also those who have left its group and session.
//!
//! A program with a timeout adopts its orphans (see `Program::adopts_orphans`), so while it
//! lives, every descendant is below it in the tree of parents, however often it forked.

use crate::sys::process;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Each round stops whoever the last one has missed; a stopped process forks no more.
const MOST_ROUNDS: usize = 64;

/// Kills a process and its whole family. Stops them all before it kills one, because the
/// children of the dead go to the first process and are then nobody's.
pub fn kill(root: i32) {
    let mut stopped = BTreeSet::new();
    let mut members = BTreeSet::from([root]);
    for _ in 0..MOST_ROUNDS {
        let new: Vec<i32> = members.difference(&stopped).copied().collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            process::signal_one(pid, libc::SIGSTOP);
            stopped.insert(pid);
        }
        members = descendants(root, &parents());
    }
    for pid in stopped.difference(&members) {
        // Its number went to somebody else between two looks.
        process::signal_one(*pid, libc::SIGCONT);
    }
    for pid in members {
        process::signal_one(pid, libc::SIGKILL);
    }
}

/// The parent of every process there is.
fn parents() -> BTreeMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
    .collect()
}

/// The fourth field, counted behind the program's name, which may hold anything.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

/// `root` and all below it.
fn descendants(root: i32, parents: &BTreeMap<i32, i32>) -> BTreeSet<i32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let more: Vec<i32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_everybody_below() {
        let parents = BTreeMap::from([(1, 0), (5, 1), (7, 5), (3, 7), (8, 1), (9, 8)]);
        assert_eq!(descendants(5, &parents), BTreeSet::from([3, 5, 7]));
        assert_eq!(descendants(9, &parents), BTreeSet::from([9]));
    }

    #[test]
    fn a_parent_is_read_behind_any_name() {
        assert_eq!(parent_in("12 (a) R 1 (b) S 34 5 6"), Some(34));
        assert_eq!(parent_in("12 (sh) S 1 12"), Some(1));
        assert_eq!(parent_in("nonsense"), None);
    }
}
