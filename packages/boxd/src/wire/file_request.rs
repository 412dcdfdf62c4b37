//! What is asked of files. Whose rights count is told apart from it.

use super::failure::Failure;
use super::fields::Fields;

pub enum FileRequest {
    Read { path: String, offset: u64, length: Option<u64> },
    Write(Write),
    Stat { path: String, follow: bool },
    List { path: String, depth: u32 },
    Mkdir { path: String, parents: bool, mode: Option<u32> },
    Move { from: String, to: String },
    Remove { path: String, recursive: bool },
    Share { path: String },
    Chmod { path: String, mode: u32 },
    Symlink { path: String, target: String },
    Xattrs { path: String },
    SetXattr { path: String, name: String, value: String },
    RemoveXattr { path: String, name: String },
    Watch { path: String, recursive: bool },
    Pack { path: String, only: Vec<String> },
    Unpack { path: String, parents: bool, limits: Limits, is_layer: bool, as_owner: bool },
}

pub struct Write {
    pub path: String,
    pub mode: Option<u32>,
    pub parents: bool,
    pub append: bool,
}

/// How much an archive may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub entries: u64,
    pub bytes: u64,
    pub depth: usize,
}

impl FileRequest {
    pub fn parse(op: &str, mut fields: Fields) -> Result<FileRequest, Failure> {
        let mut path = || fields.text("path");
        Ok(match op {
            "read" => FileRequest::Read {
                path: path()?,
                offset: fields.number_if_any("offset")?.unwrap_or(0),
                length: fields.number_if_any("length")?,
            },
            "write" => FileRequest::Write(Write {
                path: path()?,
                mode: fields.small_if_any("mode")?,
                parents: fields.flag("parents", false)?,
                append: fields.flag("append", false)?,
            }),
            "stat" => FileRequest::Stat { path: path()?, follow: fields.flag("follow", true)? },
            "list" => FileRequest::List {
                path: path()?,
                depth: fields.small_if_any("depth")?.unwrap_or(1),
            },
            "mkdir" => FileRequest::Mkdir {
                path: path()?,
                parents: fields.flag("parents", false)?,
                mode: fields.small_if_any("mode")?,
            },
            "move" => FileRequest::Move { from: fields.text("from")?, to: fields.text("to")? },
            "remove" => {
                FileRequest::Remove { path: path()?, recursive: fields.flag("recursive", false)? }
            }
            "share" => FileRequest::Share { path: path()? },
            "watch" => {
                FileRequest::Watch { path: path()?, recursive: fields.flag("recursive", false)? }
            }
            "pack" => FileRequest::Pack { path: path()?, only: fields.texts("only")? },
            "unpack" => FileRequest::Unpack {
                path: path()?,
                parents: fields.flag("parents", false)?,
                limits: Limits::parse(fields.object_if_any("limits")?)?,
                is_layer: fields.flag("layer", false)?,
                as_owner: fields.flag("owner", false)?,
            },
            _ => return FileRequest::parse_attributes(op, fields),
        })
    }

    fn parse_attributes(op: &str, mut fields: Fields) -> Result<FileRequest, Failure> {
        let mut path = || fields.text("path");
        Ok(match op {
            "chmod" => FileRequest::Chmod { path: path()?, mode: fields.small("mode")? },
            "symlink" => FileRequest::Symlink { path: path()?, target: fields.text("target")? },
            "xattrs" => FileRequest::Xattrs { path: path()? },
            "setxattr" => FileRequest::SetXattr {
                path: path()?,
                name: fields.text("name")?,
                value: fields.text("value")?,
            },
            "removexattr" => FileRequest::RemoveXattr { path: path()?, name: fields.text("name")? },
            other => return Err(fields.unknown_op(other)),
        })
    }
}

impl Limits {
    /// An archive of no honest origin is larger.
    pub const DEFAULT: Limits = Limits { entries: 1_000_000, bytes: 1 << 40, depth: 256 };

    pub fn parse(fields: Option<Fields>) -> Result<Limits, Failure> {
        let Some(mut fields) = fields else {
            return Ok(Limits::DEFAULT);
        };
        Ok(Limits {
            entries: fields.number_if_any("entries")?.unwrap_or(Limits::DEFAULT.entries),
            bytes: fields.number_if_any("bytes")?.unwrap_or(Limits::DEFAULT.bytes),
            depth: fields.small_if_any("depth")?.unwrap_or(Limits::DEFAULT.depth),
        })
    }
}
