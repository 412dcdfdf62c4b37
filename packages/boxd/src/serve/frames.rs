//! What the client sends, frame by frame.

use super::Server;
use super::stream::{Stream, Work};
use crate::wire::STDIN;
use crate::wire::frame::{Body, Frame, Kind, Malformed};
use crate::wire::inbound::Inbound;
use crate::wire::serve_request::ServeRequest;
use std::io;

impl Server {
    /// Bytes have arrived.
    pub fn hear(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        match connection.inbound.fill(&connection.reader) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.part(),
        }
    }

    /// Acts on every whole frame, unless the client does not take our answers.
    pub fn take_frames(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut inbound = std::mem::take(&mut connection.inbound);
        let outcome = self.take_frames_from(&mut inbound);
        match (&mut self.connection, outcome) {
            (Some(connection), Ok(())) => connection.inbound = inbound,
            // The peer does not speak the protocol.
            _ => self.part(),
        }
    }

    fn take_frames_from(&mut self, inbound: &mut Inbound) -> Result<(), Malformed> {
        while self.connection.as_ref().is_some_and(|connection| !connection.outbound.is_full()) {
            match inbound.next()? {
                Some(frame) => self.take_frame(frame)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Frames that arrived but had to wait, because the client was slow to take answers.
    pub fn has_frames_to_take(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| {
            !connection.outbound.is_full() && connection.inbound.has_frame()
        })
    }

    fn take_frame(&mut self, frame: Frame) -> Result<(), Malformed> {
        let stream = frame.stream;
        match (frame.kind, frame.body) {
            (Kind::Open, Body::Json(object)) => {
                let Some(connection) = &mut self.connection else {
                    return Ok(());
                };
                if stream <= connection.last_stream {
                    return Err(Malformed("streams count up"));
                }
                connection.last_stream = stream;
                match ServeRequest::parse(object) {
                    Ok(request) => self.begin(stream, request),
                    Err(failure) => connection.outbound.fail(stream, &failure),
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
                if let Some(connection) = &mut self.connection {
                    connection.outbound.pong(echo);
                }
            }
            (Kind::Pong, _) => {}
            _ => return Err(Malformed("a client does not send this kind")),
        }
        Ok(())
    }

    fn take_data(&mut self, number: u32, bytes: &[u8]) -> Result<(), Malformed> {
        let Some(stream) = self.streams.get_mut(&number) else {
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
                let digested = running.input.push(number, bytes);
                self.update_input_interest(process);
                digested
            }
            Work::Dial(dial) => {
                let digested = dial.input.push(number, bytes);
                self.update_dial_interest(number);
                digested
            }
            Work::Write(writing) => match writing.write(bytes) {
                Ok(()) => vec![(number, bytes.len())],
                Err(failure) => {
                    self.streams.remove(&number);
                    if let Some(connection) = &mut self.connection {
                        connection.outbound.fail(number, &failure);
                    }
                    return Ok(());
                }
            },
            _ => vec![(number, bytes.len())],
        };
        self.give_credit(digested);
        Ok(())
    }

    fn take_end_of_data(&mut self, number: u32) {
        let Some(stream) = self.streams.get_mut(&number) else {
            return;
        };
        match &mut stream.work {
            Work::Attached { process } => {
                let process = *process;
                if let Some(running) = self.processes.get_mut(process) {
                    if running.has_terminal {
                        // A terminal has no end; this is how its user types one.
                        running.input.push(number, &[0x04]);
                    } else {
                        running.input.end();
                    }
                }
                self.update_input_interest(process);
            }
            Work::Dial(dial) => {
                dial.input.end();
                self.update_dial_interest(number);
            }
            Work::Write(_) => {
                let Some(Stream { work: Work::Write(writing), .. }) = self.streams.remove(&number)
                else {
                    return;
                };
                let outcome = writing.finish(self.identity);
                self.conclude(number, outcome);
            }
            _ => {}
        }
    }
}
