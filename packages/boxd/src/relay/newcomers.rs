//! Connections about which nothing has been asked yet: whose are they? One look answers that for all
//! who wait for it.

use super::Relay;
use super::caller::Caller;
use super::look::Look;
use super::newcomer::Newcomer;
use super::tunnel::Tunnel;
use crate::sys::network;

/// Connections of one sandbox at a time; one more is refused, so that others have theirs.
pub const MOST_TUNNELS: usize = 2048;
/// Taken at a time, before anybody else has a turn.
const WELCOMED: usize = 8;

/// Those for whom one look is taken; without one where nobody's files can be seen.
type Party = (Option<Look>, Vec<Newcomer>);

/// Those of one sandbox.
#[derive(Default)]
pub struct Newcomers {
    /// For whom the next look is taken.
    waiting: Vec<Newcomer>,
    looked_for: Option<Party>,
}

impl Newcomers {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.looked_for.is_none()
    }

    /// One step; when it was the last, those who are known by it.
    fn look_on(&mut self, caller: &Caller) -> Option<Party> {
        let (mut look, those) = self.looked_for.take().unwrap_or_else(|| {
            let those = std::mem::take(&mut self.waiting);
            let sockets = those.iter().filter_map(|one| Some(one.owner.as_ref()?.inode));
            (caller.begin_look(sockets), those)
        });
        if look.as_mut().is_none_or(Look::step) {
            return Some((look, those));
        }
        self.looked_for = Some((look, those));
        None
    }

    pub fn reset_all(&self) {
        let looked_for = self.looked_for.iter().flat_map(|(_, those)| those);
        for newcomer in self.waiting.iter().chain(looked_for) {
            network::reset_on_close(&newcomer.inner);
        }
    }
}

impl Relay {
    pub fn welcome(&mut self, number: u32) {
        for _ in 0..WELCOMED {
            let Some(place) = self.places.get_mut(&number).filter(|place| !place.is_full()) else {
                return;
            };
            if place.tunnels >= MOST_TUNNELS {
                return place.turn_away_some();
            }
            let accepted = place.listener.as_ref().map(|listener| listener.accept());
            let Some(Ok((socket, peer))) = accepted else {
                return;
            };
            match Newcomer::meet(place, socket, peer) {
                Ok(newcomer) => {
                    place.tunnels += 1;
                    place.count_asking(number, true);
                    place.newcomers.waiting.push(newcomer);
                    self.looking.insert(number);
                }
                Err(Some(stray)) => self.reports.say(&stray),
                Err(None) => {}
            }
        }
    }

    /// A step for every sandbox that has newcomers.
    pub fn look_on(&mut self) {
        for number in self.looking.iter().copied().collect::<Vec<_>>() {
            let Some(place) = self.places.get_mut(&number) else {
                self.looking.remove(&number);
                continue;
            };
            let party = place.newcomers.look_on(&place.caller);
            if place.newcomers.is_empty() {
                self.looking.remove(&number);
            }
            let (look, those) = party.unwrap_or_default();
            for newcomer in those {
                let inode = newcomer.owner.as_ref().map(|owner| owner.inode);
                let seen = inode.zip(look.as_ref());
                let program = seen.and_then(|(inode, look)| look.program_with(inode));
                self.admit(number, newcomer, program);
            }
        }
    }

    fn admit(&mut self, number: u32, newcomer: Newcomer, program: Option<String>) {
        let Newcomer { inner, owner, host, port, via } = newcomer;
        if let Some(place) = self.places.get_mut(&number) {
            place.count_asking(number, false);
        }
        self.last_tunnel = self.last_tunnel.wrapping_add(1);
        let tunnel = self.last_tunnel;
        let uid = owner.map(|one| one.uid);
        self.tunnels.insert(tunnel, Tunnel::new(number, uid, program, inner, via));
        if let Some(host) = host {
            self.ask(tunnel, &host, port);
        }
        self.watch(tunnel);
    }
}
