//! What an OPEN frame asks of serve.

use super::failure::Failure;
use super::fields::{Dictionary, Fields};
use super::file_request::{FileRequest, Limits};
use super::frame::Object;
use serde_json::Value;

pub enum ServeRequest {
    Exec(Exec),
    Attach {
        process: String,
        offsets: [u64; 2],
    },
    Processes,
    Signal {
        process: String,
        signal: String,
    },
    Resize {
        process: String,
        size: Size,
    },
    Files(FileRequest, Asked),
    Dial {
        port: u16,
    },
    /// `agent`: with a socket for programs that ask an SSH agent.
    Lend {
        agent: bool,
    },
    Extend {
        ttl_ms: u64,
    },
    Claim {
        id: String,
        env: Dictionary,
    },
    Workspace(WorkspaceRequest),
    Rollback {
        to: To,
        paths: Vec<String>,
    },
    Capture {
        /// How many layers below its own.
        below: u64,
        limits: Limits,
    },
}

pub enum WorkspaceRequest {
    Changes { detail: Detail, paths: Vec<String> },
    Layer { paths: Vec<String>, limits: Limits },
    Points,
}

/// How far back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Before anything ran.
    Beginning,
    /// Before the last run that changed something.
    Last,
    Point(u64),
}

impl To {
    fn parse(value: &Value) -> Result<To, Failure> {
        if value == "last" {
            return Ok(To::Last);
        }
        let wrong = || Failure::invalid("`to` is a point's number or \"last\"");
        value.as_u64().map(To::Point).ok_or_else(wrong)
    }
}

/// How much is told about each change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Names,
    Counts,
    Patch,
}

impl Detail {
    fn parse(text: Option<String>) -> Result<Detail, Failure> {
        match text.as_deref() {
            None | Some("names") => Ok(Detail::Names),
            Some("counts") => Ok(Detail::Counts),
            Some("patch") => Ok(Detail::Patch),
            Some(other) => Err(Failure::invalid(format!("unknown detail {other:?}"))),
        }
    }
}

/// The user a request names, if it names one.
pub type Asked = Option<String>;

pub struct Exec {
    pub argv: Vec<String>,
    pub env: Dictionary,
    pub cwd: Option<String>,
    pub user: Asked,
    pub stdin: bool,
    pub timeout_ms: Option<u64>,
    pub pty: Option<Size>,
    pub attachment: Option<String>,
    /// How many points of the workspace are kept, this run's with them. None: it gets none.
    pub points: Option<u64>,
}

pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

impl ServeRequest {
    pub fn parse(object: Object) -> Result<ServeRequest, Failure> {
        let mut fields = Fields::of(object);
        let op = fields.text("op")?;
        let user = fields.text_if_any("user")?;
        Ok(match op.as_str() {
            "exec" => ServeRequest::Exec(Exec::parse(fields, user)?),
            "attach" => ServeRequest::Attach {
                process: fields.text("process")?,
                offsets: [
                    fields.number_if_any("stdout")?.unwrap_or(0),
                    fields.number_if_any("stderr")?.unwrap_or(0),
                ],
            },
            "changes" => ServeRequest::Workspace(WorkspaceRequest::Changes {
                detail: Detail::parse(fields.text_if_any("detail")?)?,
                paths: fields.texts("paths")?,
            }),
            "capture" => ServeRequest::Capture {
                below: fields.number_if_any("below")?.unwrap_or(0),
                limits: Limits::parse(fields.object_if_any("limits")?)?,
            },
            "layer" => ServeRequest::Workspace(WorkspaceRequest::Layer {
                paths: fields.texts("paths")?,
                limits: Limits::parse(fields.object_if_any("limits")?)?,
            }),
            "points" => ServeRequest::Workspace(WorkspaceRequest::Points),
            "rollback" => {
                ServeRequest::Rollback { to: To::Beginning, paths: fields.texts("paths")? }
            }
            // By a name of its own: a serve that knows no points refuses it, and goes back nowhere.
            "rollback-to" => ServeRequest::Rollback {
                to: To::parse(&fields.value_if_any("to").unwrap_or_default())?,
                paths: fields.texts("paths")?,
            },
            "processes" => ServeRequest::Processes,
            "signal" => ServeRequest::Signal {
                process: fields.text("process")?,
                signal: fields.text("signal")?,
            },
            "resize" => ServeRequest::Resize {
                process: fields.text("process")?,
                size: Size::parse(fields)?,
            },
            "claim" => {
                ServeRequest::Claim { id: fields.text("id")?, env: fields.dictionary("env")? }
            }
            "lend" => ServeRequest::Lend { agent: fields.flag("agent", false)? },
            "extend" => ServeRequest::Extend { ttl_ms: fields.number("ttlMs")? },
            "dial" => ServeRequest::Dial { port: fields.small("port")? },
            _ => ServeRequest::Files(FileRequest::parse(&op, fields)?, user),
        })
    }
}

impl Exec {
    fn parse(mut fields: Fields, user: Asked) -> Result<Exec, Failure> {
        Ok(Exec {
            argv: fields.texts("argv")?,
            env: fields.dictionary("env")?,
            cwd: fields.text_if_any("cwd")?,
            user,
            stdin: fields.flag("stdin", false)?,
            timeout_ms: fields.number_if_any("timeoutMs")?,
            pty: fields.object_if_any("pty")?.map(Size::parse).transpose()?,
            attachment: fields.text_if_any("attachment")?,
            points: fields.number_if_any("points")?.filter(|&most| most > 0),
        })
    }
}

impl Size {
    fn parse(mut fields: Fields) -> Result<Size, Failure> {
        Ok(Size { cols: fields.small("cols")?, rows: fields.small("rows")? })
    }
}
