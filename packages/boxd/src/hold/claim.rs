//! A sandbox that was made ahead gets its owner.
//!
//! The record changes first and the folder's name second; who adopts one between the two knows
//! from the record what the folder was about to be called.

use super::folder::is_id;
use super::watch::Hold;
use super::{failpoint, trash};
use crate::setup::judged::Judged;
use crate::sys::time;
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::Claim;
use std::io;

impl Hold {
    pub fn claim(&mut self, claim: Claim) -> Result<(), Failure> {
        let Claim { pooled, id, ttl_ms, labels } = claim;
        if !is_id(&id) {
            return Err(Failure::invalid("id is not 20 lower-case letters and digits"));
        }
        if self.registry.by_id(&id).is_some() || self.resting.get(&id).is_some() {
            return Err(Failure::new(Code::AlreadyExists, format!("sandbox {id} is live")));
        }
        let before = self.settled(&pooled)?.record.clone();
        if !before.is_pooled {
            return Err(Failure::invalid(format!("sandbox {pooled} has its owner")));
        }
        for (source, identity) in &before.made_of {
            if Judged::identity_at(source).ok().as_ref() != Some(identity) {
                let message = format!("{source} is not what sandbox {pooled} was made of");
                return Err(Failure::new(Code::PathNotFound, message));
            }
        }
        let mut record = before.clone();
        record.is_pooled = false;
        record.made_as = Some(pooled.clone());
        record.made_of.clear();
        record.id = id.clone();
        record.created_at_ms = time::now_ms();
        record.deadline_ms = ttl_ms.map(|ttl| time::since_boot_ms().saturating_add(ttl));
        record.labels = labels;
        let failed = |error| Failure::about_path("the sandbox's folder", &error);
        let directory = self.folder.of_box(&pooled);
        record.write(&directory).map_err(failed)?;
        failpoint::reached("claim");
        if let Err(error) = self.give_folder(&pooled, &id) {
            before.write(&directory).map_err(failed)?;
            return Err(failed(error));
        }
        self.settled(&pooled)?.record = record;
        // Who made it ahead may go; who has it now may stay.
        self.tethers.retain(|(_, tethered)| *tethered != pooled);
        Ok(())
    }

    fn give_folder(&mut self, pooled: &str, id: &str) -> io::Result<()> {
        match self.folder.rename_box(pooled, id) {
            // Not in the registry, so it is nobody's.
            Err(error) if trash::is_taken(&error) => {
                self.trash.take(&self.folder, &self.folder.of_box(id));
                self.folder.rename_box(pooled, id)
            }
            outcome => outcome,
        }
    }
}
