//! A tiny client of the protocol.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const CREDIT: usize = 262_144;

#[derive(Debug, Clone)]
pub enum Answer {
    Hello(Value),
    Reply(Value),
    Data(u8, Vec<u8>),
    Eof(u8),
    Window(u32),
    End(Value),
    Fail(Value),
    Pong(Vec<u8>),
    /// The other side has hung up.
    Closed,
}

/// Everything an operation has answered.
#[derive(Debug, Default)]
pub struct Outcome {
    pub reply: Value,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub end: Option<Value>,
    pub fail: Option<Value>,
}

impl Outcome {
    pub fn end(self) -> Value {
        self.end.unwrap_or_else(|| panic!("failed: {:?}", self.fail))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The code of the failure, or "" when there is none.
    pub fn code(&self) -> &str {
        self.fail.as_ref().and_then(|failure| failure["code"].as_str()).unwrap_or("")
    }

    pub fn exit(&self) -> Value {
        self.end.as_ref().map_or(Value::Null, |end| end["exit"].clone())
    }
}

pub struct Client {
    pub socket: UnixStream,
    bytes: Vec<u8>,
    last_stream: u32,
    /// Answers for streams that nobody has asked about yet.
    waiting: VecDeque<(u32, Answer)>,
}

impl Client {
    pub fn connect(path: &Path) -> Client {
        let socket = UnixStream::connect(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { socket, bytes: Vec::new(), last_stream: 0, waiting: VecDeque::new() }
    }

    pub fn frame(&mut self, kind: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes().to_vec();
        frame.push(kind);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.socket.write_all(&frame).unwrap();
    }

    pub fn open(&mut self, request: Value) -> u32 {
        self.last_stream += 1;
        self.frame(2, self.last_stream, request.to_string().as_bytes());
        self.last_stream
    }

    pub fn data(&mut self, stream: u32, bytes: &[u8]) {
        let payload = [&[0], bytes].concat();
        self.frame(4, stream, &payload);
    }

    pub fn eof(&mut self, stream: u32) {
        self.frame(5, stream, &[0]);
    }

    pub fn window(&mut self, stream: u32, credit: u32) {
        self.frame(6, stream, &credit.to_be_bytes());
    }

    pub fn cancel(&mut self, stream: u32) {
        self.frame(9, stream, &[]);
    }

    /// The next answer on `stream`; HELLO counts for any.
    pub fn next_for(&mut self, stream: u32) -> Answer {
        if let Some(at) = self.waiting.iter().position(|(other, _)| *other == stream) {
            return self.waiting.remove(at).unwrap().1;
        }
        loop {
            match self.read_frame() {
                None => return Answer::Closed,
                Some((_, answer @ Answer::Hello(_))) => return answer,
                Some((found, answer)) if found == stream => return answer,
                Some(other) => self.waiting.push_back(other),
            }
        }
    }

    fn read_frame(&mut self) -> Option<(u32, Answer)> {
        loop {
            if self.bytes.len() >= 9 {
                let number =
                    |at: usize| u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap());
                let (length, kind, stream) = (number(0) as usize, self.bytes[4], number(5));
                if self.bytes.len() >= 9 + length {
                    let payload: Vec<u8> = self.bytes[9..9 + length].to_vec();
                    self.bytes.drain(..9 + length);
                    return Some((stream, understand(kind, payload)));
                }
            }
            let mut buffer = vec![0; 256 * 1024];
            match self.socket.read(&mut buffer) {
                Ok(0) => return None,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                outcome => self.bytes.extend(&buffer[..outcome.expect("an answer in time")]),
            }
        }
    }

    /// Everything until the end, with credit given as it is used.
    pub fn finish(&mut self, stream: u32) -> Outcome {
        let mut outcome = Outcome::default();
        loop {
            match self.next_for(stream) {
                Answer::Reply(reply) => outcome.reply = reply,
                Answer::Data(channel, bytes) => {
                    self.window(stream, bytes.len() as u32);
                    if channel == 1 {
                        outcome.stdout.extend(bytes);
                    } else {
                        outcome.stderr.extend(bytes);
                    }
                }
                Answer::End(end) => outcome.end = Some(end),
                Answer::Fail(failure) => outcome.fail = Some(failure),
                Answer::Closed => panic!("the connection is gone"),
                _ => continue,
            }
            if outcome.end.is_some() || outcome.fail.is_some() {
                return outcome;
            }
        }
    }

    pub fn ask(&mut self, request: Value) -> Outcome {
        let stream = self.open(request);
        self.finish(stream)
    }

    /// Sends `bytes` and their end, never more than there is credit for.
    pub fn ask_with(&mut self, request: Value, bytes: &[u8]) -> Outcome {
        let stream = self.open(request);
        let mut credit = CREDIT;
        let mut early = Vec::new();
        for piece in bytes.chunks(65_536) {
            while credit < piece.len() {
                match self.next_for(stream) {
                    Answer::Window(more) => credit += more as usize,
                    answer @ Answer::Fail(_) => {
                        self.waiting.push_back((stream, answer));
                        return self.finish(stream);
                    }
                    Answer::Data(channel, bytes) => {
                        self.window(stream, bytes.len() as u32);
                        early.push((stream, Answer::Data(channel, bytes)));
                    }
                    other => early.push((stream, other)),
                }
            }
            self.data(stream, piece);
            credit -= piece.len();
        }
        self.eof(stream);
        let spent: usize = early
            .iter()
            .map(|(_, answer)| match answer {
                Answer::Data(_, bytes) => bytes.len(),
                _ => 0,
            })
            .sum();
        self.waiting.extend(early);
        let outcome = self.finish(stream);
        assert!(outcome.stdout.len() >= spent || outcome.fail.is_some());
        outcome
    }

    pub fn exec(&mut self, argv: &[&str]) -> Outcome {
        self.ask(json!({"op": "exec", "argv": argv}))
    }

    pub fn sh(&mut self, script: &str) -> Outcome {
        self.exec(&["sh", "-c", script])
    }
}

fn understand(kind: u8, payload: Vec<u8>) -> Answer {
    let object = |payload: &[u8]| serde_json::from_slice(payload).expect("JSON");
    match kind {
        1 => Answer::Hello(object(&payload)),
        3 => Answer::Reply(object(&payload)),
        4 => Answer::Data(payload[0], payload[1..].to_vec()),
        5 => Answer::Eof(payload[0]),
        6 => Answer::Window(u32::from_be_bytes(payload[..].try_into().unwrap())),
        7 => Answer::End(object(&payload)),
        8 => Answer::Fail(object(&payload)),
        11 => Answer::Pong(payload),
        other => panic!("a server does not send kind {other}"),
    }
}

impl Client {
    /// What a stream says until the connection ends.
    pub fn finish_until_closed(&mut self, stream: u32) -> String {
        let mut text = Vec::new();
        loop {
            match self.next_for(stream) {
                Answer::Data(1, bytes) => text.extend(bytes),
                Answer::Closed => return String::from_utf8_lossy(&text).into_owned(),
                _ => {}
            }
        }
    }
}
