//! What an earlier hold left: the living are adopted, the dead are cleared away.

use super::folder::{Folder, is_id};
use super::record::{Record, start_time};
use super::registry::{Ending, Sandbox};
use super::rest::{self, Resting};
use super::trash::Trash;
use super::{failpoint, log, standstill};
use crate::cgroup::Group;
use crate::sys::process;
use std::fs;
use std::io;

pub fn survivors(
    folder: &Folder,
    boot_id: &str,
    trash: &mut Trash,
) -> io::Result<(Vec<Sandbox>, Resting)> {
    standstill::end_all(folder);
    let mut living = Vec::new();
    let mut resting = Resting::default();
    for entry in fs::read_dir(folder.boxes())? {
        let name = entry?.file_name();
        let record = name.to_str().filter(|name| is_id(name)).and_then(|id| record_of(folder, id));
        if let Some(sandbox) = record.as_ref().and_then(|one| revive(folder, one, boot_id)) {
            log::note(format_args!("adopted {}", sandbox.record.id));
            failpoint::reached("adopted");
            living.push(sandbox);
        } else if let Some(record) = record.and_then(|one| rest::left_behind(folder, one, boot_id))
        {
            resting.insert(record);
        } else {
            trash.take(folder, &folder.boxes().join(&name));
        }
    }
    // The earlier hold may have died with its trash full.
    if fs::read_dir(folder.trash())?.next().is_some() {
        trash.wake();
    }
    Ok((living, resting))
}

fn record_of(folder: &Folder, id: &str) -> Option<Record> {
    let record = Record::read(&folder.of_box(id)).ok()?;
    record.is_known_as(id).then_some(())?;
    if record.id != id {
        // The earlier hold died between the two halves of a claim.
        folder.rename_box(id, &record.id).ok()?;
    }
    Some(record)
}

fn revive(folder: &Folder, record: &Record, boot_id: &str) -> Option<Sandbox> {
    (record.boot_id == boot_id && record.pid > 0).then_some(())?;
    let pidfd = process::pidfd_open(record.pid).ok()?;
    // Asked after the pidfd is open, so the pid cannot change hands in between.
    (start_time(record.pid).ok()? == record.start_time).then_some(())?;
    let mut record = record.clone();
    if record.keeps.is_some() && !record.has_lived {
        // The earlier hold died before it had heard of that.
        record.has_lived = true;
        record.write(&folder.of_box(&record.id)).ok()?;
    }
    // Who read it is not here any more.
    let ending = record.is_read.then(|| {
        let _ = process::signal_pidfd(&pidfd, libc::SIGKILL);
        Ending::that_keeps()
    });
    Some(Sandbox {
        is_paused: record.group.as_ref().is_some_and(Group::is_frozen),
        freezing: None,
        disk: None,
        record,
        pidfd,
        starting: None,
        ending,
        before: None,
    })
}
