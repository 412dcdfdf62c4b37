//! Where a new sandbox will live: its folder, its ids, the folder of the host it works on.

use super::folder::is_id;
use super::record::Record;
use super::trash;
use super::waiting::Waiting;
use super::watch::Hold;
use crate::serve;
use crate::setup::idmap::IdMap;
use crate::setup::judged::{self, Judged};
use crate::setup::trees;
use crate::setup::workspace::Pinned;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Dictionary;
use crate::wire::hold_request::{Again, Create};
use crate::wire::workspace::Mode;
use std::io;
use std::os::unix::net::UnixListener;

/// What a sandbox needs before its first process.
pub struct Room {
    pub ids: IdMap,
    /// A process that waits to be it.
    pub waiting: Option<Waiting>,
    pub listener: UnixListener,
    pub not_in_force: Dictionary,
    pub pinned: Option<Pinned>,
    pub judged: Vec<Judged>,
    pub has_disk: bool,
    /// What was kept of it, and what it is started for.
    pub before: Option<(Record, Again)>,
}

impl Hold {
    pub fn make_room(&mut self, create: &Create, length: usize) -> Result<Room, Failure> {
        check(create)?;
        if let Some(again) = create.again {
            self.refuse_live(create)?;
            return self.reopen_room(create, again);
        }
        let pinned = create.root.workspace.as_ref().map(Pinned::pin).transpose()?;
        let judged = judged::judge(&create.root)?;
        let not_in_force = self.means.not_in_force(&create.limits)?;
        let has_disk = self.means.has_disk_for(&create.limits);
        self.refuse_live(create)?;
        let waiting = self.waiting_for(create, length);
        let ids = match &waiting {
            Some(waiting) => waiting.ids,
            None => self
                .choose_ids(create.root.shows_owner())
                .map_err(|error| Failure::unavailable("user ids", &error))?,
        };
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
        let listener = match made {
            Ok(listener) => listener,
            Err(error) => {
                self.waiters.put_back(waiting);
                self.trash.take(&self.folder, &path);
                return Err(Failure::about_path("the sandbox's folder", &error));
            }
        };
        Ok(Room { ids, waiting, listener, not_in_force, pinned, judged, has_disk, before: None })
    }

    /// Ids that nobody has who lives, is kept or waits to live.
    pub fn choose_ids(&self, of_owner: bool) -> io::Result<IdMap> {
        let mut bases = self.registry.uid_bases();
        bases.extend(self.resting.records().filter_map(|record| record.uid_base));
        bases.extend(self.waiters.bases());
        let is_used = |base| bases.contains(&base);
        IdMap::choose(&self.means.ids, of_owner, self.seed, is_used)
    }

    fn refuse_live(&mut self, create: &Create) -> Result<(), Failure> {
        let is_kept = create.again.is_none() && self.resting.get(&create.id).is_some();
        if is_kept || self.registry.by_id(&create.id).is_some() {
            let message = format!("sandbox {} is live", create.id);
            return Err(Failure::new(Code::AlreadyExists, message));
        }
        if create.tethered && !self.tethers.iter().any(|(_, id)| *id == create.id) {
            return Err(Failure::invalid("nobody holds a tether to it"));
        }
        Ok(())
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
