//! What an OPEN frame starts.

use super::Server;
use super::dial::Dial;
use super::environment;
use super::files;
use super::process::Process;
use super::stream::{Stream, StreamId, Work};
use super::users;
use super::workspace::pointing::Pointing;
use super::workspace::{self, Workspace};
use crate::sys::{process, signal, tty};
use crate::wire::failure::Failure;
use crate::wire::fields::Dictionary;
use crate::wire::file_request::FileRequest;
use crate::wire::frame::Kind;
use crate::wire::serve_request::{ServeRequest, Size};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How an operation goes on.
pub enum Begun {
    Done(Value),
    /// It sends this REPLY, and then data.
    Streaming(Value, Work),
    /// It goes on by itself: it replies later, or never and only ends.
    Working(Work),
    /// It has sent its END itself.
    Answered,
}

impl Server {
    pub fn begin(&mut self, id: StreamId, request: ServeRequest) {
        let begun = self.try_begin(id, request);
        let Some(out) = self.connections.outbound(id) else {
            return;
        };
        let work = match begun {
            Ok(Begun::Done(result)) => return out.end(id.number, &result),
            Err(failure) => return out.fail(id.number, &failure),
            Ok(Begun::Streaming(reply, work)) => {
                out.json(Kind::Reply, id.number, &reply);
                work
            }
            Ok(Begun::Working(work)) => work,
            Ok(Begun::Answered) => return,
        };
        let mut stream = Stream::new(work);
        if let Some(credit) = stream.widen() {
            out.window(id.number, credit);
        }
        self.streams.insert(id, stream);
        self.update_dial_interest(id);
        self.watch_files(id);
    }

    fn try_begin(&mut self, id: StreamId, request: ServeRequest) -> Result<Begun, Failure> {
        match request {
            ServeRequest::Claim { id, env } => self.claim(id, env),
            _ if self.awaits_owner => Err(Failure::invalid("nobody has claimed this sandbox")),
            ServeRequest::Exec(exec) => {
                self.workspace.as_ref().map_or(Ok(()), Workspace::ready)?;
                if exec.points.is_some() && self.can_take_points() {
                    return Ok(Begun::Working(Work::Point(Box::new(Pointing::before(exec)))));
                }
                let process = self.exec(exec)?;
                self.attach(id, process, [0, 0]);
                self.following(process, None)
            }
            ServeRequest::Attach { process, offsets: asked } => {
                let (process, _) = self.processes.named(&process)?;
                let offsets = self.attach(id, process, asked);
                self.following(process, offsets)
            }
            ServeRequest::Processes => {
                let all: Vec<Value> = self
                    .processes
                    .iter()
                    .map(|(number, process)| process.summary(number))
                    .collect();
                Ok(Begun::Done(json!({ "processes": all })))
            }
            ServeRequest::Signal { process, signal } => self.signal(&process, &signal),
            ServeRequest::Resize { process, size } => self.resize(&process, size),
            ServeRequest::Settle => Ok(self.settle(id)),
            ServeRequest::Files(request, asked) => {
                self.refuse_if_settled(&request)?;
                let user = match request {
                    FileRequest::Unpack { as_owner: true, .. } => users::owner(self.identity)?,
                    _ => users::find(asked.as_deref(), self.identity)?,
                };
                files::begin(request, user, self.identity)
            }
            ServeRequest::Lend { agent } => self.lend(id, agent),
            ServeRequest::Capture { below, limits } => self.capture(below, limits),
            ServeRequest::Workspace(request) => workspace::begin(request, self.workspace.as_ref()),
            ServeRequest::Rollback { to, paths } => self.begin_undo(id, to, paths),
            ServeRequest::Extend { ttl_ms } => self.extend(ttl_ms),
            ServeRequest::Dial { port } => {
                Dial::begin(port).map(|dial| Begun::Working(Work::Dial(dial)))
            }
        }
    }

    /// Lets a stream follow a process from the offsets it asks for, or from where what is left
    /// begins. Returns where that is.
    pub fn attach(&mut self, id: StreamId, process: u32, asked: [u64; 2]) -> Option<[u64; 2]> {
        let running = self.processes.get_mut(process)?;
        let mut offsets = asked;
        for (offset, output) in offsets.iter_mut().zip(&running.outputs) {
            *offset = (*offset).clamp(output.ring.oldest(), output.ring.total());
        }
        running.readers.insert(id, offsets);
        Some(offsets)
    }

    pub fn following(&self, process: u32, offsets: Option<[u64; 2]>) -> Result<Begun, Failure> {
        let pid = self.processes.get(process).map(|running| running.pid);
        let mut reply = json!({"process": Process::name(process), "pid": pid});
        if let Some([stdout, stderr]) = offsets {
            reply["stdout"] = json!(stdout);
            reply["stderr"] = json!(stderr);
        }
        Ok(Begun::Streaming(reply, Work::Attached { process }))
    }

    /// Once, and only where it was made ahead.
    fn claim(&mut self, id: String, env: Dictionary) -> Result<Begun, Failure> {
        if !self.awaits_owner {
            return Err(Failure::invalid("this sandbox has its owner"));
        }
        environment::check(&env)?;
        self.id = id;
        self.environment = env;
        self.awaits_owner = false;
        Ok(Begun::Done(json!({})))
    }

    /// Only for who keeps its own time; in a sandbox of hold's, hold does.
    fn extend(&mut self, ttl_ms: u64) -> Result<Begun, Failure> {
        if self.ends_at.is_none() {
            return Err(Failure::invalid("this sandbox's time is kept by hold"));
        }
        self.ends_at = Instant::now().checked_add(Duration::from_millis(ttl_ms));
        Ok(Begun::Done(json!({})))
    }

    fn signal(&mut self, name: &str, signal_name: &str) -> Result<Begun, Failure> {
        let signal = signal::number(signal_name)
            .ok_or_else(|| Failure::invalid(format!("no signal {signal_name:?}")))?;
        let (_, running) = self.processes.running(name)?;
        process::signal_group(running.pid, signal)
            .map_err(|error| Failure::about_path(name, &error))?;
        Ok(Begun::Done(json!({})))
    }

    fn resize(&mut self, name: &str, size: Size) -> Result<Begun, Failure> {
        let (_, running) = self.processes.running(name)?;
        match &running.outputs[0].source {
            Some(terminal) if running.has_terminal => {
                tty::resize(terminal, size.cols, size.rows)
                    .map_err(|error| Failure::internal("resize", error))?
            }
            _ => return Err(Failure::invalid(format!("process {name:?} has no terminal"))),
        }
        Ok(Begun::Done(json!({})))
    }
}
