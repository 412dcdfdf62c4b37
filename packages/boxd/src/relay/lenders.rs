//! Getting hold of ways out, and giving them back.

use super::Relay;
use super::place::Place;
use super::source::Source;
use crate::sys::{epoll, time};
use serde_json::json;

impl Relay {
    pub fn borrow(&mut self, sandbox: String, socket: &str, agent: bool) {
        self.leave(&sandbox);
        let first_address = (time::since_boot_ms() as u16).wrapping_mul(40_503);
        match Place::ask(sandbox.clone(), socket, agent, first_address) {
            Ok(place) => {
                self.last_place = self.last_place.wrapping_add(1);
                let token = Source::Lender(self.last_place).token();
                if self.epoll.add(&place.lender, epoll::READABLE, token).is_ok() {
                    self.places.insert(self.last_place, place);
                }
            }
            Err(error) => self
                .reports
                .say(&json!({"event": "lost", "sandbox": sandbox, "reason": error.to_string()})),
        }
    }

    pub fn leave(&mut self, sandbox: &str) {
        let found = self.places.iter().find(|(_, place)| place.sandbox == sandbox);
        if let Some((&number, _)) = found {
            self.forget(number);
        }
    }

    pub fn hear_lender(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(&number) else {
            return;
        };
        let reason = match place.hear() {
            Ok(false) => return,
            Ok(true) => {
                let here = Source::Place(number).token();
                let is_open = place.open(number);
                if is_open.and_then(|()| self.epoll.add_other(&place.waits, here)).is_ok() {
                    self.reports.say(&json!({"event": "watching", "sandbox": place.sandbox}));
                    return;
                }
                "too many descriptors".to_string()
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            Err(error) => error.to_string(),
        };
        let sandbox = place.sandbox.clone();
        self.forget(number);
        self.reports.say(&json!({"event": "lost", "sandbox": sandbox, "reason": reason}));
    }

    fn forget(&mut self, number: u32) {
        // With it goes what waits for its sockets: these are also the sandbox's and live on.
        let Some(place) = self.places.remove(&number) else {
            return;
        };
        place.newcomers.reset_all();
        self.looking.remove(&number);
        self.unanswered.retain(|_, from| *from != number);
        let its: Vec<u32> = self
            .tunnels
            .iter()
            .filter(|(_, tunnel)| tunnel.place == number)
            .map(|(&number, _)| number)
            .collect();
        for tunnel in its {
            self.close(tunnel);
        }
        self.purses.drop_of(&place.sandbox);
    }
}
