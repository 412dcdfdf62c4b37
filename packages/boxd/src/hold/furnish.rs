//! What a sandbox is given before it goes: its record, its disk, and the trees of its root.

use super::failpoint;
use super::means::Means;
use super::record::Record;
use crate::disk::IMAGE;
use crate::setup::Plan;
use crate::setup::idmap::IdMap;
use crate::setup::trees::Trees;
use crate::setup::workspace::LAYER;
use crate::sys::path;
use crate::wire::failure::{Code, Failure};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The disk, and the trees that hold lends where it is root.
pub fn furnish(
    plan: &Plan,
    means: &Means,
    record: &mut Record,
) -> Result<(Option<OwnedFd>, Vec<OwnedFd>), Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    record.write(plan.box_directory).map_err(|error| Failure::about_path("box.json", &error))?;
    failpoint::reached("record");
    let disk = match plan.limits.disk_bytes.filter(|_| record.has_disk) {
        Some(bytes) => {
            let (inodes, owner) = (plan.limits.disk_inodes, plan.ids.base());
            let disk = match record.keeps {
                Some(_) => {
                    let image = plan.box_directory.join(IMAGE);
                    means.disks.keep(&image, bytes, inodes, owner).map_err(about_disk)?
                }
                None => means.disks.take(bytes, inodes, owner).map_err(step("disk"))?,
            };
            if let Some(base) = plan.ids.base().filter(|_| plan.workspace.is_some()) {
                make_layer(&disk, base).map_err(step("disk"))?;
            }
            failpoint::reached("disk");
            Some(disk)
        }
        None => None,
    };
    let trees = match plan.ids {
        IdMap::Range { base } => {
            let namespace = File::open(format!("/proc/{}/ns/user", record.pid))
                .map_err(step("user namespace"))?;
            let ids = Some(namespace.as_fd());
            let own = disk.as_ref().map(OwnedFd::try_clone).transpose().map_err(step("disk"))?;
            let workspace = plan.workspace.map(|pinned| pinned.tree(base)).transpose()?;
            let frozen = plan.frozen.iter().map(|one| Ok((one.name(), one.tree(base)?)));
            let frozen = frozen.collect::<Result<Vec<_>, Failure>>()?;
            Trees::clone_all(plan, ids, own, workspace, &frozen)?.into_list()
        }
        IdMap::Shared | IdMap::SharedWithOwner | IdMap::Single { .. } => Vec::new(),
    };
    Ok((disk, trees))
}

/// Of an earlier life it may be there.
fn make_layer(disk: &OwnedFd, base: u32) -> io::Result<()> {
    match path::make_directory(disk.as_fd(), LAYER, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| path::set_owner(disk.as_fd(), LAYER, base)),
    }
}

/// One that is still in use by an earlier life will soon be free.
fn about_disk(error: io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EBUSY) => Failure::new(Code::Busy, "its disk is still in use"),
        _ => Failure::unavailable("disk", &error),
    }
}
