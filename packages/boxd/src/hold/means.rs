//! What this machine gives hold: ids for sandboxes, and means to keep them within their limits.

use super::folder::Folder;
use super::{log, subordinate};
use crate::cgroup::Groups;
use crate::disk::Disks;
use crate::setup::idmap::IdSupply;
use crate::sys::credentials;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Dictionary;
use crate::wire::limits::Limits;

pub struct Means {
    /// Who runs hold, on the host.
    pub uid: u32,
    pub ids: IdSupply,
    pub groups: Groups,
    pub disks: Disks,
}

impl Means {
    /// Afterwards this process may be in another user namespace, where it is root.
    pub fn find(folder: &Folder) -> Means {
        let uid = credentials::effective_uid();
        let (groups, disks) = (Groups::find(&folder.path), Disks::find(&folder.path));
        Means { uid, ids: find_ids(uid), groups, disks }
    }

    /// What cannot be had here, each with its reason.
    pub fn lacking(&self) -> Dictionary {
        let group = |name: &'static str, controller| (name, self.groups.why_missing(controller));
        [
            group("cpus", "cpu"),
            group("memory", "memory"),
            group("pids", "pids"),
            group("pause", "freezer"),
            ("disk", self.disks.why_missing()),
            ("users", self.why_single()),
        ]
        .into_iter()
        .filter_map(|(name, reason)| Some((name.to_string(), reason?.to_string())))
        .collect()
    }

    /// Of what these limits ask, what is not in force here. A refusal where all of it must be.
    pub fn not_in_force(&self, limits: &Limits) -> Result<Dictionary, Failure> {
        let mut lacking = self.lacking();
        lacking.retain(|name, _| match name.as_str() {
            "cpus" => limits.cpu_millis.is_some(),
            "memory" => limits.memory_bytes.is_some(),
            "pids" => limits.pids.is_some(),
            "disk" => limits.disk_bytes.is_some(),
            "users" => true,
            _ => false,
        });
        match lacking.iter().find(|(name, _)| *name != "users") {
            Some((name, reason)) if limits.is_required => {
                let message =
                    format!("limits are required, and {name} cannot be limited: {reason}");
                Err(Failure::new(Code::Unavailable, message))
            }
            _ => Ok(lacking),
        }
    }

    fn why_single(&self) -> Option<&str> {
        match &self.ids {
            IdSupply::Single { why } => Some(why),
            _ => None,
        }
    }

    pub fn has_disk_for(&self, limits: &Limits) -> bool {
        limits.disk_bytes.is_some() && self.disks.why_missing().is_none()
    }
}

fn find_ids(uid: u32) -> IdSupply {
    if uid == 0 {
        return IdSupply::Ranges;
    }
    match subordinate::take() {
        Ok(()) => IdSupply::Shared,
        Err(why) => {
            log::note(format_args!("sandboxes have one user id: {why}"));
            IdSupply::Single { why }
        }
    }
}
