//! What each command is told.

use crate::wire::file_request::Limits;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, PartialEq)]
pub struct HoldOptions {
    pub directory: PathBuf,
    pub idle_exit: Option<Duration>,
    pub foreground: bool,
    pub die_at: Option<String>,
}

#[derive(Debug, PartialEq)]
pub struct ServeOptions {
    pub id: String,
    /// Without one, standard input and output.
    pub socket: Option<PathBuf>,
    pub ttl: Option<Duration>,
    pub ensure_user: bool,
    pub denies_root: bool,
    pub guarded: bool,
}

#[derive(Debug, PartialEq)]
pub struct RelayOptions {
    pub inspector: PathBuf,
}

#[derive(Debug, PartialEq, Default)]
pub struct ApplyOptions {
    pub sandbox: Option<PathBuf>,
    pub mirror: Option<PathBuf>,
    pub recover: Option<PathBuf>,
    pub die_after: Option<u32>,
}

#[derive(Debug, PartialEq)]
pub struct UnpackOptions {
    pub to: Option<PathBuf>,
    pub remove: Option<PathBuf>,
    pub is_plain: bool,
    pub limits: Limits,
}

/// What is asked about the host's side of a mirror.
#[derive(Debug, PartialEq)]
pub enum MirrorOptions {
    Pin,
    List,
    Pack,
}
