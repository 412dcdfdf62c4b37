//! What an earlier hold left: the living are adopted, the dead are cleared away.

use super::folder::{Folder, is_id};
use super::record::{Record, start_time};
use super::registry::Sandbox;
use super::trash::Trash;
use super::{failpoint, log};
use crate::cgroup::Group;
use crate::sys::process;
use std::fs;
use std::io;

pub fn survivors(folder: &Folder, boot_id: &str, trash: &mut Trash) -> io::Result<Vec<Sandbox>> {
    let mut living = Vec::new();
    for entry in fs::read_dir(folder.boxes())? {
        let name = entry?.file_name();
        match name.to_str().filter(|name| is_id(name)).and_then(|id| revive(folder, id, boot_id)) {
            Some(sandbox) => {
                log::note(format_args!("adopted {}", sandbox.record.id));
                failpoint::reached("adopted");
                living.push(sandbox);
            }
            None => trash.take(folder, &folder.boxes().join(&name)),
        }
    }
    // The earlier hold may have died with its trash full.
    if fs::read_dir(folder.trash())?.next().is_some() {
        trash.wake();
    }
    Ok(living)
}

fn revive(folder: &Folder, id: &str, boot_id: &str) -> Option<Sandbox> {
    let record = Record::read(&folder.of_box(id)).ok()?;
    if !record.is_known_as(id) || record.boot_id != boot_id {
        return None;
    }
    if record.id != id {
        // The earlier hold died between the two halves of a claim.
        folder.rename_box(id, &record.id).ok()?;
    }
    let pidfd = process::pidfd_open(record.pid).ok()?;
    // Asked after the pidfd is open, so the pid cannot change hands in between.
    (start_time(record.pid).ok()? == record.start_time).then(|| Sandbox {
        is_paused: record.group.as_ref().is_some_and(Group::is_frozen),
        freezing: None,
        disk: None,
        record,
        pidfd,
        starting: None,
        ending: None,
    })
}
