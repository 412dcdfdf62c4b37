//! Making a sandbox.
//!
//! The order is what makes a crash harmless: folder, process that waits, record, go. Dying
//! before the record leaves a folder without a living process; dying before go, a process
//! that ends itself.

use super::birth::{self, Report};
use super::client::Client;
use super::failpoint;
use super::folder::is_id;
use super::record::Record;
use super::registry::{Sandbox, Starting};
use super::source::Source;
use super::trash;
use super::watch::Hold;
use crate::serve;
use crate::setup::Plan;
use crate::setup::idmap::IdMap;
use crate::setup::judged::{self, Judged};
use crate::setup::trees;
use crate::setup::workspace::Pinned;
use crate::sys::{epoll, process, time};
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Dictionary;
use crate::wire::hold_request::Create;
use crate::wire::workspace::Mode;
use std::os::unix::net::UnixListener;

type Room = (IdMap, UnixListener, Dictionary);

impl Hold {
    /// The client comes back at once when the sandbox cannot even be begun.
    pub fn launch(
        &mut self,
        mut create: Create,
        client: Client,
        stream: u32,
    ) -> Result<(), (Client, Failure)> {
        let (room, pinned, judged) = match self.make_room(&create) {
            Ok(room) => room,
            Err(failure) => return Err((client, failure)),
        };
        let (ids, listener, not_in_force) = room;
        failpoint::reached("folder");
        let lowers = create.root.lowers.clone();
        let tools = self.tools.layer_over(&lowers);
        create.root.lowers.insert(0, tools.to_string_lossy().into_owned());
        let mut record = Record {
            pid: 0,
            start_time: 0,
            boot_id: self.boot_id.clone(),
            created_at_ms: time::now_ms(),
            deadline_ms: create.ttl_ms.map(|ttl| time::since_boot_ms().saturating_add(ttl)),
            labels: create.labels.clone(),
            ids: self.means.ids.name().to_string(),
            uid_base: ids.base(),
            group: None,
            has_disk: self.means.has_disk_for(&create.limits),
            not_in_force,
            is_pooled: create.is_pooled,
            made_as: None,
            workspace: pinned.as_ref().map(Pinned::facts),
            lowers,
            id: create.id.clone(),
            installation: create.installation.clone(),
        };
        let directory = self.folder.of_box(&record.id);
        let plan = Plan {
            root: &create.root,
            hostname: &create.hostname,
            box_directory: &directory,
            ids,
            limits: &create.limits,
            guarded: create.guarded,
            workspace: pinned.as_ref(),
            judged: &judged,
            doors: self.means.groups.entries(),
        };
        let limits = self.limits.at_most(create.limits.open_files);
        let cradle = match birth::make_cradle(&self.means, &mut record, &create.limits) {
            Ok(cradle) => cradle,
            Err(failure) => {
                self.abandon(record);
                return Err((client, failure));
            }
        };
        let (client, born) = birth::give_birth(&plan, &create, client, listener, limits, cradle);
        let (pid, pidfd, from_child) = match born {
            Ok(born) => born,
            Err(error) => {
                self.abandon(record);
                return Err((client, Failure::unavailable("namespaces", &error)));
            }
        };
        failpoint::reached("process");
        record.pid = pid;
        let equipped = birth::equip(&plan, &self.means, &mut record, &from_child);
        let (disk, failure) = match equipped {
            Ok(disk) => (disk, None),
            Err(failure) => {
                let _ = process::signal_pidfd(&pidfd, libc::SIGKILL);
                (None, Some(failure))
            }
        };
        failpoint::reached("go");
        let starting = Starting { from_child, client, stream, failure };
        let starting = Some(starting);
        self.watch_sandbox(Sandbox {
            record,
            pidfd,
            starting,
            ending: None,
            is_paused: false,
            freezing: None,
            disk,
        });
        Ok(())
    }

    /// Nothing lives in it yet.
    fn abandon(&mut self, record: Record) {
        self.trash.take(&self.folder, &self.folder.of_box(&record.id));
        if let Some(group) = record.group {
            self.leftovers.take(group);
        }
    }

    fn make_room(
        &mut self,
        create: &Create,
    ) -> Result<(Room, Option<Pinned>, Vec<Judged>), Failure> {
        check(create)?;
        let pinned = create.root.workspace.as_ref().map(Pinned::pin).transpose()?;
        let judged = judged::judge(&create.root)?;
        let not_in_force = self.means.not_in_force(&create.limits)?;
        let has_disk = self.means.has_disk_for(&create.limits);
        if self.registry.by_id(&create.id).is_some() {
            let message = format!("sandbox {} is live", create.id);
            return Err(Failure::new(Code::AlreadyExists, message));
        }
        if create.tethered && !self.tethers.iter().any(|(_, id)| *id == create.id) {
            return Err(Failure::invalid("nobody holds a tether to it"));
        }
        let bases = self.registry.uid_bases();
        let is_used = |base| bases.contains(&base);
        let ids = IdMap::choose(&self.means.ids, pinned.is_some(), self.seed, is_used)
            .map_err(|error| Failure::unavailable("user ids", &error))?;
        let path = self.folder.of_box(&create.id);
        let (owner, layered) = (ids.root(), is_layered(create));
        let mut make =
            || self.folder.make_box(&mut self.spares, &create.id, owner, has_disk, layered);
        let made = match make() {
            // Not in the registry, so it is nobody's.
            Err(error) if trash::is_taken(&error) => {
                self.trash.take(&self.folder, &path);
                make()
            }
            made => made,
        };
        made.map(|listener| ((ids, listener, not_in_force), pinned, judged)).map_err(|error| {
            self.trash.take(&self.folder, &path);
            Failure::about_path("the sandbox's folder", &error)
        })
    }

    fn watch_sandbox(&mut self, sandbox: Sandbox) {
        let number = self.registry.insert(sandbox);
        let Some(sandbox) = self.registry.get_mut(number) else {
            return;
        };
        let watched = self
            .epoll
            .add(&sandbox.pidfd, epoll::READABLE, Source::Sandbox(number).token())
            .and_then(|()| match &sandbox.starting {
                Some(starting) => {
                    let token = Source::Report(number).token();
                    self.epoll.add(&starting.from_child, epoll::READABLE, token)
                }
                None => Ok(()),
            });
        if watched.is_err() {
            // What cannot be watched cannot be kept.
            let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGKILL);
            self.bury(number);
        }
    }

    /// The sandbox says whether it works; no word at all means that it died.
    pub fn hear_report(&mut self, number: u32) {
        let Some(sandbox) = self.registry.get_mut(number) else {
            return;
        };
        let Some(mut starting) = sandbox.starting.take() else {
            return;
        };
        self.epoll.remove(&starting.from_child);
        match birth::hear(&starting.from_child) {
            // Our copy of the connection goes; the sandbox has its own.
            Report::Success => {
                failpoint::reached("started");
                return;
            }
            Report::Failure(failure) => starting.failure = starting.failure.or(Some(failure)),
            Report::Silence => {}
        }
        let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGKILL);
        sandbox.starting = Some(starting);
    }

    pub fn adopt(&mut self, sandbox: Sandbox) {
        self.watch_sandbox(sandbox);
    }
}

fn check(create: &Create) -> Result<(), Failure> {
    if !is_id(&create.id) {
        return Err(Failure::invalid("id is not 20 lower-case letters and digits"));
    }
    let hostname = &create.hostname;
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    if hostname.is_empty() || hostname.len() > 63 || !hostname.bytes().all(is_label) {
        return Err(Failure::invalid("hostname is not 1 to 63 letters, digits, dots and dashes"));
    }
    serve::environment::check(&create.env)?;
    trees::check(&create.root)
}

/// Whether it needs a place for what it writes to its workspace.
fn is_layered(create: &Create) -> bool {
    create.root.workspace.as_ref().is_some_and(|one| one.mode == Mode::CopyOnWrite)
}
