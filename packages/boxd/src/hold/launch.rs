//! Making a sandbox.
//!
//! The order is what makes a crash harmless: folder, process that waits, record, go. Dying
//! before the record leaves a folder without a living process; dying before go, a process
//! that ends itself.

use super::client::Client;
use super::failpoint;
use super::folder::is_id;
use super::record::{Record, start_time};
use super::registry::{Sandbox, Starting};
use super::watch::{Hold, Source};
use crate::serve;
use crate::setup::idmap::IdMap;
use crate::setup::trees::{self, Trees};
use crate::setup::{self, Plan};
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, epoll, signal, time, unix_socket};
use crate::wire::failure::{Code, Failure};
use crate::wire::request::Create;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;

const SUCCESS: &[u8] = b"ok";
const LONGEST_REPORT: usize = 8192;

impl Hold {
    /// The client comes back at once when the sandbox cannot even be begun.
    pub fn launch(
        &mut self,
        create: Create,
        client: Client,
        stream: u32,
    ) -> Result<(), (Client, Failure)> {
        let (ids, listener) = match self.make_room(&create) {
            Ok(room) => room,
            Err(failure) => return Err((client, failure)),
        };
        failpoint::reached("folder");
        let created_at_ms = time::now_ms();
        let mut record = Record {
            pid: 0,
            start_time: 0,
            boot_id: self.boot_id.clone(),
            created_at_ms,
            expires_at_ms: create.ttl_ms.map(|ttl| created_at_ms.saturating_add(ttl)),
            labels: create.labels.clone(),
            uid_base: ids.base(),
            id: create.id.clone(),
            installation: create.installation.clone(),
        };
        let directory = self.folder.of_box(&record.id);
        let plan = Plan {
            root: &create.root,
            hostname: &create.hostname,
            box_directory: &directory,
            ids,
        };
        let (client, born) = give_birth(&plan, &create, client, listener);
        let (pid, pidfd, from_child) = match born {
            Ok(born) => born,
            Err(error) => {
                self.trash.take(&self.folder, Path::new(&record.id));
                return Err((client, Failure::unavailable("namespaces", &error)));
            }
        };
        failpoint::reached("process");
        record.pid = pid;
        let equipped = equip(&plan, &mut record, &from_child);
        if equipped.is_err() {
            let _ = process::signal_pidfd(&pidfd, libc::SIGKILL);
        }
        failpoint::reached("go");
        let starting = Starting { from_child, client, stream, failure: equipped.err() };
        let starting = Some(starting);
        self.watch_sandbox(Sandbox { record, pidfd, starting, ending: None });
        Ok(())
    }

    fn make_room(&mut self, create: &Create) -> Result<(IdMap, UnixListener), Failure> {
        check(create)?;
        if self.registry.by_id(&create.id).is_some() {
            let message = format!("sandbox {} is live", create.id);
            return Err(Failure::new(Code::AlreadyExists, message));
        }
        let bases = self.registry.uid_bases();
        let ids = IdMap::choose(|base| bases.contains(&base))
            .map_err(|error| Failure::unavailable("user ids", &error))?;
        let made = match self.folder.make_box(&create.id, ids.base()) {
            // Not in the registry, so it is nobody's.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.trash.take(&self.folder, Path::new(&create.id));
                self.folder.make_box(&create.id, ids.base())
            }
            made => made,
        };
        made.map(|listener| (ids, listener)).map_err(|error| {
            self.trash.take(&self.folder, Path::new(&create.id));
            Failure::about_path("the sandbox's folder", &error)
        })
    }

    fn watch_sandbox(&mut self, sandbox: Sandbox) {
        let number = self.registry.insert(sandbox);
        let Some(sandbox) = self.registry.get_mut(number) else {
            return;
        };
        let watched = self
            .epoll
            .add(&sandbox.pidfd, epoll::READABLE, Source::Sandbox(number).token())
            .and_then(|()| match &sandbox.starting {
                Some(starting) => {
                    let token = Source::Report(number).token();
                    self.epoll.add(&starting.from_child, epoll::READABLE, token)
                }
                None => Ok(()),
            });
        if watched.is_err() {
            // What cannot be watched cannot be kept.
            let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGKILL);
            self.bury(number);
        }
    }

    /// The sandbox says whether it works; no word at all means that it died.
    pub fn hear_report(&mut self, number: u32) {
        let Some(sandbox) = self.registry.get_mut(number) else {
            return;
        };
        let Some(mut starting) = sandbox.starting.take() else {
            return;
        };
        self.epoll.remove(&starting.from_child);
        let mut report = [0; LONGEST_REPORT];
        let heard = unix_socket::receive(&starting.from_child, &mut report);
        let report = &report[..heard.map_or(0, |(length, _)| length)];
        if report == SUCCESS {
            // Our copy of the connection goes; the sandbox has its own.
            return;
        }
        if !report.is_empty() && starting.failure.is_none() {
            starting.failure = Some(failure_in(report));
        }
        let _ = process::signal_pidfd(&sandbox.pidfd, libc::SIGKILL);
        sandbox.starting = Some(starting);
    }

    pub fn adopt(&mut self, sandbox: Sandbox) {
        self.watch_sandbox(sandbox);
    }
}

fn check(create: &Create) -> Result<(), Failure> {
    if !is_id(&create.id) {
        return Err(Failure::invalid("id is not 20 lower-case letters and digits"));
    }
    let hostname = &create.hostname;
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    if hostname.is_empty() || hostname.len() > 63 || !hostname.bytes().all(is_label) {
        return Err(Failure::invalid("hostname is not 1 to 63 letters, digits, dots and dashes"));
    }
    serve::environment::check(&create.env)?;
    trees::check(&create.root)
}

type Born = io::Result<(i32, OwnedFd, OwnedFd)>;

/// Makes the process. In the child this never returns: it becomes the sandbox.
fn give_birth(
    plan: &Plan,
    create: &Create,
    client: Client,
    listener: UnixListener,
) -> (Client, Born) {
    let (ours, theirs) = match unix_socket::message_pair() {
        Ok(pair) => pair,
        Err(error) => return (client, Err(error)),
    };
    let mut client = Some(client);
    let born = plan.ids.charged_to(|| match process::clone_into(process::EVERY_NAMESPACE)? {
        Clone::Parent { pid, pidfd } => Ok((pid, pidfd)),
        Clone::Child => match client.take() {
            Some(client) => be_born(plan, create, client, listener, theirs),
            None => process::exit_now(1),
        },
    });
    let client = client.expect("only the child takes the client");
    (client, born.map(|(pid, pidfd)| (pid, pidfd, ours)))
}

/// hold's share of the work while the child waits, then the word to go.
fn equip(plan: &Plan, record: &mut Record, child: &OwnedFd) -> Result<(), Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    plan.ids.write(record.pid).map_err(step("user id map"))?;
    record.start_time = start_time(record.pid).map_err(step("process record"))?;
    record.write(plan.box_directory).map_err(|error| Failure::about_path("box.json", &error))?;
    failpoint::reached("record");
    let lent = match plan.ids {
        IdMap::Range { .. } => {
            let namespace = File::open(format!("/proc/{}/ns/user", record.pid))
                .map_err(step("user namespace"))?;
            Trees::clone_all(plan.box_directory, plan.root, Some(namespace.as_fd()))?.into_list()
        }
        IdMap::Single { .. } => Vec::new(),
    };
    unix_socket::send(child, b"go", &lent).map_err(step("start signal"))
}

fn be_born(
    plan: &Plan,
    create: &Create,
    client: Client,
    listener: UnixListener,
    to_hold: OwnedFd,
) -> ! {
    signal::unblock_all();
    let mut keep = [client.socket.as_raw_fd(), listener.as_raw_fd(), to_hold.as_raw_fd()];
    let made = descriptor::close_all_except(&mut keep)
        .map_err(|error| Failure::unavailable("close_range", &error))
        .and_then(|()| setup::prepare(plan))
        .and_then(|()| match setup::wait_for_go(&to_hold) {
            Ok(Some(lent)) => setup::enter(plan, lent),
            _ => process::exit_now(1),
        })
        .and_then(|()| serve::Server::in_box(create, client.socket, client.inbound.rest(), listener));
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

fn failure_in(report: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(report);
    let (code, message) = text.split_once('\n').unwrap_or(("internal", &text));
    Failure::new(Code::from_spelling(code).unwrap_or(Code::Internal), message)
}
