//! From a clone to the first process of a sandbox: what hold does for the child, what the child
//! does for itself, and what it reports.

use super::client::Client;
use super::failpoint;
use super::means::Means;
use super::record::{Record, start_time};
use crate::cgroup::Entry;
use crate::disk::IMAGE;
use crate::serve;
use crate::setup::idmap::IdMap;
use crate::setup::trees::Trees;
use crate::setup::workspace::LAYER;
use crate::setup::{self, Plan};
use crate::sys::process::{self, Clone, FileLimit};
use crate::sys::{descriptor, path, signal, unix_socket};
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::Create;
use crate::wire::limits::Limits;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;

const SUCCESS: &[u8] = b"ok";
const LONGEST_REPORT: usize = 8192;

pub type Born = io::Result<(i32, OwnedFd, OwnedFd)>;

/// The control group to be born into, where the kernel can do that; else it is made while the
/// child prepares itself.
pub fn make_cradle(
    means: &Means,
    record: &mut Record,
    limits: &Limits,
) -> Result<Option<OwnedFd>, Failure> {
    if means.groups.entries() > 0 {
        return Ok(None);
    }
    match make_group(means, record, limits)? {
        Some(Entry::Folder(folder)) => Ok(Some(folder)),
        _ => Ok(None),
    }
}

fn make_group(
    means: &Means,
    record: &mut Record,
    limits: &Limits,
) -> Result<Option<Entry>, Failure> {
    let failed = |error: io::Error| Failure::unavailable("control group", &error);
    record.group = means.groups.make(&record.id, limits).map_err(failed)?;
    failpoint::reached("group");
    record.group.as_ref().map(|group| group.entry()).transpose().map_err(failed)
}

/// Makes the process. In the child this never returns: it becomes the sandbox.
pub fn give_birth(
    plan: &Plan,
    create: &Create,
    client: Client,
    listener: UnixListener,
    limits: FileLimit,
    cradle: Option<OwnedFd>,
) -> (Client, Born) {
    let (ours, theirs) = match unix_socket::message_pair() {
        Ok(pair) => pair,
        Err(error) => return (client, Err(error)),
    };
    let mut client = Some(client);
    let group = cradle.as_ref().map(AsFd::as_fd);
    let born = plan.ids.charged_to(group.is_some(), || {
        match process::clone_into_group(process::EVERY_NAMESPACE, group)? {
            Clone::Parent { pid, pidfd } => Ok((pid, pidfd)),
            Clone::Child => match client.take() {
                Some(client) => be_born(plan, create, client, listener, theirs, limits),
                None => process::exit_now(1),
            },
        }
    });
    let client = client.expect("only the child takes the client");
    (client, born.map(|(pid, pidfd)| (pid, pidfd, ours)))
}

/// hold's share of the work while the child waits, then the word to go. Gives the sandbox's disk.
pub fn equip(
    plan: &Plan,
    means: &Means,
    record: &mut Record,
    child: &OwnedFd,
) -> Result<Option<OwnedFd>, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    plan.ids.write(record.pid).map_err(step("user id map"))?;
    let entry = match record.group {
        None => make_group(means, record, plan.limits)?,
        Some(_) => None,
    };
    let mut lent = match entry {
        Some(Entry::Doors(doors)) => doors,
        _ => Vec::new(),
    };
    record.start_time = start_time(record.pid).map_err(step("process record"))?;
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
    match plan.ids {
        IdMap::Range { base } => {
            let namespace = File::open(format!("/proc/{}/ns/user", record.pid))
                .map_err(step("user namespace"))?;
            let ids = Some(namespace.as_fd());
            let own = disk.as_ref().map(OwnedFd::try_clone).transpose().map_err(step("disk"))?;
            let workspace = plan.workspace.map(|pinned| pinned.tree(base)).transpose()?;
            let frozen = plan.frozen.iter().map(|one| Ok((one.name(), one.tree(base)?)));
            let frozen = frozen.collect::<Result<Vec<_>, Failure>>()?;
            let trees = Trees::clone_all(plan, ids, own, workspace, &frozen)?;
            lent.extend(trees.into_list());
        }
        IdMap::Shared | IdMap::SharedWithOwner | IdMap::Single { .. } => {}
    }
    unix_socket::send(child, b"go", &lent).map_err(step("start signal"))?;
    Ok(disk)
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

fn be_born(
    plan: &Plan,
    create: &Create,
    client: Client,
    listener: UnixListener,
    to_hold: OwnedFd,
    limits: FileLimit,
) -> ! {
    signal::unblock_all();
    limits.restore();
    let mut keep = [client.socket.as_raw_fd(), listener.as_raw_fd(), to_hold.as_raw_fd()];
    let made = descriptor::close_all_except(&mut keep)
        .map_err(|error| Failure::unavailable("close_range", &error))
        .and_then(|()| setup::prepare(plan))
        .and_then(|way_out| match setup::wait_for_go(&to_hold) {
            Ok(Some(lent)) => setup::enter(plan, lent).map(|kept| (way_out, kept)),
            _ => process::exit_now(1),
        })
        .and_then(|(way_out, kept)| {
            let arrived = client.inbound.rest();
            let host = serve::FromHold { kept, way_out };
            serve::Server::in_box(create, client.socket, arrived, listener, host)
        });
    let report = |bytes: &[u8]| {
        // If hold is gone nobody needs to know; the next one sees for itself.
        let _ = unix_socket::send(&to_hold, bytes, &[]);
    };
    match made {
        Ok(mut server) => {
            // hold first: once the client knows of the sandbox it may ask hold to end it, and
            // hold must not take that end for a failed start.
            report(SUCCESS);
            drop(to_hold);
            server.flush();
            server.run()
        }
        Err(failure) => {
            let text = format!("{}\n{}", failure.code.as_str(), failure.message);
            report(&text.as_bytes()[..text.len().min(LONGEST_REPORT)]);
            process::exit_now(1)
        }
    }
}

pub enum Report {
    Success,
    Failure(Failure),
    /// It died without a word.
    Silence,
}

/// What the child has to say. It has said it, or is dead, when this is called.
pub fn hear(child: &OwnedFd) -> Report {
    let mut report = [0; LONGEST_REPORT];
    let length = unix_socket::receive(child, &mut report).map_or(0, |(length, _)| length);
    match &report[..length] {
        [] => Report::Silence,
        SUCCESS => Report::Success,
        report => {
            let text = String::from_utf8_lossy(report);
            let (code, message) = text.split_once('\n').unwrap_or(("internal", &text));
            let code = Code::from_spelling(code).unwrap_or(Code::Internal);
            Report::Failure(Failure::new(code, message))
        }
    }
}
