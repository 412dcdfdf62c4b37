//! Sandboxes of which nothing runs: their disks are kept, and may be started again.

use super::folder::Folder;
use super::layers::thaw_or_finish;
use super::record::Record;
use super::source::Source;
use super::watch::Hold;
use super::{failpoint, log};
use crate::disk::{self, IMAGE};
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, epoll, sync, time};
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::Keeps;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the kernel may take to let go of a disk.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub struct Resting {
    sandboxes: BTreeMap<String, Rest>,
    last_number: u32,
}

struct Rest {
    record: Record,
    sealing: Option<Sealing>,
}

/// A process that brings the disk to the medium, and who waits for that: (client, stream).
struct Sealing {
    id: String,
    number: u32,
    pidfd: OwnedFd,
    waiting: Vec<(u32, u32)>,
}

impl Resting {
    pub fn insert(&mut self, record: Record) {
        self.sandboxes.insert(record.id.clone(), Rest { record, sealing: None });
    }

    pub fn get(&self, id: &str) -> Option<&Record> {
        self.sandboxes.get(id).map(|rest| &rest.record)
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.sandboxes.values().map(|rest| &rest.record)
    }

    /// What can be started now.
    pub fn take(&mut self, id: &str) -> Result<Record, Failure> {
        match self.sandboxes.get(id) {
            None => Err(Failure::new(Code::NotFound, format!("no sandbox {id} is stopped"))),
            Some(rest) if rest.sealing.is_some() => {
                Err(Failure::new(Code::Busy, "its disk is still being put away"))
            }
            Some(_) => Ok(self.sandboxes.remove(id).expect("it is there").record),
        }
    }

    /// When the first disk need not be kept any more.
    pub fn next_end(&self) -> Option<Instant> {
        let first = self.records().filter_map(|record| record.kept_until_ms).min()?;
        let left = Duration::from_millis(first.saturating_sub(time::now_ms()));
        Instant::now().checked_add(left)
    }
}

impl Hold {
    /// Its first process is gone, and its disk is not to go with it.
    pub fn put_to_rest(&mut self, record: Record, disk: Option<OwnedFd>, waiting: Vec<(u32, u32)>) {
        let (id, has_disk) = (record.id.clone(), record.has_disk);
        let directory = self.folder.of_box(&id);
        let record = record.at_rest();
        if let Err(error) = record.write(&directory) {
            // The next hold finds its first process dead, and comes here again.
            log::note(format_args!("cannot write that {id} is stopped: {error}"));
        }
        let _ = fs::remove_file(directory.join("box.sock"));
        failpoint::reached("rested");
        self.resting.insert(record);
        if !has_disk {
            return self.tell_stopped(waiting);
        }
        match seal(&directory.join(IMAGE), disk) {
            Ok(pidfd) => self.await_sealing(&id, pidfd, waiting),
            Err(error) => {
                log::note(format_args!("cannot seal the disk of {id}: {error}"));
                self.tell_stopped(waiting);
            }
        }
    }

    /// One that was made to go with its processes is kept when they end. Its disk gets its name
    /// before that is written down: what says that it is kept has something to keep.
    pub fn keep_after_all(&mut self, id: &str, keep_ms: u64) -> Result<(), Failure> {
        let directory = self.folder.of_box(id);
        let mut record = self.settled(id)?.record.clone();
        if record.has_disk && record.keeps.is_none() {
            let unnamed = |error: io::Error| {
                let message = format!("the disk of {id} goes with it: {error}");
                Failure::new(Code::Unsupported, message)
            };
            let (_, sandbox) = self.registry.by_id(id).expect("it is settled");
            let disk = sandbox.disk.as_ref().ok_or(io::ErrorKind::NotFound.into());
            disk.and_then(|disk| self.means.disks.give_name(disk, &directory)).map_err(unnamed)?;
            failpoint::reached("named");
        }
        record.keeps = Some(Keeps { keep_ms, stops_at_end: false, is_late: true });
        record.has_lived = true;
        record.write(&directory).map_err(|error| Failure::about_path("box.json", &error))?;
        self.settled(id)?.record = record;
        Ok(())
    }

    fn await_sealing(&mut self, id: &str, pidfd: OwnedFd, waiting: Vec<(u32, u32)>) {
        self.resting.last_number = self.resting.last_number.wrapping_add(1);
        let number = self.resting.last_number;
        let token = Source::Sealer(number).token();
        if self.epoll.add(&pidfd, epoll::READABLE, token).is_err() {
            return self.tell_stopped(waiting);
        }
        if let Some(rest) = self.resting.sandboxes.get_mut(id) {
            rest.sealing = Some(Sealing { id: id.to_string(), number, pidfd, waiting });
        }
    }

    pub fn sealer_is_done(&mut self, number: u32) {
        let is_this = |rest: &&mut Rest| {
            rest.sealing.as_ref().is_some_and(|sealing| sealing.number == number)
        };
        let found = self.resting.sandboxes.values_mut().find(is_this);
        let Some(sealing) = found.and_then(|rest| rest.sealing.take()) else {
            return;
        };
        self.forget(&sealing.pidfd);
        let is_sealed = process::reap_successful(&sealing.pidfd);
        if let Some(rest) = self.resting.sandboxes.get_mut(&sealing.id) {
            rest.record.is_sealed = is_sealed;
            let _ = rest.record.write(&self.folder.of_box(&sealing.id));
        }
        failpoint::reached("sealed");
        self.tell_stopped(sealing.waiting);
    }

    fn tell_stopped(&mut self, waiting: Vec<(u32, u32)>) {
        for (client, stream) in waiting {
            self.answer(client, |client| {
                client.outbound.end(stream, &json!({"existed": true}));
                client.is_busy = false;
            });
        }
    }

    /// Already stopped: true when the answer can be given now.
    pub fn joins_stop(&mut self, id: &str, waiting: (u32, u32)) -> Option<bool> {
        let rest = self.resting.sandboxes.get_mut(id)?;
        match &mut rest.sealing {
            Some(sealing) => sealing.waiting.push(waiting),
            None => return Some(true),
        }
        Some(false)
    }

    /// Nothing of it is kept any more. False when there is no such one.
    pub fn forget_rest(&mut self, id: &str) -> bool {
        let Some(rest) = self.resting.sandboxes.remove(id) else {
            return false;
        };
        self.trash.take(&self.folder, &self.folder.of_box(id));
        self.sweep_layers();
        if let Some(sealing) = rest.sealing {
            self.forget(&sealing.pidfd);
            process::reap_pidfd(&sealing.pidfd);
            self.tell_stopped(sealing.waiting);
        }
        true
    }

    pub fn forget_what_was_kept_long_enough(&mut self) {
        let now = time::now_ms();
        let is_due = |record: &&Record| record.kept_until_ms.is_some_and(|until| until <= now);
        let due: Vec<String> =
            self.resting.records().filter(is_due).map(|record| record.id.clone()).collect();
        for id in due {
            self.forget_rest(&id);
        }
    }

    /// A later end for what is kept.
    pub fn keep_longer(&mut self, id: &str, ttl_ms: u64) -> Option<Result<u64, Failure>> {
        let directory = self.folder.of_box(id);
        let rest = self.resting.sandboxes.get_mut(id)?;
        let until = time::now_ms().saturating_add(ttl_ms);
        let mut record = rest.record.clone();
        record.kept_until_ms = Some(until);
        if let Err(error) = record.write(&directory) {
            return Some(Err(Failure::about_path("box.json", &error)));
        }
        rest.record = record;
        Some(Ok(until))
    }

    pub fn resting_summaries(&self) -> impl Iterator<Item = Value> {
        self.resting.records().map(|record| {
            let mut summary = record.summary();
            summary["paused"] = json!(true);
            summary
        })
    }
}

/// A dead sandbox of an earlier hold whose disk is kept, as it lies there.
pub fn left_behind(folder: &Folder, record: Record, boot_id: &str) -> Option<Record> {
    (record.has_lived && is_whole(&record, boot_id)).then_some(())?;
    let record = thaw_or_finish(folder, record);
    if record.kept_until_ms.is_some() && record.pid == 0 {
        return Some(record);
    }
    let directory = folder.of_box(&record.id);
    let record = record.at_rest();
    let _ = fs::remove_file(directory.join("box.sock"));
    record.write(&directory).ok()?;
    Some(record)
}

/// A disk without a journal is, after a crash of the machine, only what was put away in order.
fn is_whole(record: &Record, boot_id: &str) -> bool {
    let is_safe = |keeps: &Keeps| !keeps.is_late || record.is_sealed || record.boot_id == boot_id;
    record.keeps.as_ref().is_some_and(is_safe)
}

/// In a process of its own, since it takes as long as the disk does: everything written is on the
/// medium and nobody has it mounted any more when that process is gone.
fn seal(image: &Path, disk: Option<OwnedFd>) -> io::Result<OwnedFd> {
    match process::clone_into(0)? {
        Clone::Parent { pidfd, .. } => Ok(pidfd),
        Clone::Child => {
            let mut kept: Vec<i32> = disk.iter().map(AsRawFd::as_raw_fd).collect();
            let closed = descriptor::close_all_except(&mut kept);
            let written = disk.as_ref().map_or(Ok(()), |disk| sync::filesystem(disk.as_fd()));
            drop(disk);
            let sealed = closed.and(written).and_then(|()| disk::await_release(image, PATIENCE));
            process::exit_now(i32::from(sealed.is_err()))
        }
    }
}
