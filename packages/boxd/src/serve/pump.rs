//! Moving every stream on by one slice, so that none starves the others.

use super::Server;
use super::source::Source;
use super::stream::{Progress, Stream, StreamId, Work};
use crate::sys::{epoll, process};
use crate::wire::MOST_DATA;
use crate::wire::failure::Failure;
use serde_json::Value;

impl Server {
    /// True when something can go on at once.
    pub fn pump(&mut self) -> bool {
        let mut has_more = self.advance_undo();
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids {
            if self.connections.outbound(id).is_none_or(|out| out.is_full()) {
                // Whoever waits goes on when the client has taken what there is.
                continue;
            }
            let Some(mut stream) = self.streams.remove(&id) else {
                continue;
            };
            match self.advance(id, &mut stream) {
                Progress::Over => self.let_go(id, stream),
                progress => {
                    has_more |= progress == Progress::More;
                    self.streams.insert(id, stream);
                }
            }
        }
        has_more
    }

    fn advance(&mut self, id: StreamId, stream: &mut Stream) -> Progress {
        let Some(out) = self.connections.outbound(id) else {
            return Progress::Waiting;
        };
        let number = id.number;
        match &mut stream.work {
            Work::Attached { process } => {
                let process = *process;
                self.follow(id, process, stream)
            }
            Work::Read(reading) => reading.advance(number, &mut stream.credit, out),
            Work::List(listing) => listing.advance(number, &mut stream.credit, self.identity, out),
            Work::Remove(removing) => removing.advance(number, self.identity, out),
            Work::Share(sharing) => sharing.advance(number, out),
            Work::Move(copying) => copying.advance(number, self.identity, out),
            Work::Dial(dial) => {
                let progress = dial.advance(number, &mut stream.credit, &mut self.scratch, out);
                dial.update_interest(&self.epoll, id, stream.credit > 0);
                progress
            }
            Work::Pack(packing) => packing.advance(number, &mut stream.credit, self.identity, out),
            Work::Watch(watching) => watching.advance(number, &mut stream.credit, out),
            Work::Changes(changes) => changes.advance(number, &mut stream.credit, out),
            Work::Layer(layer) => layer.advance(number, &mut stream.credit, out),
            Work::Tally(tally) => tally.advance(number, out),
            Work::Point(_) => self.advance_point(id, stream),
            Work::Write(_) | Work::Unpack(_) | Work::Rollback => Progress::Waiting,
        }
    }

    /// Sends what a process has written, and its end.
    pub fn follow(&mut self, id: StreamId, process_number: u32, stream: &mut Stream) -> Progress {
        let (Some(process), Some(out)) =
            (self.processes.get_mut(process_number), self.connections.outbound(id))
        else {
            return Progress::Over;
        };
        let Some(mut offsets) = process.readers.get(&id).copied() else {
            return Progress::Over;
        };
        for (channel, offset) in offsets.iter_mut().enumerate() {
            let most = stream.credit.min(MOST_DATA as u64) as usize;
            let pieces = process.outputs[channel].ring.from(*offset, most);
            let count = (pieces[0].len() + pieces[1].len()) as u64;
            if count > 0 {
                out.data(id.number, channel as u8 + 1, pieces);
                *offset += count;
                stream.credit -= count;
            }
        }
        process.readers.insert(id, offsets);
        let is_all_sent = (0..2).all(|at| offsets[at] == process.outputs[at].ring.total());
        if is_all_sent && process.is_over() {
            out.end(id.number, &process.end_json());
            return Progress::Over;
        }
        // There may be room again, for a process that runs or for what one has left.
        self.update_output_interest(process_number);
        Progress::Waiting
    }

    /// A stream is over: its process, if it had one, has a reader less.
    pub fn let_go(&mut self, id: StreamId, stream: Stream) {
        match stream.work {
            Work::Attached { process } => {
                if let Some(running) = self.processes.get_mut(process) {
                    running.readers.remove(&id);
                }
                self.update_output_interest(process);
            }
            Work::Dial(dial) => dial.close(&self.epoll),
            Work::Watch(watching) => watching.close(&self.epoll),
            Work::Layer(layer) if layer.is_still => process::signal_everyone(libc::SIGCONT),
            Work::Point(pointing) => self.forget_point(id, *pointing),
            _ => {}
        }
    }

    /// Answers an operation that is done.
    pub fn conclude(&mut self, id: StreamId, outcome: Result<Value, Failure>) {
        if let Some(out) = self.connections.outbound(id) {
            match outcome {
                Ok(result) => out.end(id.number, &result),
                Err(failure) => out.fail(id.number, &failure),
            }
        }
    }

    pub fn flush(&mut self) {
        for number in self.connections.numbers() {
            self.flush_one(number);
        }
    }

    /// Writes what waits, and listens only as long as answers find room.
    fn flush_one(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        if connection.outbound.flush(&connection.writer).is_err() {
            return self.part(number);
        }
        let wants_to_read = !connection.outbound.is_full();
        if wants_to_read != connection.is_reading {
            if wants_to_read {
                let token = Source::Reader { connection: number }.token();
                let _ = self.epoll.add(&connection.reader, epoll::READABLE, token);
            } else {
                self.epoll.remove(&connection.reader);
            }
            connection.is_reading = wants_to_read;
        }
        let wants_to_write = !connection.outbound.is_empty();
        if wants_to_write != connection.is_writing {
            if wants_to_write {
                let token = Source::Writer { connection: number }.token();
                let _ = self.epoll.add(&connection.writer, epoll::WRITABLE, token);
            } else {
                self.epoll.remove(&connection.writer);
            }
            connection.is_writing = wants_to_write;
        }
    }
}
