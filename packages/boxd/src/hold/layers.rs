//! What a stopped sandbox has written, frozen: from then on a layer that it shares, unchanged and
//! uncopied, with all that are made from it.
//!
//! Who uses a layer is said by the records of sandboxes and nowhere else, so no count can be wrong.

use super::failpoint;
use super::folder::Folder;
use super::record::Record;
use super::watch::Hold;
use crate::disk::IMAGE;
use crate::setup::frozen::{Frozen, UPPER};
use crate::sys::time;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Fields;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// More than this, and looking a name up takes longer than a copy would have.
pub const MOST_LAYERS: usize = 12;
const FACTS: &str = "layer.json";

impl Hold {
    /// The layers that a copy of this sandbox lies on, the topmost first. Of one that runs they
    /// are told later.
    pub fn freeze(
        &mut self,
        id: &str,
        waiting: (u32, u32),
        borrower: Option<OwnedFd>,
    ) -> Result<Option<Vec<String>>, Failure> {
        if self.registry.by_id(id).is_some() {
            return self.share(id, waiting, borrower).map(|()| None);
        }
        let record = self.resting.take(id)?;
        let outcome = freeze(&self.folder, record.clone());
        match outcome {
            Ok(record) => {
                let layers = record.layers.clone();
                self.resting.insert(record);
                Ok(Some(layers))
            }
            Err(failure) => {
                // Whatever was done is found again from the record on the disk.
                let left = Record::read(&self.folder.of_box(id)).unwrap_or(record);
                self.resting.insert(thaw_or_finish(&self.folder, left));
                Err(failure)
            }
        }
    }

    /// What no sandbox lies on any more goes.
    pub fn sweep_layers(&mut self) {
        let Ok(entries) = fs::read_dir(self.folder.layers()) else {
            return;
        };
        let living = self.registry.iter().map(|(_, sandbox)| &sandbox.record);
        let used: HashSet<&String> = living
            .chain(self.resting.records())
            .flat_map(|record| record.layers.iter().chain(&record.freezing))
            .chain(self.sharing.names())
            .collect();
        for name in entries.flatten().map(|entry| entry.file_name()) {
            if name.to_str().is_none_or(|name| !used.contains(&name.to_string())) {
                self.trash.take(&self.folder, &self.folder.layers().join(name));
            }
        }
    }
}

impl Hold {
    /// Of a sandbox that is to be made over these.
    pub fn find_layers(&mut self, layers: &[String]) -> Result<Vec<Frozen>, Failure> {
        let mut found = Vec::new();
        for name in layers {
            let ready = self.sharing.take_ready(name);
            found.push(Frozen { ready, ..read(&self.folder, name)? });
        }
        Ok(found)
    }
}

fn read(folder: &Folder, name: &str) -> Result<Frozen, Failure> {
    let none = || Failure::invalid(format!("no layer {name:?}"));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(()).ok_or_else(none)?;
    let place = folder.layers().join(name);
    let bytes = fs::read(place.join(FACTS)).map_err(|_| none())?;
    let mut facts = Fields::of(serde_json::from_slice(&bytes).map_err(|_| none())?);
    Ok(Frozen {
        uid_base: facts.small_if_any("uidBase")?,
        is_disk: facts.flag("disk", false)?,
        ready: None,
        folder: place,
    })
}

fn freeze(folder: &Folder, mut record: Record) -> Result<Record, Failure> {
    let failed = |error: io::Error| Failure::about_path("a layer of the sandbox", &error);
    let refused = |why: &str| Err(Failure::new(Code::Unsupported, why));
    if record.workspace.is_some() {
        return refused("what was written to a workspace is not shared");
    }
    if record.setup_layers > 0 {
        return refused("what a setup wrote is not shared this way");
    }
    if record.has_disk && !record.is_sealed {
        return refused("its disk was not put away in order");
    }
    let directory = folder.of_box(&record.id);
    if !has_content(folder, &record).map_err(failed)? {
        return Ok(record);
    }
    if record.layers.len() >= MOST_LAYERS {
        return refused("it lies on too many layers");
    }
    let name = format!("{}-{}-{}", record.id, record.layers.len(), time::now_ms());
    record.freezing = Some(name.clone());
    record.write(&directory).map_err(failed)?;
    failpoint::reached("freezing");
    let place = folder.layers().join(&name);
    make_place(&place, record.uid_base, record.has_disk)
        .and_then(|()| bring_to_medium(&place))
        .map_err(failed)?;
    let part = if record.has_disk { IMAGE } else { UPPER };
    fs::rename(directory.join(part), place.join(part)).map_err(failed)?;
    failpoint::reached("moved");
    let record = thaw_or_finish(folder, record);
    failpoint::reached("layered");
    Ok(record)
}

/// The folder of a layer, with what has to be known of it.
pub fn make_place(place: &Path, uid_base: Option<u32>, is_disk: bool) -> io::Result<()> {
    DirBuilder::new().mode(0o711).recursive(true).create(place)?;
    let mut facts = json!({"disk": is_disk});
    if let Some(base) = uid_base {
        facts["uidBase"] = Value::from(base);
    }
    fs::write(place.join(FACTS), facts.to_string())
}

/// All but its content, which is brought there by who wrote it.
pub fn bring_to_medium(place: &Path) -> io::Result<()> {
    for path in [&place.join(FACTS), place].into_iter().chain(place.parent()) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// A freeze is done when what was written has moved; before that there was none.
pub fn thaw_or_finish(folder: &Folder, mut record: Record) -> Record {
    let Some(name) = record.freezing.take() else {
        return record;
    };
    let directory = folder.of_box(&record.id);
    let place = folder.layers().join(&name);
    let has_moved = place.join(IMAGE).exists() || place.join(UPPER).exists();
    if has_moved {
        record.layers.insert(0, name);
        if !record.has_disk {
            let _ = empty_upper_like(&place.join(UPPER), &directory.join(UPPER));
        }
    }
    let _ = record.write(&directory);
    record
}

fn empty_upper_like(old: &Path, new: &Path) -> io::Result<()> {
    let found = fs::metadata(old)?;
    DirBuilder::new().mode(0o755).create(new)?;
    fs::set_permissions(new, fs::Permissions::from_mode(found.mode() & 0o7777))?;
    chown(new, Some(found.uid()), Some(found.gid()))
}

fn has_content(folder: &Folder, record: &Record) -> io::Result<bool> {
    let directory = folder.of_box(&record.id);
    match record.has_disk {
        true => Ok(directory.join(IMAGE).exists()),
        false => Ok(fs::read_dir(directory.join(UPPER))?.next().is_some()),
    }
}
