//! One process that a client has started.

use super::input::Input;
use super::output::{KEPT, Ring};
use super::stream::StreamId;
use crate::sys::process::Exit;
use crate::sys::signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Instant;

#[derive(Default)]
pub struct Output {
    /// None once everything that will be told has been read.
    pub source: Option<OwnedFd>,
    pub ring: Ring,
    pub is_watched: bool,
    /// After the process's end: how many of its bytes are still in the pipe.
    pub left: Option<usize>,
}

pub struct Process {
    pub pid: i32,
    pub argv: Vec<String>,
    /// Whose it is to the client; kept and told, never acted upon.
    pub attachment: Option<String>,
    pub started_at_ms: u64,
    pub outputs: [Output; 2],
    pub input: Input,
    pub has_terminal: bool,
    /// When it is killed.
    pub deadline: Option<Instant>,
    pub is_timed_out: bool,
    pub exit: Option<Exit>,
    /// Until when a terminal may still deliver what was written before the end.
    pub linger: Option<Instant>,
    /// How far each attached stream has come, per channel.
    pub readers: BTreeMap<StreamId, [u64; 2]>,
}

impl Process {
    pub fn name(number: u32) -> String {
        format!("p{number}")
    }

    pub fn number(name: &str) -> Option<u32> {
        let digits = name.strip_prefix('p')?;
        let number = digits.parse().ok()?;
        (Process::name(number) == name).then_some(number)
    }

    /// How much may be read from the process now. Whoever follows it must get every byte, so
    /// the slowest holds it up; with nobody there, the oldest bytes give way.
    pub fn room(&self, channel: usize) -> usize {
        let total = self.outputs[channel].ring.total();
        let slowest = self.readers.values().map(|offsets| offsets[channel]).min();
        slowest.map_or(KEPT, |offset| KEPT.saturating_sub((total - offset) as usize))
    }

    /// It has ended, and all it wrote is in the rings.
    pub fn is_over(&self) -> bool {
        self.exit.is_some() && self.outputs.iter().all(|output| output.source.is_none())
    }

    pub fn exit_json(&self) -> Option<Value> {
        let exit = self.exit?;
        Some(match exit {
            _ if self.is_timed_out => json!({"kind": "timeout"}),
            Exit::Code(code) => json!({"kind": "exited", "code": code}),
            Exit::Signal(number) => json!({"kind": "signalled", "signal": signal::name(number)}),
        })
    }

    pub fn end_json(&self) -> Value {
        json!({
            "exit": self.exit_json(),
            "stdout": self.outputs[0].ring.total(),
            "stderr": self.outputs[1].ring.total(),
        })
    }

    pub fn summary(&self, number: u32) -> Value {
        let mut summary = json!({
            "process": Process::name(number),
            "pid": self.pid,
            "argv": self.argv,
            "startedAtMs": self.started_at_ms,
            "pty": self.has_terminal,
            "stdout": self.outputs[0].ring.total(),
            "stderr": self.outputs[1].ring.total(),
        });
        if let Some(attachment) = &self.attachment {
            summary["attachment"] = json!(attachment);
        }
        if let Some(exit) = self.exit_json() {
            summary["exit"] = exit;
        }
        summary
    }
}
