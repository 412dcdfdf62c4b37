//! Moving: by name where the filesystem can, by copy and removal where it cannot.

use super::act_as;
use super::place::{self, Place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path;
use crate::tree::copy::Copy;
use crate::tree::removal::Removal;
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use serde_json::json;
use std::io;
use std::os::fd::AsFd;

const COPY_SLICE: usize = 256 * 1024;
const REMOVAL_SLICE: usize = 256;

pub struct Copying {
    what: String,
    user: User,
    step: Step,
}

enum Step {
    Copy { copy: Copy, from: Place },
    Remove(Removal),
}

impl Copying {
    pub fn begin_move(
        from: &str,
        to: &str,
        user: User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let (from, to) = (place::absolute(from, &user)?, place::absolute(to, &user)?);
        let what = format!("{from} to {to}");
        let failed = |error| Failure::about_path(&what, &error);
        let acting = act_as(&user, identity)?;
        let (from, to) = (Place::of(&from)?, Place::of(&to)?);
        match path::rename(from.directory.as_fd(), &from.name, to.directory.as_fd(), &to.name) {
            Ok(()) => return Ok(Begun::Done(json!({}))),
            // Another filesystem, or a directory of a lower layer.
            Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {}
            Err(error) => return Err(failed(error)),
        }
        let source = from.directory.try_clone().map_err(failed)?;
        let copy = Copy::begin(source, &from.name, to.directory, &to.name).map_err(failed)?;
        drop(acting);
        let step = Step::Copy { copy, from };
        Ok(Begun::Working(Work::Move(Copying { what, user, step })))
    }

    pub fn advance(&mut self, stream: u32, identity: Identity, out: &mut Outbound) -> Progress {
        let outcome = act_as(&self.user, identity).and_then(|_acting| {
            self.work().map_err(|error| Failure::about_path(&self.what, &error))
        });
        match outcome {
            Ok(false) => return Progress::More,
            Ok(true) => out.end(stream, &json!({})),
            Err(failure) => out.fail(stream, &failure),
        }
        Progress::Over
    }

    fn work(&mut self) -> io::Result<bool> {
        match &mut self.step {
            Step::Remove(removal) => removal.step(REMOVAL_SLICE),
            Step::Copy { copy, from } => {
                if !copy.step(COPY_SLICE)? {
                    return Ok(false);
                }
                let directory = from.directory.as_fd();
                let found = path::stat(directory, &from.name)?;
                if found.st_mode & libc::S_IFMT != libc::S_IFDIR {
                    path::unlink(directory, &from.name)?;
                    return Ok(true);
                }
                let directory = from.directory.try_clone()?;
                self.step = Step::Remove(Removal::of_directory(directory, &from.name, false)?);
                Ok(false)
            }
        }
    }
}
