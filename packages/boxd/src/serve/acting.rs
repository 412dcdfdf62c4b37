//! Touching files with somebody's rights.

use super::confine::Identity;
use super::users::User;
use crate::sys::credentials;
use std::io;

/// While this lives, file accesses are judged as the user's.
pub struct ActingAs {
    is_somebody_else: bool,
}

impl ActingAs {
    pub fn user(user: &User, identity: Identity) -> io::Result<ActingAs> {
        let is_somebody_else = matches!(identity, Identity::Any { .. }) && user.uid != 0;
        // Made first, so that a refusal half-way is taken back.
        let acting = ActingAs { is_somebody_else };
        if is_somebody_else {
            credentials::set_groups(&user.groups)?;
            credentials::set_file_ids(user.uid, user.gid)?;
        }
        Ok(acting)
    }
}

impl Drop for ActingAs {
    fn drop(&mut self) {
        if self.is_somebody_else {
            // These are our own ids, and having been able to set groups a moment ago, we can still.
            let _ = credentials::set_file_ids(0, 0);
            let _ = credentials::set_groups(&[]);
        }
    }
}
