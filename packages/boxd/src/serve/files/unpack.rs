//! Receiving an archive: its things appear one by one, below one directory.

use super::landing::{Landing, Whiteouts};
use super::tally::Tally;
use super::{act_as, change, place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::Work;
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::tar::reader::{Reader, Sink};
use crate::wire::failure::Failure;
use crate::wire::file_request::Limits;
use serde_json::{Value, json};

pub struct Unpacking {
    user: User,
    reader: Box<Reader>,
    landing: Landing,
}

pub struct What {
    pub limits: Limits,
    /// Names that say what is gone are obeyed.
    pub is_layer: bool,
}

impl Unpacking {
    pub fn begin(
        path: &str,
        parents: bool,
        what: What,
        user: User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let path = place::absolute(path, &user)?;
        if parents {
            change::make_directory(&path, true, None, &user, identity)?;
        }
        let acting = act_as(&user, identity)?;
        let base = path::open_directory(HERE, &path, NO_MAGIC)
            .map_err(|error| Failure::about_path(&path, &error))?;
        drop(acting);
        let mut landing = Landing::below(base, what.limits, user.uid == 0);
        if what.is_layer {
            landing.whiteouts = Whiteouts::Obeyed;
        }
        let unpacking = Unpacking { user, reader: Box::default(), landing };
        Ok(Begun::Streaming(json!({}), Work::Unpack(unpacking)))
    }

    pub fn write(&mut self, bytes: &[u8], identity: Identity) -> Result<(), Failure> {
        let _acting = act_as(&self.user, identity)?;
        self.reader.push(bytes, &mut self.landing)
    }

    pub fn finish(mut self, identity: Identity) -> Result<Value, Failure> {
        self.reader.finish().map_err(Landing::refuse)?;
        let _acting = act_as(&self.user, identity)?;
        self.landing.close_directories()?;
        let Landing { tally: Tally { entries, bytes, .. }, skipped, .. } = self.landing;
        Ok(json!({"entries": entries, "bytes": bytes, "skipped": skipped}))
    }
}
