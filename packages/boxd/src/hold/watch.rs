//! hold's one loop: everything it waits for, and what it does then.

use super::client::Client;
use super::folder::Folder;
use super::means::Means;
use super::registry::Registry;
use super::rest::Resting;
use super::share::Sharing;
use super::source::Source;
use super::spares::Spares;
use super::tools::Tools;
use super::trash::Trash;
use super::waiting::Waiters;
use super::{StartError, adopt, log, record};
use crate::arguments::HoldOptions;
use crate::cgroup::{self, Leftovers};
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::process::{self, FileLimit};
use crate::sys::signal::{self, Signals};
use crate::wire::failure::Failure;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
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
    last_client: u32,
    listener: UnixListener,
    socket: Option<(u64, u64)>,
    signals: Signals,
    idle_exit: Option<Duration>,
    idle_since: Option<Instant>,
    is_told_to_leave: bool,
    _lock: File,
}

impl Hold {
    pub fn start(folder: Folder, options: &HoldOptions) -> Result<Hold, StartError> {
        let lock = folder.lock()?;
        process::set_umask(0o022);
        // Before the first sandbox, which inherits it.
        signal::reset_for_server();
        let failed = |error| StartError::failed("cannot start", error);
        let boot_id = record::boot_id().map_err(failed)?;
        let seed = cgroup::number_of(&folder.path).map_err(failed)?;
        let mut trash = Trash::default();
        let spares = Spares::start(&folder, &mut trash).map_err(failed)?;
        let (living, resting) = adopt::survivors(&folder, &boot_id, &mut trash).map_err(failed)?;
        let means = Means::find(&folder);
        let tools = Tools::make(&folder.tools(), !living.is_empty()).map_err(failed)?;
        let mut leftovers = Leftovers::default();
        let is_alive = |id: &str| living.iter().any(|sandbox| sandbox.record.is_known_as(id));
        leftovers.sweep(&folder.group_diary(), &means.groups, is_alive).map_err(failed)?;
        let listener = folder.listen()?;
        let socket = folder.socket_identity();
        let signals = Signals::of(&[libc::SIGTERM, libc::SIGINT]).map_err(failed)?;
        let epoll = Epoll::new().map_err(failed)?;
        epoll.add(&listener, epoll::READABLE, Source::Listener.token()).map_err(failed)?;
        epoll.add(&signals, epoll::READABLE, Source::Signals.token()).map_err(failed)?;
        let mut hold = Hold {
            folder,
            boot_id,
            seed,
            epoll,
            clients: BTreeMap::new(),
            registry: Registry::default(),
            resting,
            sharing: Sharing::default(),
            spares,
            waiters: Waiters::default(),
            trash,
            means,
            tools,
            leftovers,
            tethers: Vec::new(),
            limits: FileLimit::raise().map_err(failed)?,
            last_client: 0,
            listener,
            socket,
            signals,
            idle_exit: options.idle_exit,
            idle_since: None,
            is_told_to_leave: false,
            _lock: lock,
        };
        for sandbox in living {
            hold.adopt(sandbox);
        }
        hold.sweep_layers();
        hold.waiters.stand_back();
        Ok(hold)
    }

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
            self.forget_what_was_kept_long_enough();
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

    fn welcome(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            if let Ok(client) = Client::new(socket) {
                self.watch_client(client);
            }
        }
    }

    fn watch_client(&mut self, client: Client) -> u32 {
        self.last_client = self.last_client.wrapping_add(1);
        let number = self.last_client;
        let token = Source::Client(number).token();
        if self.epoll.add(&client.socket, epoll::READABLE, token).is_ok() {
            self.clients.insert(number, client);
        }
        number
    }

    fn hear_client(&mut self, number: u32, readable: bool) {
        if let (Some(client), true) = (self.clients.get_mut(&number), readable) {
            match client.inbound.fill(&client.socket) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => {
                    self.clients.remove(&number);
                }
            }
        }
        self.answer_requests(number);
    }

    /// Puts a client back, listening to it only when it can be answered.
    pub fn keep_client(&mut self, number: u32, mut client: Client) {
        client.inbound.rest();
        client.outbound.rest();
        let wanted = match (client.outbound.is_empty(), client.is_busy) {
            (false, _) => epoll::WRITABLE,
            (true, true) => 0,
            (true, false) => epoll::READABLE,
        };
        if self.epoll.modify(&client.socket, wanted, Source::Client(number).token()).is_ok() {
            self.clients.insert(number, client);
        }
    }

    /// A client whose sandbox did not come to life goes on as before.
    pub fn give_back(&mut self, mut client: Client, stream: u32, failure: &Failure) {
        client.outbound.fail(stream, failure);
        client.is_busy = false;
        let number = self.watch_client(client);
        self.answer_requests(number);
    }

    pub fn answer(&mut self, number: u32, answer: impl FnOnce(&mut Client)) {
        if let Some(client) = self.clients.get_mut(&number) {
            answer(client);
            self.answer_requests(number);
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
        let ends = [self.next_ending(), self.resting.next_end(), idle_end];
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
