//! What an OPEN frame asks of serve.

use super::failure::Failure;
use super::fields::{Dictionary, Fields};
use super::file_request::{FileRequest, Limits};
use super::frame::Object;

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
    Capture {
        /// How many layers below its own.
        below: u64,
        limits: Limits,
    },
}

pub enum WorkspaceRequest {
    Changes { detail: Detail, paths: Vec<String> },
    Layer { paths: Vec<String>, limits: Limits },
    Rollback { paths: Vec<String> },
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
            "rollback" => ServeRequest::Workspace(WorkspaceRequest::Rollback {
                paths: fields.texts("paths")?,
            }),
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
        })
    }
}

impl Size {
    fn parse(mut fields: Fields) -> Result<Size, Failure> {
        Ok(Size { cols: fields.small("cols")?, rows: fields.small("rows")? })
    }
}
