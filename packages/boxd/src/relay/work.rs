//! What the relay does for sandboxes and tunnels.

use super::Relay;
use super::orders::Verdict;
use super::proxy::Proxy;
use super::tunnel::{LEFT, Next, Stage, Tunnel};
use super::vessels::Vessels;
use crate::sys::epoll::{Epoll, Event};
use crate::sys::unix_socket;
use serde_json::json;
use std::net::Ipv4Addr;
use std::time::Instant;

impl Relay {
    pub fn ask(&mut self, number: u32, host: &str, port: u16) {
        let Some(tunnel) = self.tunnels.get_mut(&number) else {
            return;
        };
        let Some(place) = self.places.get_mut(&tunnel.place) else {
            return;
        };
        tunnel.is_asking = true;
        place.count_asking(tunnel.place, true);
        let via = tunnel.via.map_or("name", Proxy::name);
        // Who asks a proxy for an address it got from us means the name.
        let named = host.parse().ok().and_then(|address: Ipv4Addr| place.names.name_of(address));
        let host = named.unwrap_or(host);
        self.reports.say(&json!({
            "event": "open", "tunnel": number, "sandbox": place.sandbox,
            "host": host, "port": port, "via": via, "uid": tunnel.uid.map_or(-1, i64::from),
            "program": tunnel.program,
        }));
    }

    pub fn decide(&mut self, number: u32, verdict: Verdict) {
        self.stop_asking(number);
        let Some(tunnel) = self.tunnels.get_mut(&number) else {
            return;
        };
        let Some(place) = self.places.get(&tunnel.place) else {
            return;
        };
        if !matches!(tunnel.stage, Stage::Asking) {
            return;
        }
        let next = match verdict {
            Verdict::Refuse { reason } => {
                tunnel.turn_away(&reason);
                Next::End("refused")
            }
            Verdict::Dial { targets, tls } => tunnel.metered(&mut self.purses, |tunnel| {
                tunnel.admit(&place.waits, number, targets, tls, &mut self.vessels)
            }),
            Verdict::Inspect => match unix_socket::connect(&self.inspector) {
                Ok(guard) => tunnel.metered(&mut self.purses, |tunnel| {
                    tunnel.hand_over(number, guard, &mut self.vessels)
                }),
                Err(_) => {
                    tunnel.turn_away("the guard is busy");
                    Next::End("the guard is busy")
                }
            },
        };
        self.go_on(number, next);
    }

    pub fn on_tunnel(
        &mut self,
        number: u32,
        event: &Event,
        act: impl FnOnce(&mut Tunnel, &Epoll, u32, &Event, &mut Vessels) -> Next,
    ) {
        if let Some(tunnel) = self.tunnels.get_mut(&number)
            && let Some(place) = self.places.get(&tunnel.place)
        {
            let next = tunnel.metered(&mut self.purses, |tunnel| {
                act(tunnel, &place.waits, number, event, &mut self.vessels)
            });
            self.go_on(number, next);
        }
    }

    fn go_on(&mut self, number: u32, next: Next) {
        match next {
            Next::Nothing => self.watch(number),
            Next::Ask { host, port } => {
                self.ask(number, &host, port);
                self.watch(number);
            }
            Next::AskAboutRequests => {
                self.ask(number, "", 0);
                self.watch(number);
            }
            Next::End(reason) => self.end(number, reason),
        }
    }

    pub fn watch(&mut self, number: u32) {
        if let Some(tunnel) = self.tunnels.get_mut(&number)
            && let Some(place) = self.places.get(&tunnel.place)
        {
            tunnel.watch(&place.waits, number);
            if tunnel.deadline != tunnel.known_deadline {
                self.deadlines.change(number, tunnel.known_deadline, tunnel.deadline);
                tunnel.known_deadline = tunnel.deadline;
            }
        }
    }

    /// The guard has spoken, or somebody else is asked.
    fn stop_asking(&mut self, number: u32) {
        let asking = self.tunnels.get_mut(&number).filter(|tunnel| tunnel.is_asking);
        let from = match asking {
            Some(tunnel) => {
                tunnel.is_asking = false;
                Some(tunnel.place)
            }
            None => self.unanswered.remove(&number),
        };
        if let Some(number) = from
            && let Some(place) = self.places.get_mut(&number)
        {
            place.count_asking(number, false);
        }
    }

    pub fn hold(&mut self, number: u32) {
        self.stop_asking(number);
        if let Some(tunnel) = self.tunnels.get_mut(&number)
            && matches!(tunnel.stage, Stage::Asking)
        {
            tunnel.is_held = true;
            self.watch(number);
        }
    }

    pub fn close(&mut self, number: u32) {
        if let Some(tunnel) = self.tunnels.get(&number) {
            tunnel.reset();
            self.end(number, "closed");
        }
    }

    pub fn charge(&mut self, number: u32, purses: Vec<String>) {
        if let Some(tunnel) = self.tunnels.get_mut(&number) {
            tunnel.purses = purses;
        }
    }

    /// Before the guard hears that a tunnel is over, so that it decides about the next with that in mind.
    pub fn tell_of_purses(&mut self) {
        for news in self.purses.news() {
            self.reports.say(&news);
        }
    }

    fn end(&mut self, number: u32, reason: &str) {
        let Some(tunnel) = self.tunnels.remove(&number) else {
            return;
        };
        self.deadlines.change(number, tunnel.known_deadline, None);
        if let Some(place) = self.places.get_mut(&tunnel.place) {
            place.tunnels -= 1;
            if tunnel.is_asking {
                self.unanswered.insert(number, tunnel.place);
            }
            if let Stage::Proxied(proxy) = tunnel.stage
                && reason != LEFT
            {
                self.reports.say(&json!({
                    "event": "unclear", "sandbox": place.sandbox, "via": proxy.name(),
                    "port": proxy.port(), "reason": reason,
                }));
            }
        }
        if reason != "done" {
            tunnel.reset_unless_told();
        }
        // Broken off or not: the far side may have said its last word before, and then a reset frees no port.
        if let Some(target) = tunnel.target.filter(|_| tunnel.left_first) {
            self.vessels.shares.keep(tunnel.place, target, Instant::now());
        }
        if self.purses.has_news {
            self.tell_of_purses();
        }
        self.reports.say(&json!({
            "event": "over", "tunnel": number, "reason": reason,
            "up": tunnel.up.total, "down": tunnel.down.total,
        }));
    }

    pub fn end_what_is_due(&mut self) {
        let now = Instant::now();
        while let Some(number) = self.deadlines.due(now) {
            self.end(number, "too slow");
        }
    }
}
