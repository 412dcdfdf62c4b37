//! Ending sandboxes: asked for, at the end of their time, or by their own death.

use super::registry::{Ending, Sandbox};
use super::watch::Hold;
use super::{client::Client, failpoint, log};
use crate::cgroup;
use crate::sys::{process, time};
use crate::wire::failure::{Code, Failure};
use serde_json::json;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

impl Hold {
    /// `waiting` is told when every process of it is gone.
    pub fn destroy(&mut self, id: &str, grace: Duration, waiting: (u32, u32)) -> bool {
        let Some((_, sandbox)) = self.registry.by_id(id) else {
            return false;
        };
        end(sandbox, grace, false);
        failpoint::reached("signalled");
        if let Some(ending) = &mut sandbox.ending {
            ending.waiting.push(waiting);
        }
        true
    }

    /// Ends its processes and keeps its disk. True when that is done already.
    pub fn stop(
        &mut self,
        id: &str,
        grace: Duration,
        keep_ms: Option<u64>,
        waiting: (u32, u32),
    ) -> Result<bool, Failure> {
        if let Some(is_done) = self.joins_stop(id, waiting) {
            return Ok(is_done);
        }
        match (self.settled(id)?.record.keeps, keep_ms) {
            (Some(keeps), keep_ms) if keep_ms.is_none() || !keeps.is_late => {}
            (_, Some(keep_ms)) => self.keep_after_all(id, keep_ms)?,
            (_, None) => {
                let message = format!("sandbox {id} was not made to be kept");
                return Err(Failure::new(Code::Unsupported, message));
            }
        }
        let sandbox = self.settled(id)?;
        end(sandbox, grace, true);
        failpoint::reached("signalled");
        if let Some(ending) = &mut sandbox.ending {
            ending.waiting.push(waiting);
        }
        Ok(false)
    }

    /// Sandboxes whose client has left, and with it every wish that they live.
    pub fn end_what_is_untethered(&mut self) {
        let clients = &self.clients;
        let is_held = |(client, _): &(u32, String)| clients.contains_key(client);
        let (held, left): (Vec<_>, Vec<_>) = self.tethers.drain(..).partition(is_held);
        self.tethers = held;
        for (_, id) in left {
            if let Some((_, sandbox)) = self.registry.by_id(&id) {
                let is_read = sandbox.record.is_read;
                end(sandbox, Duration::ZERO, is_read);
            }
        }
    }

    /// The dead-man switch, and the end of every grace.
    pub fn end_what_is_due(&mut self) {
        let (now, now_ms) = (Instant::now(), time::since_boot_ms());
        let due: Vec<u32> = self
            .registry
            .iter()
            .filter(|(_, sandbox)| match &sandbox.ending {
                Some(ending) => ending.kill_at.is_some_and(|kill_at| kill_at <= now),
                None => sandbox.record.deadline_ms.is_some_and(|deadline| deadline <= now_ms),
            })
            .map(|(number, _)| number)
            .collect();
        for number in due {
            if let Some(sandbox) = self.registry.get_mut(number) {
                let keeps = match (&sandbox.ending, &sandbox.record) {
                    (Some(ending), _) => ending.keeps,
                    (None, record) => {
                        record.is_read || record.keeps.is_some_and(|keeps| keeps.stops_at_end)
                    }
                };
                end(sandbox, Duration::ZERO, keeps);
            }
        }
    }

    /// When `end_what_is_due` has something to do next.
    pub fn next_ending(&self) -> Option<Instant> {
        let (now, now_ms) = (Instant::now(), time::since_boot_ms());
        self.registry
            .iter()
            .filter_map(|(_, sandbox)| match (&sandbox.ending, sandbox.record.deadline_ms) {
                (Some(ending), _) => ending.kill_at,
                (None, deadline) => {
                    now.checked_add(Duration::from_millis(deadline?.saturating_sub(now_ms)))
                }
            })
            .min()
    }

    /// The first process of a sandbox is gone, and with it, so the kernel promises, all others.
    pub fn bury(&mut self, number: u32) {
        // It may have come to life and died before its report was heard.
        self.hear_report(number);
        // Its last word may still be unheard.
        self.hear_report(number);
        let Some(sandbox) = self.registry.remove(number) else {
            return;
        };
        self.tethers.retain(|(_, id)| *id != sandbox.record.id);
        self.forget(&sandbox.pidfd);
        process::reap_pidfd(&sandbox.pidfd);
        let (record, disk) = (sandbox.record, sandbox.disk);
        let group = record.group.clone();
        let is_spare = record.has_disk && record.keeps.is_none();
        let shares_layers = !record.layers.is_empty();
        let id = record.id.clone();
        let is_kept = sandbox.ending.as_ref().is_none_or(|ending| ending.keeps);
        // One that was started again and failed is as it was.
        let kept = match sandbox.starting {
            Some(_) => sandbox.before,
            None => Some(record).filter(|record| record.keeps.is_some() && record.has_lived),
        };
        let kept = kept.filter(|_| is_kept);
        let is_gone = kept.is_none();
        if is_gone {
            let path = self.folder.of_box(&id);
            if !is_spare || !self.spares.take(&self.folder, &path) {
                self.trash.take(&self.folder, &path);
            }
            if shares_layers || self.sharing.has_lent() {
                self.sweep_layers();
            }
        }
        let (ended, mut waiting, mounts) = match sandbox.ending {
            Some(ending) => (true, ending.waiting, ending.mounts),
            None => (false, Vec::new(), None),
        };
        self.trash.unmount(mounts);
        match kept {
            Some(kept) => self.put_to_rest(kept, disk, std::mem::take(&mut waiting)),
            None => {
                self.means.disks.forget(disk.as_ref());
                self.trash.unmount(disk);
            }
        }
        if let Some(group) = group {
            if !ended && cgroup::oom_kills(&group).is_some_and(|count| count > 0) {
                log::note(format_args!("{id} ran out of memory and died"));
            }
            self.leftovers.take(group);
        }
        let failure = || Failure::new(Code::NotFound, "the sandbox ended");
        if let Some(freezing) = sandbox.freezing {
            self.tell_paused(freezing.waiting, Err(failure()));
        }
        failpoint::reached("buried");
        if let Some(starting) = sandbox.starting {
            self.forget(&starting.from_child);
            let failure = starting.failure.unwrap_or_else(|| {
                Failure::new(Code::Internal, "the sandbox died while it was being made")
            });
            log::note(format_args!("{id} failed: {}", failure.message));
            self.give_back(starting.client, starting.stream, &failure);
        }
        for (client, stream) in waiting {
            self.answer(client, |client: &mut Client| {
                client.outbound.end(stream, &json!({"existed": true}));
                client.is_busy = false;
            });
        }
    }
}

/// A request to end that is under way can only be hastened, and what is to go cannot be kept.
pub fn end(sandbox: &mut Sandbox, grace: Duration, keeps: bool) {
    let now = Instant::now();
    let kill_at = now.checked_add(grace).unwrap_or(now);
    let earlier = sandbox.ending.as_ref().and_then(|ending| ending.kill_at);
    let is_first = sandbox.ending.is_none();
    let before = sandbox.ending.take();
    let keeps = keeps && before.as_ref().is_none_or(|ending| ending.keeps);
    let (waiting, mounts) =
        before.map(|ending| (ending.waiting, ending.mounts)).unwrap_or_default();
    let mut ending = Ending { kill_at: None, waiting, keeps, mounts };
    // Signals to who is already dead fail, and its pidfd is about to say so.
    // What is paused can do nothing with a grace.
    if grace.is_zero() || sandbox.is_paused {
        if ending.mounts.is_none() && !keeps && sandbox.record.has_only_ours() {
            let path = format!("/proc/{}/ns/mnt", sandbox.record.pid);
            ending.mounts = File::open(path).ok().map(OwnedFd::from);
        }
        let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGKILL);
        if let (true, Some(group)) = (sandbox.is_paused, &sandbox.record.group) {
            // In version 1 the frozen do not even die.
            let _ = group.thaw();
        }
    } else {
        if is_first {
            let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGTERM);
            ending.kill_at = Some(kill_at);
        } else {
            ending.kill_at = earlier.map(|earlier| earlier.min(kill_at));
        }
    }
    sandbox.ending = Some(ending);
}
