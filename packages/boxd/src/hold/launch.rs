//! Making a sandbox.
//!
//! The order is what makes a crash harmless: folder, process that waits, record, go. Dying
//! before the record leaves a folder without a living process; dying before go, a process
//! that ends itself.

use super::birth::{self, Born};
use super::client::Client;
use super::failpoint;
use super::infancy::{self, Report};
use super::record::Record;
use super::registry::{Sandbox, Starting};
use super::room::Room;
use super::source::Source;
use super::watch::Hold;
use crate::setup::Plan;
use crate::setup::frozen::Frozen;
use crate::setup::judged::Judged;
use crate::setup::workspace::Pinned;
use crate::sys::{epoll, process, time};
use crate::wire::failure::Failure;
use crate::wire::hold_request::Create;

impl Hold {
    /// The client comes back at once when the sandbox cannot even be begun.
    pub fn launch(
        &mut self,
        mut create: Create,
        client: Client,
        stream: u32,
    ) -> Result<(), (Client, Failure)> {
        let length = client.inbound.last_and_rest().len();
        let Room { ids, waiting, listener, not_in_force, pinned, judged, has_disk, before } =
            match self.make_room(&create, length) {
                Ok(room) => room,
                Err(failure) => return Err((client, failure)),
            };
        failpoint::reached("folder");
        let layers = before.as_ref().map_or(&create.layers, |(before, _)| &before.layers);
        let frozen = match self.find_layers(layers) {
            Ok(frozen) => frozen,
            Err(failure) => {
                self.leave_room(&create.id, before.map(|(before, _)| before));
                return Err((client, failure));
            }
        };
        if let Some((before, _)) = before.as_ref().filter(|(before, _)| !before.lowers.is_empty()) {
            // What it wrote lies on these, whatever its image's name leads to by now.
            create.root.lowers.clone_from(&before.lowers);
            create.root.setup_layers = before.setup_layers;
        }
        let lowers = create.root.lowers.clone();
        create.root.lowers.splice(0..0, frozen.iter().map(Frozen::name));
        let tools = self.tools.layer_over(&create.root.lowers);
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
            has_disk,
            not_in_force,
            is_pooled: create.is_pooled,
            made_as: None,
            made_of: judged.iter().filter(|_| create.is_pooled).map(Judged::identity).collect(),
            workspace: pinned.as_ref().map(Pinned::facts),
            lowers,
            setup_layers: create.root.setup_layers,
            keeps: create.keeps,
            has_lived: false,
            is_read: false,
            kept_until_ms: None,
            is_sealed: false,
            layers: create.layers.clone(),
            freezing: None,
            id: create.id.clone(),
            installation: create.installation.clone(),
        };
        if let Some((before, again)) = &before {
            record.goes_on(before, *again);
        }
        let before = before.map(|(before, _)| before);
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
            frozen: &frozen,
            is_copy: create.again.is_none() && !frozen.is_empty(),
            is_kept: record.keeps.is_some(),
        };
        let (client, born) = match waiting {
            Some(waiting) => {
                failpoint::reached("process");
                let told = (&client, &listener);
                let born = birth::wake(&plan, &self.means, &mut record, waiting, told);
                (client, born)
            }
            None => {
                let cradle = match birth::make_cradle(&self.means, &mut record, &create.limits) {
                    Ok(cradle) => cradle,
                    Err(failure) => {
                        self.abandon(record, before);
                        return Err((client, failure));
                    }
                };
                let doors = self.means.groups.entries();
                let child = (listener, self.limits, cradle, doors);
                match birth::give_birth(&plan, &create, client, child) {
                    (client, Ok(child)) => {
                        failpoint::reached("process");
                        (client, birth::equip(&plan, &self.means, &mut record, child))
                    }
                    (client, Err(error)) => {
                        self.abandon(record, before);
                        return Err((client, Failure::unavailable("namespaces", &error)));
                    }
                }
            }
        };
        let Born { pidfd, from_child, equipped } = born;
        let (disk, failure) = match equipped {
            Ok(disk) => (disk, None),
            Err(failure) => {
                let _ = process::signal_pidfd(&pidfd, libc::SIGKILL);
                (None, Some(failure))
            }
        };
        self.sharing.are_taken(&record.layers);
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
            before,
        });
        Ok(())
    }

    fn leave_room(&mut self, id: &str, before: Option<Record>) {
        match before {
            Some(before) => self.put_to_rest(before, None, Vec::new()),
            None => self.trash.take(&self.folder, &self.folder.of_box(id)),
        }
    }

    /// Nothing lives in it yet.
    fn abandon(&mut self, record: Record, before: Option<Record>) {
        self.leave_room(&record.id, before);
        if let Some(group) = record.group {
            self.leftovers.take(group);
        }
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
        match infancy::hear_report(&starting.from_child) {
            // Our copy of the connection goes; the sandbox has its own.
            Report::Success => {
                failpoint::reached("started");
                if sandbox.record.keeps.is_some() && !sandbox.record.has_lived {
                    sandbox.record.has_lived = true;
                    let directory = self.folder.of_box(&sandbox.record.id);
                    // Unwritten, the next hold sees by itself that it lives.
                    let _ = sandbox.record.write(&directory);
                }
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
