//! Who comes to hold, and for how long it listens to them.

use super::client::Client;
use super::source::Source;
use super::watch::Hold;
use crate::sys::epoll;
use crate::wire::failure::Failure;
use std::io;

impl Hold {
    pub fn welcome(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            if let Ok(client) = Client::new(socket) {
                self.watch_client(client);
            }
        }
    }

    fn watch_client(&mut self, client: Client) -> u32 {
        self.last_client = self.last_client.wrapping_add(1);
        let number = self.last_client;
        let token = Source::Client(number).token();
        if self.epoll.add(&client.socket, epoll::READABLE, token).is_ok() {
            self.clients.insert(number, client);
        }
        number
    }

    pub fn hear_client(&mut self, number: u32, readable: bool) {
        if let (Some(client), true) = (self.clients.get_mut(&number), readable) {
            match client.inbound.fill(&client.socket) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => {
                    self.clients.remove(&number);
                }
            }
        }
        self.answer_requests(number);
    }

    /// Puts a client back, listening to it only when it can be answered.
    pub fn keep_client(&mut self, number: u32, mut client: Client) {
        client.inbound.rest();
        client.outbound.rest();
        let wanted = match (client.outbound.is_empty(), client.is_busy) {
            (false, _) => epoll::WRITABLE,
            (true, true) => 0,
            (true, false) => epoll::READABLE,
        };
        if self.epoll.modify(&client.socket, wanted, Source::Client(number).token()).is_ok() {
            self.clients.insert(number, client);
        }
    }

    /// A client whose sandbox did not come to life goes on as before.
    pub fn give_back(&mut self, mut client: Client, stream: u32, failure: &Failure) {
        client.outbound.fail(stream, failure);
        client.is_busy = false;
        let number = self.watch_client(client);
        self.answer_requests(number);
    }

    pub fn answer(&mut self, number: u32, answer: impl FnOnce(&mut Client)) {
        if let Some(client) = self.clients.get_mut(&number) {
            answer(client);
            self.answer_requests(number);
        }
    }
}
