//! Files, seen from inside with the rights of the user who asks.

pub mod archive_path;
mod attributes;
mod change;
pub mod copy;
pub mod entry;
mod folders;
pub mod landing;
pub mod list;
pub mod pack;
pub mod place;
pub mod read;
pub mod remove;
pub mod share;
pub mod tally;
pub mod unpack;
pub mod watch;
mod whiteout;
pub mod write;

use super::acting::ActingAs;
use super::confine::Identity;
use super::operations::Begun;
use super::users::User;
use crate::wire::failure::Failure;
use crate::wire::file_request::FileRequest;
use serde_json::{Value, json};

/// Everything below happens with the user's rights until the value is dropped.
fn act_as(user: &User, identity: Identity) -> Result<ActingAs, Failure> {
    ActingAs::user(user, identity)
        .map_err(|error| Failure::internal("cannot act as the user", error))
}

pub fn begin(request: FileRequest, user: User, identity: Identity) -> Result<Begun, Failure> {
    match request {
        FileRequest::Read { path, offset, length } => {
            read::Reading::begin(&path, offset, length, &user, identity)
        }
        FileRequest::Write(request) => write::Writing::begin(&request, user, identity),
        FileRequest::List { path, depth } => list::Listing::begin(&path, depth, user, identity),
        FileRequest::Move { from, to } => copy::Copying::begin_move(&from, &to, user, identity),
        FileRequest::Remove { path, recursive } => {
            remove::Removing::begin(&path, recursive, user, identity)
        }
        FileRequest::Share { path } => share::Sharing::begin(&path, user, identity),
        FileRequest::Watch { path, recursive } => {
            watch::Watching::begin(&path, recursive, user, identity)
        }
        FileRequest::Pack { path, only } => pack::Packing::begin(&path, only, user, identity),
        FileRequest::Unpack { path, parents, limits, is_layer, .. } => {
            let what = unpack::What { limits, is_layer };
            unpack::Unpacking::begin(&path, parents, what, user, identity)
        }
        at_once => answer(at_once, &user, identity).map(Begun::Done),
    }
}

/// What is done in one go.
fn answer(request: FileRequest, user: &User, identity: Identity) -> Result<Value, Failure> {
    let done = |()| json!({});
    match request {
        FileRequest::Stat { path, follow } => entry::stat(&path, follow, user, identity)
            .map(|entry| json!({ "entry": entry.to_json() })),
        FileRequest::Mkdir { path, parents, mode } => {
            change::make_directory(&path, parents, mode, user, identity)
                .map(|created| json!({ "created": created }))
        }
        FileRequest::Chmod { path, mode } => {
            attributes::set_mode(&path, mode, user, identity).map(done)
        }
        FileRequest::Symlink { path, target } => {
            attributes::make_symlink(&path, &target, user, identity).map(done)
        }
        FileRequest::Xattrs { path } => attributes::xattrs(&path, user, identity),
        FileRequest::SetXattr { path, name, value } => {
            attributes::set_xattr(&path, &name, &value, user, identity).map(done)
        }
        FileRequest::RemoveXattr { path, name } => {
            attributes::remove_xattr(&path, &name, user, identity).map(done)
        }
        _ => Err(Failure::invalid("this takes more than one answer")),
    }
}
