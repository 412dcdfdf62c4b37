//! Version 1: a hierarchy for each controller.

use super::group::write;
use super::system::System;
use super::{CONTROLLERS, Groups, Places};
use crate::wire::limits::Limits;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const PERIOD_US: u64 = 100_000;

pub fn find(system: &System, name: &str) -> Groups {
    let (mut places, mut missing) = (Places::new(), BTreeMap::new());
    for controller in CONTROLLERS {
        match place(system, controller, name) {
            Ok(place) => {
                places.insert(controller.to_string(), place);
            }
            Err(reason) => {
                missing.insert(controller, reason);
            }
        }
    }
    // Only counts. Its loss is a figure the less, no limit.
    if let (false, Ok(place)) = (places.is_empty(), place(system, "cpuacct", name)) {
        places.insert("cpuacct".to_string(), place);
    }
    Groups { places, missing }
}

fn place(system: &System, controller: &str, name: &str) -> Result<PathBuf, String> {
    let own = system.own_folder(controller);
    let own = own.ok_or(format!("the {controller} control group is not mounted"))?;
    let place = own.join(name);
    match fs::create_dir(&place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("the {controller} control group is not ours to change ({error})"))
        }
        _ => Ok(place),
    }
}

pub fn set(places: &Places, limits: &Limits) -> io::Result<()> {
    if let (Some(memory), Some(bytes)) = (places.get("memory"), limits.memory_bytes) {
        write(memory, "memory.limit_in_bytes", bytes)?;
        // Memory and swap together may be no more than memory: nothing goes to swap.
        if_present(write(memory, "memory.memsw.limit_in_bytes", bytes))?;
        if_present(write(memory, "memory.swappiness", 0))?;
    }
    if let (Some(pids), Some(count)) = (places.get("pids"), limits.pids) {
        write(pids, "pids.max", count)?;
    }
    if let (Some(cpu), Some(millis)) = (places.get("cpu"), limits.cpu_millis) {
        write(cpu, "cpu.cfs_period_us", PERIOD_US)?;
        match write(cpu, "cpu.cfs_quota_us", (millis * PERIOD_US / 1000).max(1000)) {
            // A group above has less, and that holds for this one, too.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Kernels are built without counting swap.
fn if_present(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Doors into the group. A process that writes 0 to `tasks` moves itself without the grace
/// period that moving another one costs.
pub fn doors(folders: &[&Path]) -> io::Result<Vec<OwnedFd>> {
    let open = |folder: &&Path| File::options().write(true).open(folder.join("tasks"));
    folders.iter().map(|folder| open(folder).map(OwnedFd::from)).collect()
}
