//! Files, seen from inside with the rights of the user who asks.

pub mod change;
pub mod copy;
pub mod entry;
pub mod list;
pub mod place;
pub mod read;
pub mod remove;
pub mod write;

use super::acting::ActingAs;
use super::confine::Identity;
use super::users::User;
use crate::wire::failure::Failure;

/// Everything below happens with the user's rights until the value is dropped.
fn act_as(user: &User, identity: Identity) -> Result<ActingAs, Failure> {
    ActingAs::user(user, identity)
        .map_err(|error| Failure::internal("cannot act as the user", error))
}
