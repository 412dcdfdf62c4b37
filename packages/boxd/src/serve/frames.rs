//! What clients send, frame by frame.

use super::Server;
use super::stream::{Stream, StreamId, Work};
use crate::wire::STDIN;
use crate::wire::failure::Failure;
use crate::wire::frame::{Body, Frame, Kind, Malformed};
use crate::wire::inbound::Inbound;
use crate::wire::serve_request::ServeRequest;
use std::io;
use std::time::Instant;

impl Server {
    /// Bytes have arrived.
    pub fn hear(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        connection.last_heard = Instant::now();
        match connection.inbound.fill(&connection.reader) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.part(number),
        }
    }

    pub fn take_frames(&mut self) {
        for number in self.connections.numbers() {
            self.take_frames_of(number);
        }
    }

    /// Acts on every whole frame, unless the client does not take our answers.
    fn take_frames_of(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(number) else {
            return;
        };
        let mut inbound = std::mem::take(&mut connection.inbound);
        let outcome = self.take_frames_from(number, &mut inbound);
        match (self.connections.get_mut(number), outcome) {
            (Some(connection), Ok(())) => connection.inbound = inbound,
            // The peer does not speak the protocol.
            _ => self.part(number),
        }
    }

    fn take_frames_from(&mut self, number: u32, inbound: &mut Inbound) -> Result<(), Malformed> {
        while self.connections.get(number).is_some_and(|from| !from.outbound.is_full()) {
            match inbound.next()? {
                Some(frame) => self.take_frame(number, frame)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Frames that arrived but had to wait, because the client was slow to take answers.
    pub fn has_frames_to_take(&self) -> bool {
        self.connections
            .iter()
            .any(|(_, connection)| !connection.outbound.is_full() && connection.inbound.has_frame())
    }

    fn take_frame(&mut self, connection: u32, frame: Frame) -> Result<(), Malformed> {
        let stream = StreamId { connection, number: frame.stream };
        match (frame.kind, frame.body) {
            (Kind::Open, Body::Json(object)) => {
                let Some(from) = self.connections.get_mut(connection) else {
                    return Ok(());
                };
                if stream.number <= from.last_stream {
                    return Err(Malformed("streams count up"));
                }
                from.last_stream = stream.number;
                match ServeRequest::parse(object) {
                    Ok(request) => self.begin(stream, request),
                    Err(failure) => from.outbound.fail(stream.number, &failure),
                }
            }
            (_, Body::Data { channel: STDIN, bytes }) => self.take_data(stream, bytes)?,
            (_, Body::Eof { channel: STDIN }) => self.take_end_of_data(stream),
            (_, Body::Data { .. } | Body::Eof { .. }) => {
                return Err(Malformed("only channel 0 goes in"));
            }
            (_, Body::Window { credit }) => {
                if let Some(stream) = self.streams.get_mut(&stream) {
                    stream.credit = stream.credit.saturating_add(u64::from(credit));
                }
            }
            (_, Body::Cancel) => {
                if let Some(over) = self.streams.remove(&stream) {
                    self.let_go(stream, over);
                }
            }
            (Kind::Ping, Body::Echo(echo)) => {
                if let Some(out) = self.connections.outbound(stream) {
                    out.pong(echo);
                }
            }
            (Kind::Pong, _) => {}
            _ => return Err(Malformed("a client does not send this kind")),
        }
        Ok(())
    }

    fn take_data(&mut self, id: StreamId, bytes: &[u8]) -> Result<(), Malformed> {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Ok(());
        };
        if !stream.spend_allowance(bytes.len()) {
            return Err(Malformed("more than the credit"));
        }
        let digested = match &mut stream.work {
            Work::Attached { process } => {
                let process = *process;
                let Some(running) = self.processes.get_mut(process) else {
                    return Ok(());
                };
                let digested = running.input.push(id, bytes);
                self.update_input_interest(process);
                digested
            }
            Work::Dial(dial) => {
                let digested = dial.input.push(id, bytes);
                self.update_dial_interest(id);
                digested
            }
            Work::Write(writing) => match writing.write(bytes) {
                Ok(()) => vec![(id, bytes.len())],
                Err(failure) => return self.give_up(id, failure),
            },
            Work::Unpack(unpacking) => match unpacking.write(bytes, self.identity) {
                Ok(()) => vec![(id, bytes.len())],
                Err(failure) => return self.give_up(id, failure),
            },
            _ => vec![(id, bytes.len())],
        };
        self.give_credit(digested);
        Ok(())
    }

    /// What comes cannot be taken, so the stream is over.
    fn give_up(&mut self, id: StreamId, failure: Failure) -> Result<(), Malformed> {
        self.streams.remove(&id);
        self.conclude(id, Err(failure));
        Ok(())
    }

    fn take_end_of_data(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        match &mut stream.work {
            Work::Attached { process } => {
                let process = *process;
                if let Some(running) = self.processes.get_mut(process) {
                    if running.has_terminal {
                        // A terminal has no end; this is how its user types one.
                        running.input.push(id, &[0x04]);
                    } else {
                        running.input.end();
                    }
                }
                self.update_input_interest(process);
            }
            Work::Dial(dial) => {
                dial.input.end();
                self.update_dial_interest(id);
            }
            Work::Write(_) | Work::Unpack(_) => {
                let outcome = match self.streams.remove(&id) {
                    Some(Stream { work: Work::Write(writing), .. }) => {
                        writing.finish(self.identity)
                    }
                    Some(Stream { work: Work::Unpack(unpacking), .. }) => {
                        unpacking.finish(self.identity)
                    }
                    _ => return,
                };
                self.conclude(id, outcome);
            }
            _ => {}
        }
    }
}
