//! box.json: what a hold that comes later must know about a sandbox.

use super::draft;
use crate::cgroup::{Group, Places};
use crate::sys::time;
use crate::wire::failure::Failure;
use crate::wire::fields::{Dictionary, Fields};
use crate::wire::hold_request::{Again, Keeps};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;

#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    pub id: String,
    pub installation: String,
    pub pid: i32,
    /// With the boot, what makes a pid unique for ever.
    pub start_time: u64,
    pub boot_id: String,
    pub created_at_ms: u64,
    /// When its time is up, in milliseconds since the boot.
    pub deadline_ms: Option<u64>,
    pub labels: Dictionary,
    /// Where its ids come from, as `IdSupply` names it.
    pub ids: String,
    pub uid_base: Option<u32>,
    pub group: Option<Group>,
    /// Its writable layer is a disk of its own.
    pub has_disk: bool,
    /// Limits that were asked for and are not in force, each with its reason.
    pub not_in_force: Dictionary,
    /// Made ahead, and nobody's yet.
    pub is_pooled: bool,
    /// The id it was made with, where it was made ahead.
    pub made_as: Option<String>,
    /// Folders of somebody's choice that it was made of, and which they were: for who claims it.
    pub made_of: Dictionary,
    /// The folder of the host it works on, and what `apply` must know of it.
    pub workspace: Option<Value>,
    /// The folders that it is made of: who removes one takes it from under the sandbox.
    pub lowers: Vec<String>,
    /// How many of them, from the top, are what a setup wrote.
    pub setup_layers: u32,
    /// Its disk stays when its processes end.
    pub keeps: Option<Keeps>,
    /// It has been a sandbox that works, so there is something to keep.
    pub has_lived: bool,
    /// It is only read: to everybody else it is stopped.
    pub is_read: bool,
    /// Nothing of it runs: until when its disk is kept, by the clock on the wall.
    pub kept_until_ms: Option<u64>,
    /// Its disk was put away in order.
    pub is_sealed: bool,
    /// What it lies on that others have written, the topmost first.
    pub layers: Vec<String>,
    /// What its own is about to become.
    pub freezing: Option<String>,
}

impl Record {
    /// Not synced: after a crash of the machine no sandbox lives.
    pub fn write(&self, box_directory: &Path) -> io::Result<()> {
        draft::publish(box_directory, &self.to_json().to_string(), self.keeps.is_some())?;
        match self.is_pooled {
            // For the one who claims it and waits.
            true => draft::make_blank(box_directory),
            false => Ok(()),
        }
    }

    pub fn read(box_directory: &Path) -> io::Result<Record> {
        let object = serde_json::from_slice(&fs::read(box_directory.join(draft::NAME))?)?;
        Record::parse(Fields::of(object))
            .map_err(|failure| io::Error::new(io::ErrorKind::InvalidData, failure.message))
    }

    fn parse(mut fields: Fields) -> Result<Record, Failure> {
        Ok(Record {
            id: fields.text("id")?,
            installation: fields.text("installation")?,
            pid: fields.small("pid")?,
            start_time: fields.number("startTime")?,
            boot_id: fields.text("bootId")?,
            created_at_ms: fields.number("createdAtMs")?,
            deadline_ms: fields.number_if_any("deadlineMs")?,
            labels: fields.dictionary("labels")?,
            ids: fields.text_if_any("ids")?.unwrap_or_default(),
            uid_base: fields.small_if_any("uidBase")?,
            group: group_at(fields.dictionary("groups")?),
            has_disk: fields.flag("disk", false)?,
            not_in_force: fields.dictionary("notInForce")?,
            is_pooled: fields.flag("pooled", false)?,
            made_as: fields.text_if_any("madeAs")?,
            made_of: fields.dictionary("madeOf")?,
            workspace: fields.value_if_any("workspace"),
            lowers: fields.texts("lowers")?,
            setup_layers: fields.small_if_any("setupLayers")?.unwrap_or(0),
            keeps: fields.object_if_any("keeps")?.map(Keeps::parse).transpose()?,
            has_lived: fields.flag("hasLived", false)?,
            is_read: fields.flag("read", false)?,
            kept_until_ms: fields.number_if_any("keptUntilMs")?,
            is_sealed: fields.flag("sealed", false)?,
            layers: fields.texts("layers")?,
            freezing: fields.text_if_any("freezing")?,
        })
    }

    fn to_json(&self) -> Value {
        let mut record = self.summary();
        record["startTime"] = json!(self.start_time);
        record["bootId"] = json!(self.boot_id);
        if let Some(deadline) = self.deadline_ms {
            record["deadlineMs"] = json!(deadline);
        }
        if let Some(base) = self.uid_base {
            record["uidBase"] = json!(base);
        }
        if let Some(made_as) = &self.made_as {
            record["madeAs"] = json!(made_as);
        }
        if !self.made_of.is_empty() {
            record["madeOf"] = json!(self.made_of);
        }
        if let Some(group) = &self.group {
            record["groups"] = json!(group.places);
        }
        record["disk"] = json!(self.has_disk);
        if let Some(Keeps { keep_ms, stops_at_end, is_late }) = self.keeps {
            record["keeps"] =
                json!({"keepMs": keep_ms, "stopsAtEnd": stops_at_end, "late": is_late});
            record["hasLived"] = json!(self.has_lived);
            record["read"] = json!(self.is_read);
            record["sealed"] = json!(self.is_sealed);
            record["freezing"] = json!(self.freezing);
        }
        if let Some(until) = self.kept_until_ms {
            record["keptUntilMs"] = json!(until);
        }
        record
    }

    /// A new life of what was kept.
    pub fn goes_on(&mut self, before: &Record, again: Again) {
        self.created_at_ms = before.created_at_ms;
        self.workspace = before.workspace.clone();
        self.keeps = self.keeps.or(before.keeps);
        self.layers = before.layers.clone();
        self.has_lived = true;
        self.is_read = again == Again::ToBeRead;
        self.kept_until_ms = before.kept_until_ms.filter(|_| self.is_read);
    }

    /// The same sandbox with nothing of it running. One that was only read is as it was before.
    pub fn at_rest(mut self) -> Record {
        let keep_ms = self.keeps.map_or(0, |keeps| keeps.keep_ms);
        let until = time::now_ms().saturating_add(keep_ms);
        let as_before = self.is_read || self.pid == 0;
        self.kept_until_ms = self.kept_until_ms.filter(|_| as_before).or(Some(until));
        self.is_read = false;
        self.deadline_ms = None;
        self.group = None;
        (self.pid, self.start_time) = (0, 0);
        self
    }

    /// Nothing is mounted in it that somebody wants to have free the moment it ends.
    pub fn has_only_ours(&self) -> bool {
        self.has_disk && self.keeps.is_none() && self.workspace.is_none() && self.layers.is_empty()
    }

    /// Its folder may still have the name of the id that it was made with.
    pub fn is_known_as(&self, id: &str) -> bool {
        self.id == id || self.made_as.as_deref() == Some(id)
    }

    /// What the wire tells about a sandbox.
    pub fn summary(&self) -> Value {
        let mut summary = json!({
            "id": self.id,
            "installation": self.installation,
            "pid": self.pid,
            "createdAtMs": self.created_at_ms,
            "labels": self.labels,
            "notInForce": self.not_in_force,
            "ids": self.ids,
            "lowers": self.lowers,
            "setupLayers": self.setup_layers,
        });
        if let Some(deadline) = self.deadline_ms {
            summary["expiresAtMs"] = json!(wall_time_of(deadline));
        }
        if let Some(until) = self.kept_until_ms {
            summary["stopped"] = json!(true);
            summary["expiresAtMs"] = json!(until);
        }
        if !self.layers.is_empty() {
            summary["layers"] = json!(self.layers);
        }
        if let Some(workspace) = &self.workspace {
            summary["workspace"] = workspace.clone();
        }
        if self.is_pooled {
            summary["pooled"] = json!(true);
        }
        summary
    }
}

fn group_at(places: Dictionary) -> Option<Group> {
    let places: Places = places.into_iter().map(|(name, path)| (name, path.into())).collect();
    (!places.is_empty()).then(|| Group::at(places))
}

/// What the clock on the wall will show then, unless it is put right meanwhile.
pub fn wall_time_of(deadline_ms: u64) -> u64 {
    let left = deadline_ms.saturating_sub(time::since_boot_ms());
    time::now_ms().saturating_add(left)
}

pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}

/// When a process started, in clock ticks since the boot.
pub fn start_time(pid: i32) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    start_time_in(&stat).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The name in parentheses is the process's own choice, so counting starts behind it.
fn start_time_in(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_cannot_lie_about_its_start_with_its_name() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21";
        assert_eq!(start_time_in(&format!("7 (sh) {tail}")), Some(4242));
        assert_eq!(start_time_in(&format!("7 (a) S 1 (b) {tail}")), Some(4242));
        assert_eq!(start_time_in("7 sh S 1"), None);
        assert!(start_time(std::process::id() as i32).unwrap() > 0);
    }
}
