//! Before a stop: what is half written goes, so that no later life of the sandbox finds it.

use super::Server;
use super::operations::Begun;
use super::stream::{StreamId, Work};
use crate::wire::failure::{Code, Failure};
use crate::wire::file_request::FileRequest;
use serde_json::json;

impl Server {
    /// Takes nothing more to be written until the connection that asked for it ends.
    pub fn settle(&mut self, by: StreamId) -> Begun {
        let is_half =
            |work: &Work| matches!(work, Work::Write(_) | Work::Unpack(_) | Work::Move(_));
        let half: Vec<StreamId> =
            self.streams.iter().filter(|(_, one)| is_half(&one.work)).map(|(&id, _)| id).collect();
        for id in half {
            self.streams.remove(&id);
            self.conclude(id, Err(about_to_stop()));
        }
        self.settled_by = Some(by.connection);
        Begun::Done(json!({}))
    }

    pub fn refuse_if_settled(&self, request: &FileRequest) -> Result<(), Failure> {
        let is_writing = matches!(
            request,
            FileRequest::Write(_) | FileRequest::Unpack { .. } | FileRequest::Move { .. }
        );
        if is_writing && self.settled_by.is_some() { Err(about_to_stop()) } else { Ok(()) }
    }
}

fn about_to_stop() -> Failure {
    Failure::new(Code::Busy, "the sandbox is about to stop")
}
