//! Version 2: one hierarchy, whose inner groups hold no processes.

use super::group::write;
use super::system::System;
use super::{Groups, Places, UNIFIED};
use crate::sys::{attribute, credentials};
use crate::wire::limits::Limits;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const PERIOD_US: u64 = 100_000;
const NEEDED: [&str; 3] = ["cpu", "memory", "pids"];
/// Where processes go that stand in the way of a group of ours.
const ASIDE: &str = "sandboxer-aside";

pub fn find(system: &System, name: &str) -> Groups {
    let Some((top, own)) = system.unified() else {
        return Groups::none("control groups are not mounted");
    };
    // Who was moved aside by an earlier hold starts the next one there.
    let own = if own.ends_with(ASIDE) { own.parent().unwrap_or(top) } else { &own };
    match settle(top, own, name) {
        Ok(place) => {
            let given = words(&place, "cgroup.subtree_control");
            let lacks = |controller: &&&str| !given.iter().any(|word| word == **controller);
            let reason =
                |name: &&'static str| (*name, format!("the {name} control group is not given"));
            let missing: BTreeMap<_, _> = NEEDED.iter().filter(lacks).map(reason).collect();
            Groups { places: Places::from([(UNIFIED.to_string(), place)]), missing }
        }
        Err(reason) => Groups::none(&reason),
    }
}

/// Our own group, below the nearest one that hands on every controller; failing that, below the
/// nearest that hands on some.
fn settle(top: &Path, own: &Path, name: &str) -> Result<PathBuf, String> {
    let (mut reason, mut partial) = (String::new(), None);
    for parent in own.ancestors().take_while(|folder| folder.starts_with(top)) {
        match make_below(parent, parent == own, name) {
            Ok(place) if passes_on_everything(&place) => {
                if let Some(partial) = partial {
                    let _ = fs::remove_dir(partial);
                }
                return Ok(place);
            }
            Ok(place) if partial.is_none() => partial = Some(place),
            Ok(place) => drop(fs::remove_dir(place)),
            Err(error) => reason = format!("{}: {error}", parent.display()),
        }
        // Only root has a say above its own group.
        if credentials::effective_uid() != 0 {
            break;
        }
    }
    partial.ok_or(format!("no control group is ours to change ({reason})"))
}

fn make_below(parent: &Path, is_own: bool, name: &str) -> io::Result<PathBuf> {
    let busy = || io::Error::from_raw_os_error(libc::EBUSY);
    if !passes_on_everything(parent) {
        let is_machine_top = !parent.join("cgroup.type").exists();
        match (is_own && is_ours(parent), is_machine_top) {
            (false, true) => enable(parent)?,
            (true, _) if enable(parent).is_ok() => {}
            // Processes stand in the way of what is ours: they make room.
            (true, _) => {
                move_aside(parent)?;
                enable(parent)?;
            }
            // Somebody else's to arrange; what it hands on may still do.
            (false, false) if words(parent, "cgroup.subtree_control").is_empty() => {
                return Err(busy());
            }
            (false, false) => {}
        }
    }
    let place = parent.join(name);
    make_folder(&place)?;
    enable(&place)?;
    Ok(place)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Given to us by who manages the machine: to our user, or marked as delegated, or the top of
/// what a container can see.
fn is_ours(folder: &Path) -> bool {
    let uid = credentials::effective_uid();
    let has_owner = fs::metadata(folder).is_ok_and(|found| found.uid() == uid);
    let is_marked = || {
        ["user.delegate", "trusted.delegate"]
            .iter()
            .any(|name| attribute::read(folder, name).is_ok_and(|mark| mark == b"1"))
    };
    let is_container_top = || {
        fs::read_to_string("/proc/self/cgroup").is_ok_and(|own| own.contains("0::/\n"))
            && folder.join("cgroup.type").exists()
    };
    has_owner && (uid != 0 || is_marked() || is_container_top())
}

fn move_aside(folder: &Path) -> io::Result<()> {
    let aside = folder.join(ASIDE);
    make_folder(&aside)?;
    for pid in words(folder, "cgroup.procs") {
        match write(&aside, "cgroup.procs", &pid) {
            // It ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn passes_on_everything(folder: &Path) -> bool {
    let given = words(folder, "cgroup.subtree_control");
    NEEDED.iter().all(|needed| given.iter().any(|word| word == needed))
}

/// Hands on whatever of the needed there is.
fn enable(folder: &Path) -> io::Result<()> {
    let there = words(folder, "cgroup.controllers");
    let wanted: Vec<String> = NEEDED
        .iter()
        .filter(|needed| there.iter().any(|word| word == *needed))
        .map(|needed| format!("+{needed}"))
        .collect();
    write(folder, "cgroup.subtree_control", wanted.join(" "))
}

fn words(folder: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

/// A controller that is not given has no files; hold has said so before.
pub fn set(folder: &Path, limits: &Limits) -> io::Result<()> {
    let set = |file: &str, value: String| match write(folder, file, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    };
    if let Some(bytes) = limits.memory_bytes {
        set("memory.max", bytes.to_string())?;
        set("memory.swap.max", "0".to_string())?;
    }
    if let Some(count) = limits.pids {
        set("pids.max", count.to_string())?;
    }
    if let Some(millis) = limits.cpu_millis {
        let quota = (millis * PERIOD_US / 1000).max(1000);
        set("cpu.max", format!("{quota} {PERIOD_US}"))?;
    }
    Ok(())
}

/// What clone puts a new process into.
pub fn open(folder: &Path) -> io::Result<OwnedFd> {
    File::open(folder).map(OwnedFd::from)
}
