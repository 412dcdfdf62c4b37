//! Stopping a sandbox where it is, and letting it go on.

use super::failpoint;
use super::watch::Hold;
use crate::cgroup::Group;
use crate::wire::failure::{Code, Failure};
use serde_json::json;
use std::time::{Duration, Instant};

/// How often the kernel is asked whether every process has stopped.
const CHECK: Duration = Duration::from_millis(2);
const TRIES_UNTIL_THAW: u32 = 25;
/// A process deep in the kernel may take its time, but not for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// A pause under way, and who waits for it: (client, stream).
pub struct Freezing {
    pub until: Instant,
    pub check_at: Instant,
    pub tries: u32,
    pub waiting: Vec<(u32, u32)>,
}

impl Freezing {
    /// Version 1 misses who is just going to wait for a vfork: its child stops before it has run
    /// a program, and so it waits for ever. Asking again catches it; a moment of freedom, whatever
    /// else there may be.
    fn try_again(&mut self, group: &Group) {
        self.tries += 1;
        let _ = match self.tries % TRIES_UNTIL_THAW {
            0 => group.thaw(),
            _ => group.freeze(),
        };
    }
}

impl Hold {
    /// True when it is paused now; false when the answer comes later.
    pub fn pause(&mut self, id: &str, waiting: (u32, u32)) -> Result<bool, Failure> {
        if let Some(reason) = self.means.groups.why_missing("freezer") {
            return Err(Failure::new(Code::Unavailable, format!("pause: {reason}")));
        }
        // Who copies its disk has stopped it, too, and is about to let it go.
        let is_copied = self.sharing.is_copying(id);
        let sandbox = self.settled(id)?;
        let Some(group) = &sandbox.record.group else {
            return Err(Failure::new(Code::Unavailable, "pause: it has no control group"));
        };
        if !sandbox.is_paused {
            group.freeze().map_err(|error| Failure::unavailable("pause", &error))?;
            failpoint::reached("frozen");
            sandbox.is_paused = true;
        }
        if sandbox.freezing.is_none() && !is_copied && group.is_frozen() {
            return Ok(true);
        }
        let now = Instant::now();
        let freezing = sandbox.freezing.get_or_insert(Freezing {
            until: now + PATIENCE,
            check_at: now + CHECK,
            tries: 0,
            waiting: Vec::new(),
        });
        freezing.waiting.push(waiting);
        Ok(false)
    }

    pub fn resume(&mut self, id: &str) -> Result<(), Failure> {
        let sandbox = self.settled(id)?;
        let was_paused = sandbox.is_paused;
        if was_paused {
            if let Some(group) = &sandbox.record.group {
                group.thaw().map_err(|error| Failure::unavailable("resume", &error))?;
                failpoint::reached("thawed");
            }
            sandbox.is_paused = false;
        }
        let waiting = sandbox.freezing.take().map(|freezing| freezing.waiting).unwrap_or_default();
        if was_paused {
            self.sharing.spoil(id);
        }
        let failure = Failure::new(Code::Unavailable, "pause: it was resumed meanwhile");
        self.tell_paused(waiting, Err(failure));
        Ok(())
    }

    pub fn next_check(&self) -> Option<Instant> {
        let due = |sandbox: &super::registry::Sandbox| Some(sandbox.freezing.as_ref()?.check_at);
        self.registry.iter().filter_map(|(_, sandbox)| due(sandbox)).min()
    }

    /// Answers those whose pause has come to an end, one way or the other.
    pub fn check_pauses(&mut self) {
        let now = Instant::now();
        let mut told = Vec::new();
        for sandbox in self.registry.iter_mut() {
            let Some(freezing) = sandbox.freezing.as_mut().filter(|one| one.check_at <= now) else {
                continue;
            };
            let Some(group) = &sandbox.record.group else {
                continue;
            };
            if self.sharing.is_copying(&sandbox.record.id) {
                // Its time begins when the copy is done.
                (freezing.check_at, freezing.until) = (now + CHECK, now + PATIENCE);
                continue;
            }
            if group.is_frozen() {
                told.push((std::mem::take(&mut freezing.waiting), Ok(())));
            } else if freezing.until <= now {
                // Half a pause would be neither.
                let _ = group.thaw();
                sandbox.is_paused = false;
                let failure = Failure::new(Code::Unavailable, "pause: a process does not stop");
                told.push((std::mem::take(&mut freezing.waiting), Err(failure)));
            } else {
                freezing.try_again(group);
                freezing.check_at = now + CHECK;
                continue;
            }
            sandbox.freezing = None;
        }
        for (waiting, outcome) in told {
            self.tell_paused(waiting, outcome);
        }
    }

    pub fn tell_paused(&mut self, waiting: Vec<(u32, u32)>, outcome: Result<(), Failure>) {
        for (client, stream) in waiting {
            self.answer(client, |client| {
                match &outcome {
                    Ok(()) => client.outbound.end(stream, &json!({})),
                    Err(failure) => client.outbound.fail(stream, failure),
                }
                client.is_busy = false;
            });
        }
    }
}
