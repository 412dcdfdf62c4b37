//! A new first process over a disk that was kept.

use super::record::Record;
use super::room::Room;
use super::spares;
use super::watch::Hold;
use crate::setup::idmap::{IdMap, IdSupply};
use crate::setup::judged;
use crate::setup::workspace::Pinned;
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::{Again, Create};
use std::fs;
use std::os::unix::net::UnixListener;

impl Hold {
    /// The folder of a sandbox that is stopped, as the place of one that runs.
    pub fn reopen_room(&mut self, create: &Create, again: Again) -> Result<Room, Failure> {
        let pinned = create.root.workspace.as_ref().map(Pinned::pin).transpose()?;
        let judged = judged::judge(&create.root)?;
        let not_in_force = self.means.not_in_force(&create.limits)?;
        let before = self.resting.take(&create.id)?;
        let opened = self.reopen(&before, pinned.as_ref(), create.root.shows_owner());
        match opened {
            Ok((ids, listener)) => {
                let has_disk = before.has_disk;
                let before = Some((before, again));
                let waiting = None;
                Ok(Room { ids, waiting, listener, not_in_force, pinned, judged, has_disk, before })
            }
            Err(failure) => {
                self.resting.insert(before);
                Err(failure)
            }
        }
    }

    fn reopen(
        &self,
        before: &Record,
        pinned: Option<&Pinned>,
        shows_owner: bool,
    ) -> Result<(IdMap, UnixListener), Failure> {
        if before.has_disk
            && let Some(reason) = self.means.disks.why_missing()
        {
            return Err(Failure::new(Code::Unavailable, format!("its disk: {reason}")));
        }
        if let (Some(facts), Some(pinned)) = (&before.workspace, pinned)
            && !pinned.is_the_same_as(facts)
        {
            let message = "the folder it works on is another one than it was";
            return Err(Failure::new(Code::AlreadyExists, message));
        }
        let ids = ids_again(&self.means.ids, before, shows_owner)?;
        let directory = self.folder.of_box(&before.id);
        let _ = fs::remove_file(directory.join("box.sock"));
        let listener = spares::listen(&directory)
            .map_err(|error| Failure::about_path("the sandbox's folder", &error))?;
        Ok((ids, listener))
    }
}

/// The very ids that own what lies on its disk.
fn ids_again(supply: &IdSupply, before: &Record, of_owner: bool) -> Result<IdMap, Failure> {
    if supply.name() != before.ids {
        let message = format!("user ids: it was made with those of kind {}", before.ids);
        return Err(Failure::new(Code::Unavailable, message));
    }
    match before.uid_base {
        Some(base) => Ok(IdMap::Range { base }),
        None => IdMap::choose(supply, of_owner, 0, |_| false)
            .map_err(|error| Failure::unavailable("user ids", &error)),
    }
}
