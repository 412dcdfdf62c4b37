//! The ends of processes: children, orphans, and time that is up.

use super::Server;
use super::family;
use super::source::Source;
use crate::sys::process::{self, Exit, Reaped};
use crate::sys::{descriptor, epoll};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a terminal may hold back what was written to it before the end.
const TERMINAL_LINGER: Duration = Duration::from_millis(200);

impl Server {
    /// Reaps whatever has died, ours or orphaned.
    pub fn reap(&mut self) {
        self.is_alone = false;
        loop {
            match process::reap_any() {
                Reaped::One(pid, exit) => self.note_exit(pid, exit),
                Reaped::NoneYet => return,
                Reaped::NoChildren => {
                    self.is_alone = true;
                    return;
                }
            }
        }
    }

    fn note_exit(&mut self, pid: i32, exit: Exit) {
        let Some(number) = self.processes.with_pid(pid) else {
            return self.tell_caller(pid, exit);
        };
        let Some(process) = self.processes.get_mut(number) else {
            return;
        };
        process.exit = Some(exit);
        process.deadline = None;
        process.input.give_up();
        if process.has_terminal {
            process.linger = Some(Instant::now() + TERMINAL_LINGER);
        } else {
            for output in &mut process.outputs {
                // What others write into the pipe from now on is not this process's word.
                let waiting = output.source.as_ref().map(descriptor::bytes_waiting);
                output.left = waiting.map(|waiting| waiting.unwrap_or(0));
            }
        }
        self.update_input_interest(number);
        for channel in 0..2 {
            self.read_output(number, channel);
        }
        self.processes.has_ended(number);
    }

    /// Moves what a process has written into its ring, as far as there is room.
    pub fn read_output(&mut self, number: u32, channel: usize) {
        loop {
            let Some(process) = self.processes.get_mut(number) else {
                return;
            };
            let room = process.room(channel);
            let (has_ended, has_terminal) = (process.exit.is_some(), process.has_terminal);
            let output = &mut process.outputs[channel];
            let Some(source) = &output.source else {
                return;
            };
            if room == 0 {
                break;
            }
            match descriptor::read(source, self.scratch.room(room)) {
                Ok(count @ 1..) => {
                    output.ring.push(self.scratch.used(count));
                    match &mut output.left {
                        Some(left) if *left > count => *left -= count,
                        Some(_) => return self.leave_to_orphans(number, channel),
                        None if has_ended => {}
                        // A running process gets its next turn with the next event.
                        None => break,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if has_ended && !has_terminal {
                        return self.leave_to_orphans(number, channel);
                    }
                    break;
                }
                // The end of a pipe, or EIO from a terminal nobody has open any more.
                _ => {
                    self.close_output(number, channel);
                    return;
                }
            }
        }
        self.update_output_interest(number);
    }

    fn close_output(&mut self, number: u32, channel: usize) -> Option<OwnedFd> {
        let process = self.processes.get_mut(number)?;
        let output = &mut process.outputs[channel];
        let source = output.source.take()?;
        // A terminal has a second descriptor for its input, so closing one is not enough for
        // the kernel to stop reporting it.
        if std::mem::take(&mut output.is_watched) {
            self.epoll.remove(&source);
        }
        Some(source)
    }

    /// The process is over but somebody it left behind may hold its pipe. Those must neither
    /// hold up the end nor die of writing, so what they write goes nowhere.
    fn leave_to_orphans(&mut self, number: u32, channel: usize) {
        let Some(source) = self.close_output(number, channel) else {
            return;
        };
        self.last_leftover = self.last_leftover.wrapping_add(1);
        let token = Source::Leftover(self.last_leftover).token();
        if self.epoll.add(&source, epoll::READABLE, token).is_ok() {
            self.leftovers.insert(self.last_leftover, source);
        }
    }

    pub fn drain_leftover(&mut self, number: u32) {
        let Some(source) = self.leftovers.get(&number) else {
            return;
        };
        match descriptor::read(source, self.scratch.room(usize::MAX)) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => {
                self.leftovers.remove(&number);
            }
        }
    }

    /// Kills whose time is up, with all that they have started.
    pub fn end_what_is_due(&mut self) {
        let now = Instant::now();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if is_due(self.ends_at) {
            process::exit_now(0);
        }
        let overdue: Vec<u32> = self
            .processes
            .iter()
            .filter(|(_, process)| is_due(process.deadline) || is_due(process.linger))
            .map(|(number, _)| number)
            .collect();
        for number in overdue {
            let Some(process) = self.processes.get_mut(number) else {
                continue;
            };
            if is_due(process.deadline) {
                process.deadline = None;
                process.is_timed_out = true;
                // Not reaped yet, so the number is still its own.
                family::kill(process.pid);
                let _ = process::signal_group(process.pid, libc::SIGKILL);
            }
            if is_due(process.linger) {
                process.linger = None;
                self.close_output(number, 0);
            }
        }
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.processes
            .iter()
            .flat_map(|(_, process)| [process.deadline, process.linger])
            .chain([self.ends_at])
            .flatten()
            .min()
    }
}
