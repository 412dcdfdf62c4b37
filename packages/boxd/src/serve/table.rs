//! All processes that clients have started, and the last that have ended.

use super::process::Process;
use crate::wire::failure::{Code, Failure};
use std::collections::{BTreeMap, VecDeque};

/// How many that have ended can still be attached to.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub struct Table {
    processes: BTreeMap<u32, Process>,
    last_number: u32,
    ended: VecDeque<u32>,
}

impl Table {
    pub fn insert(&mut self, process: Process) -> u32 {
        self.last_number += 1;
        self.processes.insert(self.last_number, process);
        self.last_number
    }

    pub fn get(&self, number: u32) -> Option<&Process> {
        self.processes.get(&number)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Process> {
        self.processes.get_mut(&number)
    }

    pub fn named(&mut self, name: &str) -> Result<(u32, &mut Process), Failure> {
        Process::number(name)
            .and_then(|number| self.processes.get_mut(&number).map(|process| (number, process)))
            .ok_or_else(|| Failure::new(Code::NotFound, format!("no process {name:?}")))
    }

    /// One that still runs, for what only the living can be asked.
    pub fn running(&mut self, name: &str) -> Result<(u32, &mut Process), Failure> {
        let (number, process) = self.named(name)?;
        if process.exit.is_some() {
            return Err(Failure::new(Code::NotFound, format!("process {name:?} has ended")));
        }
        Ok((number, process))
    }

    pub fn with_pid(&self, pid: i32) -> Option<u32> {
        self.iter()
            .find(|(_, process)| process.pid == pid && process.exit.is_none())
            .map(|(number, _)| number)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.processes.iter().map(|(number, process)| (*number, process))
    }

    /// Remembers it, and forgets the oldest for it.
    pub fn has_ended(&mut self, number: u32) {
        self.ended.push_back(number);
        while self.ended.len() > REMEMBERED {
            // One that somebody still reads is forgotten later.
            let unread = self.ended.iter().position(|number| {
                self.processes.get(number).is_none_or(|process| process.readers.is_empty())
            });
            let Some(oldest) = unread.and_then(|position| self.ended.remove(position)) else {
                return;
            };
            self.processes.remove(&oldest);
        }
    }
}
