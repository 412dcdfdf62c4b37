//! A tunnel that leads somewhere, and its bytes.

use super::flow::Flow;
use super::source::Source;
use super::tunnel::{Next, PATIENCE, Stage, Tunnel};
use super::vessels::Vessels;
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::network;
use std::net::SocketAddr;
use std::time::Instant;

/// Which directions have bytes to take, and which have room for those that wait.
#[derive(Clone, Copy)]
pub struct Ready {
    up_comes: bool,
    up_fits: bool,
    down_comes: bool,
    down_fits: bool,
}

impl Ready {
    const NOTHING: Ready =
        Ready { up_comes: false, up_fits: false, down_comes: false, down_fits: false };
    pub const TO_READ: Ready = Ready { up_comes: true, down_comes: true, ..Ready::NOTHING };

    pub fn inner(event: &Event) -> Ready {
        Ready { up_comes: event.readable, down_fits: event.writable, ..Ready::NOTHING }
    }

    pub fn outer(event: &Event) -> Ready {
        Ready { down_comes: event.readable, up_fits: event.writable, ..Ready::NOTHING }
    }
}

impl Tunnel {
    pub fn dial(
        &mut self,
        epoll: &Epoll,
        number: u32,
        mut targets: Vec<SocketAddr>,
        vessels: &mut Vessels,
    ) -> Next {
        if let Some(outer) = self.outer.take() {
            self.interest[1] = 0;
            epoll.remove(&outer);
        }
        self.deadline = Some(Instant::now() + PATIENCE);
        let mut reason = "the host does not answer";
        while !targets.is_empty() {
            let target = targets.remove(0);
            let all = vessels.ports.count();
            if !vessels.shares.has_more(self.place, target, all, Instant::now()) {
                reason = "too many connections there within a minute";
                continue;
            }
            if let Ok(socket) = vessels.ports.begin_connect(target) {
                self.target = Some(target);
                network::send_at_once(&socket);
                self.outer = Some(socket);
                self.stage = Stage::Dialling { targets };
                self.watch(epoll, number);
                return Next::Nothing;
            }
        }
        Next::End(reason)
    }

    /// Moves what the kernel says can be moved: asking it for more costs as much as moving.
    pub fn relay(&mut self, ready: Ready, vessels: &mut Vessels) -> Next {
        let Some(outer) = &self.outer else {
            return Next::Nothing;
        };
        let mut moved = Ok(());
        if ready.up_comes {
            moved = self.up.carry(&self.inner, outer, vessels);
        } else if ready.up_fits {
            moved = self.up.drain(outer, vessels);
        }
        if ready.down_comes {
            moved = moved.and_then(|()| self.down.carry(outer, &self.inner, vessels));
        } else if ready.down_fits {
            moved = moved.and_then(|()| self.down.drain(&self.inner, vessels));
        }
        // Who says first that nothing more comes keeps the port.
        self.left_first |= self.up.is_over() && !self.down.is_source_over;
        match moved {
            Ok(()) if self.up.is_spent || self.down.is_spent => Next::End("its budget is spent"),
            Ok(()) if self.up.is_over() && self.down.is_over() => Next::End("done"),
            Ok(()) => Next::Nothing,
            Err(_) => {
                self.reset();
                Next::End("broken off")
            }
        }
    }

    /// Waits for exactly what can be acted on.
    pub fn watch(&mut self, epoll: &Epoll, number: u32) {
        let (reads, writes) = (epoll::READABLE, epoll::WRITABLE);
        let flow = |flow: &Flow| if flow.wants_to_read() { reads } else { 0 };
        let room = |flow: &Flow| if flow.wants_to_write() { writes } else { 0 };
        let wanted = match &self.stage {
            Stage::Proxied(_) | Stage::Greeting { .. } => [reads, 0],
            Stage::Asking if self.is_held => [epoll::LEAVING, 0],
            Stage::Asking => [0, 0],
            Stage::Dialling { .. } => [0, writes],
            Stage::Open => [flow(&self.up) | room(&self.down), flow(&self.down) | room(&self.up)],
        };
        let sides = [Some(&self.inner), self.outer.as_ref()];
        let tokens = [Source::Inner(number).token(), Source::Outer(number).token()];
        for side in 0..2 {
            let Some(socket) = sides[side] else {
                continue;
            };
            // Watched from the first time on: an end is always heard.
            const WATCHED: u32 = 1 << 31;
            let wish = wanted[side] | WATCHED;
            let changed = match self.interest[side] {
                before if before == wish => Ok(()),
                0 => epoll.add(socket, wanted[side], tokens[side]),
                _ => epoll.modify(socket, wanted[side], tokens[side]),
            };
            if changed.is_ok() {
                self.interest[side] = wish;
            }
        }
    }
}
