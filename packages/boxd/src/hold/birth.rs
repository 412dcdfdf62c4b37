//! From a clone to the first process of a sandbox: what hold does for the child.

use super::client::Client;
use super::failpoint;
use super::furnish;
use super::infancy;
use super::means::Means;
use super::record::{Record, start_time};
use super::waiting::Waiting;
use crate::cgroup::Entry;
use crate::setup::Plan;
use crate::sys::process::{self, Clone, FileLimit};
use crate::sys::unix_socket;
use crate::wire::failure::Failure;
use crate::wire::hold_request::Create;
use crate::wire::limits::Limits;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

/// A sandbox's first process.
pub struct Child {
    pid: i32,
    pidfd: OwnedFd,
    socket: OwnedFd,
}

/// The same, told to go, or why it could not be: then it is about to end.
pub struct Born {
    pub pidfd: OwnedFd,
    pub from_child: OwnedFd,
    pub equipped: Result<Option<OwnedFd>, Failure>,
}

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
    (listener, limits, cradle, doors): (UnixListener, FileLimit, Option<OwnedFd>, usize),
) -> (Client, io::Result<Child>) {
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
                Some(client) => {
                    infancy::be_born(plan, create, client, listener, theirs, limits, doors)
                }
                None => process::exit_now(1),
            },
        }
    });
    let client = client.expect("only the child takes the client");
    (client, born.map(|(pid, pidfd)| Child { pid, pidfd, socket: ours }))
}

/// hold's share of the work while the child waits, then the word to go.
pub fn equip(plan: &Plan, means: &Means, record: &mut Record, child: Child) -> Born {
    record.pid = child.pid;
    let equipped = prepare(plan, means, record, &child.socket);
    Born { pidfd: child.pidfd, from_child: child.socket, equipped }
}

/// One that waited already is told who it is, and goes.
pub fn wake(
    plan: &Plan,
    means: &Means,
    record: &mut Record,
    waiting: Waiting,
    told: (&Client, &UnixListener),
) -> Born {
    let Waiting { pid, start_time, pidfd, socket, group, .. } = waiting;
    (record.pid, record.start_time, record.group) = (pid, start_time, group);
    let equipped = tell(plan, means, record, &socket, told);
    Born { pidfd, from_child: socket, equipped }
}

/// Gives the sandbox's disk.
fn prepare(
    plan: &Plan,
    means: &Means,
    record: &mut Record,
    child: &OwnedFd,
) -> Result<Option<OwnedFd>, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    plan.ids.write(record.pid).map_err(step("user id map"))?;
    unix_socket::tell(child, b"ids").map_err(step("start signal"))?;
    let entry = match record.group {
        None => make_group(means, record, plan.limits)?,
        Some(_) => None,
    };
    let mut lent = match entry {
        Some(Entry::Doors(doors)) => doors,
        _ => Vec::new(),
    };
    record.start_time = start_time(record.pid).map_err(step("process record"))?;
    let (disk, trees) = furnish::furnish(plan, means, record)?;
    lent.extend(trees);
    unix_socket::send(child, b"go", &lent).map_err(step("start signal"))?;
    Ok(disk)
}

/// Gives the sandbox's disk.
fn tell(
    plan: &Plan,
    means: &Means,
    record: &mut Record,
    child: &OwnedFd,
    (client, listener): (&Client, &UnixListener),
) -> Result<Option<OwnedFd>, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    if let Some(group) = &mut record.group {
        let taken = group.rename(&record.id).and_then(|()| group.set(plan.limits));
        taken.map_err(step("control group"))?;
    }
    failpoint::reached("group");
    let (disk, trees) = furnish::furnish(plan, means, record)?;
    let own = [client.socket.as_fd(), listener.as_fd()];
    let lent: Vec<BorrowedFd> = own.into_iter().chain(trees.iter().map(AsFd::as_fd)).collect();
    unix_socket::send(child, client.inbound.last_and_rest(), &lent)
        .map_err(step("start signal"))?;
    Ok(disk)
}
