//! What clients ask of hold.

use super::client::Client;
use super::failpoint;
use super::metrics;
use super::record::wall_time_of;
use super::registry::{Sandbox, Starting};
use super::watch::Hold;
use crate::sys::{descriptor, process, time};
use crate::wire::failure::{Code, Failure};
use crate::wire::frame::{Body, Frame, Kind, Malformed, Object};
use crate::wire::hold_request::{Create, HoldRequest};
use crate::wire::{PROTOCOL, VERSION};
use serde_json::{Value, json};
use std::time::Duration;

/// What becomes of a client after a frame.
enum Next {
    /// It may ask the next thing.
    Ready,
    Launch(Box<Create>, u32),
}

impl Hold {
    /// Answers whatever has arrived whole. The client is gone afterwards if it became a
    /// sandbox's or does not speak the protocol.
    pub fn answer_requests(&mut self, number: u32) {
        let Some(mut client) = self.clients.remove(&number) else {
            return;
        };
        loop {
            if client.outbound.flush(&client.socket).is_err() {
                return;
            }
            // Answers go out in order, and before the connection changes hands.
            if client.is_busy || !client.outbound.is_empty() {
                break;
            }
            let asked = match client.inbound.next() {
                Ok(Some(frame)) => understand(frame),
                Ok(None) => break,
                Err(malformed) => Err(malformed),
            };
            let next = match asked {
                Ok(Some(Asked::Open(stream, object))) => {
                    self.begin(number, &mut client, stream, object)
                }
                Ok(Some(Asked::Echo(echo))) => {
                    client.outbound.pong(echo);
                    Next::Ready
                }
                Ok(None) => Next::Ready,
                Err(_) => return,
            };
            if let Next::Launch(create, stream) = next {
                self.epoll.remove(&client.socket);
                match self.launch(*create, client, stream) {
                    Ok(()) => return,
                    Err((returned, failure)) => {
                        self.give_back(returned, stream, &failure);
                        return;
                    }
                }
            }
        }
        self.keep_client(number, client);
    }

    fn begin(&mut self, number: u32, client: &mut Client, stream: u32, object: Object) -> Next {
        self.waiters.stand_back();
        let request = match HoldRequest::parse(object) {
            Ok(request) => request,
            Err(failure) => {
                client.outbound.fail(stream, &failure);
                return Next::Ready;
            }
        };
        let out = &mut client.outbound;
        match request {
            HoldRequest::Ping => out.end(
                stream,
                &json!({
                    "protocol": PROTOCOL,
                    "boxd": VERSION,
                    "pid": std::process::id(),
                    "uid": self.means.uid,
                    "ids": self.means.ids.name(),
                    "boxes": self.registry.len(),
                    "lacking": self.means.lacking(),
                }),
            ),
            HoldRequest::Create(create) => return Next::Launch(create, stream),
            HoldRequest::Claim(claim) => match self.claim(claim) {
                Ok(()) => out.end(stream, &json!({})),
                Err(failure) => out.fail(stream, &failure),
            },
            HoldRequest::List { id } => {
                let is_wanted =
                    |one: &Sandbox| id.as_ref().is_none_or(|wanted| one.record.id == *wanted);
                let is_kept = |one: &Value| id.as_ref().is_none_or(|wanted| one["id"] == **wanted);
                let boxes: Vec<Value> = self
                    .registry
                    .iter()
                    .filter(|(_, sandbox)| is_wanted(sandbox))
                    .map(|(_, sandbox)| sandbox.summary())
                    .chain(self.resting_summaries().filter(is_kept))
                    .collect();
                out.end(stream, &json!({ "boxes": boxes }));
            }
            HoldRequest::Extend { id, ttl_ms } => match self.extend(&id, ttl_ms) {
                Ok(expiry) => out.end(stream, &json!({ "expiresAtMs": expiry })),
                Err(failure) => out.fail(stream, &failure),
            },
            HoldRequest::Pause { id } => match self.pause(&id, (number, stream)) {
                Ok(true) => out.end(stream, &json!({})),
                Ok(false) => client.is_busy = true,
                Err(failure) => out.fail(stream, &failure),
            },
            HoldRequest::Freeze { id } => {
                let asker = process::peer_of(&client.socket);
                match self.freeze(&id, (number, stream), asker) {
                    Ok(Some(layers)) => out.end(stream, &json!({ "layers": layers })),
                    Ok(None) => client.is_busy = true,
                    Err(failure) => out.fail(stream, &failure),
                }
            }
            HoldRequest::Stop { id, grace_ms, keep_ms } => {
                let grace = Duration::from_millis(grace_ms);
                match self.stop(&id, grace, keep_ms, (number, stream)) {
                    Ok(true) => out.end(stream, &json!({"existed": true})),
                    Ok(false) => client.is_busy = true,
                    Err(failure) => out.fail(stream, &failure),
                }
            }
            HoldRequest::Resume { id } => match self.resume(&id) {
                Ok(()) => out.end(stream, &json!({})),
                Err(failure) => out.fail(stream, &failure),
            },
            HoldRequest::Metrics { id } => match self.settled(&id) {
                Ok(sandbox) => out.end(stream, &metrics::of(&sandbox.record)),
                Err(failure) => out.fail(stream, &failure),
            },
            HoldRequest::Destroy { id, grace_ms } => {
                let grace = Duration::from_millis(grace_ms);
                if self.forget_rest(&id) {
                    out.end(stream, &json!({"existed": true}));
                } else if self.destroy(&id, grace, (number, stream)) {
                    client.is_busy = true;
                } else {
                    out.end(stream, &json!({"existed": false}));
                }
            }
            HoldRequest::Tether { id } => {
                self.tethers.push((number, id));
                out.end(stream, &json!({}));
            }
        }
        Next::Ready
    }

    /// A sandbox that lives and has come to life. Its client may know of that before we have heard
    /// its report, which then waits already.
    pub fn settled(&mut self, id: &str) -> Result<&mut Sandbox, Failure> {
        let reports = |starting: &Starting| {
            descriptor::bytes_waiting(&starting.from_child).is_ok_and(|count| count > 0)
        };
        let reporting = self.registry.by_id(id).and_then(|(number, sandbox)| {
            sandbox.starting.as_ref().is_some_and(reports).then_some(number)
        });
        if let Some(number) = reporting {
            self.hear_report(number);
        }
        match self.registry.by_id(id) {
            Some((_, sandbox)) if sandbox.starting.is_none() => Ok(sandbox),
            // Never "not found", which would mean that it is lost: one that is started again has files.
            Some(_) => Err(Failure::new(Code::Busy, format!("sandbox {id} is being started"))),
            None if self.resting.get(id).is_some() => {
                Err(Failure::invalid(format!("sandbox {id} is stopped")))
            }
            None => Err(Failure::new(Code::NotFound, format!("no sandbox {id}"))),
        }
    }

    fn extend(&mut self, id: &str, ttl_ms: u64) -> Result<u64, Failure> {
        if let Some(outcome) = self.keep_longer(id, ttl_ms) {
            return outcome;
        }
        let directory = self.folder.of_box(id);
        let Some((_, sandbox)) = self.registry.by_id(id) else {
            return Err(Failure::new(Code::NotFound, format!("no sandbox {id}")));
        };
        let deadline = time::since_boot_ms().saturating_add(ttl_ms);
        let mut record = sandbox.record.clone();
        record.deadline_ms = Some(deadline);
        record.write(&directory).map_err(|error| Failure::about_path("box.json", &error))?;
        failpoint::reached("extended");
        sandbox.record = record;
        Ok(wall_time_of(deadline))
    }
}

enum Asked {
    Open(u32, Object),
    Echo([u8; 8]),
}

/// None for frames that need no answer: they belong to streams that are over.
fn understand(frame: Frame) -> Result<Option<Asked>, Malformed> {
    match (frame.kind, frame.body) {
        (Kind::Open, Body::Json(object)) => Ok(Some(Asked::Open(frame.stream, object))),
        (Kind::Ping, Body::Echo(echo)) => Ok(Some(Asked::Echo(echo))),
        (Kind::Hello | Kind::Reply | Kind::End | Kind::Fail, _) => {
            Err(Malformed("a client does not send this kind"))
        }
        _ => Ok(None),
    }
}
