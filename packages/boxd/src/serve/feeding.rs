//! Passing on what clients send: to processes as fast as they read, and credit back to the
//! clients as fast as they do.

use super::Server;
use super::input::Digested;
use super::source::Source;
use crate::sys::epoll;

impl Server {
    pub fn give_credit(&mut self, digested: Digested) {
        for (id, length) in digested {
            let credit = self.streams.get_mut(&id).and_then(|stream| stream.digested(length));
            if let (Some(credit), Some(out)) = (credit, self.connections.outbound(id)) {
                out.window(id.number, credit);
            }
        }
    }

    /// A process can take input again.
    pub fn feed(&mut self, process: u32) {
        if let Some(running) = self.processes.get_mut(process) {
            let digested = running.input.advance();
            self.give_credit(digested);
            self.update_input_interest(process);
        }
    }

    /// Waits for a process's input exactly as long as something waits for it.
    pub fn update_input_interest(&mut self, process: u32) {
        let Some(running) = self.processes.get_mut(process) else {
            return;
        };
        let input = &mut running.input;
        let wanted = input.is_waiting() && !input.is_finished();
        if let Some(target) = &input.target
            && wanted != input.is_watched
        {
            if wanted {
                let token = Source::Input { process }.token();
                input.is_watched = self.epoll.add(target, epoll::WRITABLE, token).is_ok();
            } else {
                self.epoll.remove(target);
                input.is_watched = false;
            }
        }
        if input.is_finished() {
            // Closing it is how the program learns.
            input.target = None;
        }
    }
}
