//! What a sandbox's first process does before it serves: it hears from hold, makes its place, and
//! reports.

use super::client::Client;
use crate::serve;
use crate::setup::idmap::IdMap;
use crate::setup::{self, Aside, Plan};
use crate::sys::process::{self, FileLimit};
use crate::sys::{descriptor, signal, title, unix_socket};
use crate::wire::failure::{Code, Failure};
use crate::wire::frame::{Body, Frame};
use crate::wire::hold_request::{Create, HoldRequest};
use crate::wire::inbound::Inbound;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// hold's own arguments name folders of the host.
const TITLE: &str = "boxd serve";
const SUCCESS: &[u8] = b"ok";
const LONGEST_REPORT: usize = 8192;
/// The longest request that one who waits is told.
pub const LONGEST_REQUEST: usize = 64 * 1024;

/// It knows all about itself, having been made for that.
pub fn be_born(
    plan: &Plan,
    create: &Create,
    client: Client,
    listener: UnixListener,
    to_hold: OwnedFd,
    limits: FileLimit,
    doors: usize,
) -> ! {
    limits.at_most(create.limits.open_files).restore();
    let mut keep = [client.socket.as_raw_fd(), listener.as_raw_fd(), to_hold.as_raw_fd()];
    title::set(TITLE);
    let made = leave_hold(&mut keep)
        .and_then(|()| setup::connect(plan.guarded))
        .and_then(|way_out| {
            hear_word(&to_hold);
            Ok((way_out, setup::set_aside(plan.ids)?))
        })
        .and_then(|(way_out, aside)| {
            let mut lent = hear_word(&to_hold);
            let trees = lent.split_off(doors.min(lent.len()));
            setup::enter_groups(lent)?;
            let kept = setup::enter(plan, aside, trees)?;
            let host = serve::FromHold { kept, way_out };
            serve::Server::in_box(create, client.socket, client.inbound.behind(), listener, host)
        });
    report_and_serve(to_hold, made)
}

/// It waits to be told who it is to be.
pub fn wait_to_be_born(ids: IdMap, to_hold: OwnedFd, limits: FileLimit) -> ! {
    title::set("boxd waiting");
    let waiting = leave_hold(&mut [to_hold.as_raw_fd()])
        .and_then(|()| setup::connect(false))
        .and_then(|_| setup::enter_groups(hear_word(&to_hold)))
        .and_then(|()| setup::set_aside(ids))
        .and_then(|aside| Aside::leave_host().map(|()| aside));
    let made = waiting.and_then(|aside| {
        let mut told = vec![0; LONGEST_REQUEST];
        let (length, lent) = hear(&to_hold, &mut told);
        let mut inbound = Inbound::starting_with(&told[..length]);
        let mut create = match inbound.next() {
            Ok(Some(Frame { body: Body::Json(object), .. })) => match HoldRequest::parse(object)? {
                HoldRequest::Create(create) => create,
                _ => return Err(Failure::invalid("hold did not tell who to be")),
            },
            _ => return Err(Failure::invalid("hold did not tell who to be")),
        };
        title::set(TITLE);
        // Where hold's tools are shown, whatever they are called outside.
        create.root.lowers.insert(0, String::new());
        limits.at_most(create.limits.open_files).restore();
        let way_out = if create.guarded { setup::connect(true)? } else { None };
        let mut lent = lent.into_iter();
        let (Some(client), Some(listener)) = (lent.next(), lent.next()) else {
            return Err(Failure::invalid("hold lent nothing"));
        };
        let plan = Plan {
            root: &create.root,
            hostname: &create.hostname,
            box_directory: Path::new("/"),
            ids,
            limits: &create.limits,
            guarded: create.guarded,
            workspace: None,
            judged: &[],
            frozen: &[],
            is_copy: false,
            is_kept: false,
        };
        let kept = setup::enter(&plan, aside, lent.collect())?;
        let (client, listener) = (UnixStream::from(client), UnixListener::from(listener));
        let host = serve::FromHold { kept, way_out };
        serve::Server::in_box(&create, client, inbound.behind(), listener, host)
    });
    report_and_serve(to_hold, made)
}

fn leave_hold(keep: &mut [i32]) -> Result<(), Failure> {
    signal::unblock_all();
    let closed = descriptor::close_all_except(keep);
    closed.map_err(|error| Failure::unavailable("close_range", &error))?;
    process::new_session();
    Ok(())
}

/// hold's next word, and what comes with it. Without hold there is nothing to live for.
fn hear(from_hold: &OwnedFd, word: &mut [u8]) -> (usize, Vec<OwnedFd>) {
    match unix_socket::receive(from_hold, word) {
        Ok((length @ 1.., lent)) => (length, lent),
        _ => process::exit_now(1),
    }
}

fn hear_word(from_hold: &OwnedFd) -> Vec<OwnedFd> {
    hear(from_hold, &mut [0; 8]).1
}

fn report_and_serve(to_hold: OwnedFd, made: Result<serve::Server, Failure>) -> ! {
    let report = |bytes: &[u8]| {
        // If hold is gone nobody needs to know; the next one sees for itself.
        let _ = unix_socket::tell(&to_hold, bytes);
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
pub fn hear_report(child: &OwnedFd) -> Report {
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
