//! Removing files and trees.

use super::act_as;
use super::place::{self, Place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path;
use crate::tree::removal::Removal;
use crate::wire::failure::{Code, Failure};
use crate::wire::outbound::Outbound;
use serde_json::json;
use std::os::fd::AsFd;

const SLICE: usize = 256;

pub struct Removing {
    path: String,
    user: User,
    removal: Removal,
}

impl Removing {
    pub fn begin(
        path: &str,
        recursive: bool,
        user: User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let path = place::absolute(path, &user)?;
        let failed = |error| Failure::about_path(&path, &error);
        let acting = act_as(&user, identity)?;
        let Place { directory, name } = Place::of(&path)?;
        let found = path::stat(directory.as_fd(), &name).map_err(failed)?;
        if found.st_mode & libc::S_IFMT != libc::S_IFDIR {
            path::unlink(directory.as_fd(), &name).map_err(failed)?;
            return Ok(Begun::Done(json!({})));
        }
        match path::remove_directory(directory.as_fd(), &name) {
            Ok(()) => return Ok(Begun::Done(json!({}))),
            Err(error) if error.raw_os_error() != Some(libc::ENOTEMPTY) => {
                return Err(failed(error));
            }
            Err(_) if !recursive => {
                let message = format!("{path}: not empty; it takes `recursive` to remove it");
                return Err(Failure::new(Code::IsADirectory, message));
            }
            Err(_) => {}
        }
        let removal = Removal::of_directory(directory, &name, false).map_err(failed)?;
        drop(acting);
        Ok(Begun::Working(Work::Remove(Removing { path, user, removal })))
    }

    pub fn advance(&mut self, stream: u32, identity: Identity, out: &mut Outbound) -> Progress {
        let outcome = act_as(&self.user, identity).and_then(|_acting| {
            self.removal.step(SLICE).map_err(|error| Failure::about_path(&self.path, &error))
        });
        match outcome {
            Ok(false) => return Progress::More,
            Ok(true) => out.end(stream, &json!({})),
            Err(failure) => out.fail(stream, &failure),
        }
        Progress::Over
    }
}
