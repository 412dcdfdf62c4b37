//! What a program says before its connection leads anywhere: to a proxy, or in its TLS greeting.

use super::greeting::{self, Greeting};
use super::proxy::{Proxy, Step};
use super::tunnel::{LEFT, Next, Stage, Tunnel};
use super::vessels::Vessels;
use crate::sys::descriptor;
use crate::sys::epoll::Epoll;
use std::io;

impl Tunnel {
    pub fn read_words(&mut self, epoll: &Epoll, number: u32, vessels: &mut Vessels) -> Next {
        match descriptor::read(&self.inner, &mut vessels.buffer) {
            Ok(0) => return Next::End(LEFT),
            Ok(count) => self.up.waiting.extend_from_slice(&vessels.buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Next::Nothing,
            Err(_) => return Next::End(LEFT),
        }
        if self.up.waiting.len() > greeting::MOST {
            return Next::End("too many words");
        }
        match &self.stage {
            Stage::Greeting { .. } => self.check_greeting(epoll, number, vessels),
            Stage::Proxied(proxy) => self.take_step(*proxy),
            _ => Next::Nothing,
        }
    }

    fn take_step(&mut self, proxy: Proxy) -> Next {
        match proxy.read(&self.up.waiting) {
            Step::More => Next::Nothing,
            Step::Greet(words, length) => {
                self.up.waiting.drain(..length);
                let next = Proxy::Socks { has_greeted: true };
                self.stage = Stage::Proxied(next);
                match descriptor::write(&self.inner, words) {
                    Ok(_) if self.up.waiting.is_empty() => Next::Nothing,
                    Ok(_) => self.take_step(next),
                    Err(_) => Next::End(LEFT),
                }
            }
            Step::Wanted { host, port } => {
                self.up.waiting.clear();
                self.wait_for_verdict();
                Next::Ask { host, port }
            }
            Step::Request => {
                self.wait_for_verdict();
                Next::AskAboutRequests
            }
            Step::Bad(words) => {
                let _ = descriptor::write(&self.inner, words);
                Next::End("not a proxy's language")
            }
        }
    }

    fn wait_for_verdict(&mut self) {
        self.deadline = None;
        self.stage = Stage::Asking;
    }

    fn check_greeting(&mut self, epoll: &Epoll, number: u32, vessels: &mut Vessels) -> Next {
        let Stage::Greeting { name, targets } = &mut self.stage else {
            return Next::Nothing;
        };
        match greeting::read(&self.up.waiting) {
            Greeting::Partial => Next::Nothing,
            Greeting::Refused(reason) => Next::End(reason),
            Greeting::Name(said) if said != *name => Next::End("TLS is for another name"),
            Greeting::Name(_) => {
                let targets = std::mem::take(targets);
                self.up.total = self.up.waiting.len() as u64;
                self.dial(epoll, number, targets, vessels)
            }
        }
    }
}
