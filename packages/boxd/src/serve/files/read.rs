//! Sending a file.

use super::{act_as, entry, place};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::{Progress, Work};
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::json;
use std::fs::File;
use std::os::fd::AsFd;

pub struct Reading {
    path: String,
    file: File,
    offset: u64,
    left: u64,
    sent: u64,
}

impl Reading {
    pub fn begin(
        path: &str,
        offset: u64,
        length: Option<u64>,
        user: &User,
        identity: Identity,
    ) -> Result<Begun, Failure> {
        let path = place::absolute(path, user)?;
        let failed = |error| Failure::about_path(&path, &error);
        let acting = act_as(user, identity)?;
        let file = path::open(HERE, &path, libc::O_RDONLY, 0, NO_MAGIC).map_err(failed)?;
        drop(acting);
        let found = path::stat(file.as_fd(), "").map_err(failed)?;
        regular(&path, &found)?;
        // A file that grows while it is read must not be read for ever; one without a size, as
        // in /proc, says itself where it ends.
        let size = found.st_size.max(0) as u64;
        let whole = if size == 0 { u64::MAX } else { size.saturating_sub(offset) };
        let left = length.unwrap_or(u64::MAX).min(whole);
        let reply = json!({
            "size": size,
            "mode": found.st_mode & 0o7777,
            "mtimeMs": entry::mtime_ms(&found),
        });
        let reading = Reading { path, file: File::from(file), offset, left, sent: 0 };
        Ok(Begun::Streaming(reply, Work::Read(reading)))
    }

    /// As much as finds room: the peer is then woken once for all of it.
    pub fn advance(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        loop {
            let progress = self.send_some(stream, credit, out);
            if progress != Progress::More || out.is_full() {
                return progress;
            }
        }
    }

    fn send_some(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        let most = (*credit).min(self.left).min(MOST_DATA as u64) as usize;
        if most == 0 && self.left > 0 {
            return Progress::Waiting;
        }
        match out.data_at(stream, STDOUT, &self.file, self.offset, most) {
            Ok(0) => {
                out.eof(stream, STDOUT);
                out.end(stream, &json!({ "bytes": self.sent }));
                Progress::Over
            }
            Ok(count) => {
                let count = count as u64;
                *credit -= count;
                self.left -= count;
                self.offset = self.offset.saturating_add(count);
                self.sent += count;
                Progress::More
            }
            Err(error) => {
                out.fail(stream, &Failure::about_path(&self.path, &error));
                Progress::Over
            }
        }
    }
}

/// Anything else blocks, never ends, or is a door to somewhere.
pub fn regular(path: &str, found: &libc::stat) -> Result<(), Failure> {
    match found.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok(()),
        libc::S_IFDIR => {
            let error = std::io::Error::from_raw_os_error(libc::EISDIR);
            Err(Failure::about_path(path, &error))
        }
        _ => Err(Failure::invalid(format!("{path}: not a regular file"))),
    }
}
