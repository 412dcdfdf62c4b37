//! What this machine gives hold to keep sandboxes within their limits.

use super::folder::Folder;
use crate::cgroup::Groups;
use crate::disk::Disks;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Dictionary;
use crate::wire::limits::Limits;

pub struct Means {
    pub groups: Groups,
    pub disks: Disks,
}

impl Means {
    pub fn find(folder: &Folder) -> Means {
        Means { groups: Groups::find(&folder.path), disks: Disks::find(&folder.path) }
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
            _ => false,
        });
        match lacking.iter().next() {
            Some((name, reason)) if limits.is_required => {
                let message =
                    format!("limits are required, and {name} cannot be limited: {reason}");
                Err(Failure::new(Code::Unavailable, message))
            }
            _ => Ok(lacking),
        }
    }

    pub fn has_disk_for(&self, limits: &Limits) -> bool {
        limits.disk_bytes.is_some() && self.disks.why_missing().is_none()
    }
}
