//! hold's one loop: everything it waits for, and what it does then.

use super::client::Client;
use super::folder::Folder;
use super::means::Means;
use super::orphans::Orphans;
use super::registry::Registry;
use super::rest::Resting;
use super::share::Sharing;
use super::source::Source;
use super::spares::Spares;
use super::tools::Tools;
use super::trash::Trash;
use super::waiting::Waiters;
use super::{StartError, log};
use crate::cgroup::Leftovers;
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::process::FileLimit;
use crate::sys::signal::Signals;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

pub struct Hold {
    pub folder: Folder,
    pub boot_id: String,
    /// Where the search for ids begins, so that two holds do not choose the same.
    pub seed: u64,
    pub epoll: Epoll,
    pub clients: BTreeMap<u32, Client>,
    pub registry: Registry,
    pub orphans: Orphans,
    pub spares: Spares,
    pub waiters: Waiters,
    /// Sandboxes of which nothing runs, with their disks.
    pub resting: Resting,
    /// Disks of running sandboxes that are being copied.
    pub sharing: Sharing,
    pub trash: Trash,
    pub means: Means,
    pub tools: Tools,
    /// Control groups on their way out.
    pub leftovers: Leftovers,
    /// Sandboxes that end when a client leaves: (client, sandbox).
    pub tethers: Vec<(u32, String)>,
    /// hold has a descriptor for every sandbox; sandboxes get what was meant for us.
    pub limits: FileLimit,
    pub last_client: u32,
    pub listener: UnixListener,
    pub socket: Option<(u64, u64)>,
    pub signals: Signals,
    pub idle_exit: Option<Duration>,
    pub idle_since: Option<Instant>,
    pub is_told_to_leave: bool,
    pub _lock: File,
}

impl Hold {
    pub fn run(&mut self) -> Result<(), StartError> {
        let mut events = Vec::new();
        log::note(format_args!("holding {}", self.folder.path.display()));
        while !self.should_leave() {
            let patience = self.patience();
            self.epoll
                .wait(patience, &mut events)
                .map_err(|error| StartError::failed("cannot wait", error))?;
            for event in &events {
                self.handle(event);
            }
            self.end_what_is_untethered();
            self.end_what_is_due();
            self.end_orphans_when_due();
            self.forget_what_was_kept_long_enough();
            self.give_up_copies();
            self.check_pauses();
            self.tidy();
        }
        log::note("leaving");
        self.waiters.leave();
        self.means.groups.leave();
        self.spares.leave();
        if self.folder.socket_identity() == self.socket {
            let _ = fs::remove_file(self.folder.socket());
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event) {
        match Source::of(event.token) {
            Source::Listener => self.welcome(),
            Source::Signals => self.is_told_to_leave |= self.signals.next().is_some(),
            Source::Remover => self.trash.remover_is_done(),
            Source::Client(number) => self.hear_client(number, event.readable),
            Source::Sandbox(number) => self.bury(number),
            Source::Report(number) => self.hear_report(number),
            Source::Sealer(number) => self.sealer_is_done(number),
            Source::Sharer(number) => self.sharer_is_done(number),
        }
    }

    pub fn forget(&self, watched: impl AsFd) {
        self.epoll.remove(watched);
    }

    fn tidy(&mut self) {
        self.leftovers.remove_when_due();
        self.spares.refill_when_due(&self.folder, &mut self.trash);
        self.make_waiters_when_due();
        self.means.disks.refill_when_due();
        match self.trash.start_when_due(&self.folder) {
            Ok(Some(remover)) => {
                let _ = self.epoll.add(remover, epoll::READABLE, Source::Remover.token());
            }
            Ok(None) => {}
            Err(error) => log::note(format_args!("cannot start a remover: {error}")),
        }
    }

    fn patience(&self) -> Option<Duration> {
        let idle_end = self.idle_since.zip(self.idle_exit).map(|(since, limit)| since + limit);
        let ends = [self.next_ending(), self.orphans.due(), self.resting.next_end(), idle_end];
        let spares = [self.spares.due(), self.waiters.due(), self.means.disks.due()];
        [self.next_check(), self.trash.due(), self.leftovers.due()]
            .into_iter()
            .chain(spares)
            .chain(ends)
            .flatten()
            .min()
            .map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Sandboxes go on without us when a signal asks us to leave.
    fn should_leave(&mut self) -> bool {
        let is_busy = !self.registry.is_empty() || !self.leftovers.is_empty();
        if is_busy || !self.clients.is_empty() {
            self.idle_since = None;
            return self.is_told_to_leave;
        }
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        self.is_told_to_leave || self.idle_exit.is_some_and(|limit| since.elapsed() >= limit)
    }
}
