//! The sandboxes that live.

use super::client::Client;
use super::pause::Freezing;
use super::record::Record;
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;
use std::time::Instant;

pub struct Sandbox {
    pub record: Record,
    pub pidfd: OwnedFd,
    pub starting: Option<Starting>,
    pub ending: Option<Ending>,
    pub is_paused: bool,
    pub freezing: Option<Freezing>,
    /// Kept so that the sandbox does not have to unmount it while somebody waits for its end.
    /// One that was adopted has nobody who does that for it.
    pub disk: Option<OwnedFd>,
    /// As it was kept, where it was started again.
    pub before: Option<Record>,
}

impl Sandbox {
    /// What the wire tells about it.
    pub fn summary(&self) -> Value {
        let mut summary = self.record.summary();
        summary["paused"] = json!(self.is_paused || self.record.is_read);
        summary
    }
}

/// A sandbox that has not said yet whether it works.
pub struct Starting {
    pub from_child: OwnedFd,
    /// Who asked for it; it gets the connection back if the sandbox fails.
    pub client: Client,
    pub stream: u32,
    pub failure: Option<Failure>,
}

/// A sandbox that has been told to end.
pub struct Ending {
    pub kill_at: Option<Instant>,
    /// Who waits for that: (client, stream).
    pub waiting: Vec<(u32, u32)>,
    /// Its disk stays, where it has one that can.
    pub keeps: bool,
    /// Its mounts, so that it does not have to unmount them while somebody waits for its end.
    pub mounts: Option<OwnedFd>,
}

impl Ending {
    pub fn that_keeps() -> Ending {
        Ending { kill_at: None, waiting: Vec::new(), keeps: true, mounts: None }
    }
}

#[derive(Default)]
pub struct Registry {
    sandboxes: BTreeMap<u32, Sandbox>,
    last_number: u32,
}

impl Registry {
    /// The number by which the event loop knows it.
    pub fn insert(&mut self, sandbox: Sandbox) -> u32 {
        self.last_number = self.last_number.wrapping_add(1);
        self.sandboxes.insert(self.last_number, sandbox);
        self.last_number
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Sandbox> {
        self.sandboxes.get_mut(&number)
    }

    pub fn remove(&mut self, number: u32) -> Option<Sandbox> {
        self.sandboxes.remove(&number)
    }

    pub fn by_id(&mut self, id: &str) -> Option<(u32, &mut Sandbox)> {
        self.sandboxes
            .iter_mut()
            .find(|(_, sandbox)| sandbox.record.id == id)
            .map(|(number, sandbox)| (*number, sandbox))
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Sandbox)> {
        self.sandboxes.iter().map(|(number, sandbox)| (*number, sandbox))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sandbox> {
        self.sandboxes.values_mut()
    }

    pub fn len(&self) -> usize {
        self.sandboxes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sandboxes.is_empty()
    }

    pub fn uid_bases(&self) -> HashSet<u32> {
        self.sandboxes.values().filter_map(|sandbox| sandbox.record.uid_base).collect()
    }
}
