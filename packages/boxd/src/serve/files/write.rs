//! Receiving a file. It grows beside its place and appears there whole or not at all.

use super::change::make_parents;
use super::place::{self, Place};
use super::{act_as, read};
use crate::serve::confine::Identity;
use crate::serve::operations::Begun;
use crate::serve::stream::Work;
use crate::serve::users::User;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::Failure;
use crate::wire::file_request::Write as Request;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::fchown;

const NEW_FILE: u32 = 0o644;

pub struct Writing {
    path: String,
    user: User,
    file: File,
    draft: Option<Draft>,
    bytes: u64,
}

/// A file that has not got its name yet. Dropping it removes it.
struct Draft {
    place: Place,
    name: String,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already when it has got its name.
        let _ = path::unlink(self.place.directory.as_fd(), &self.name);
    }
}

impl Writing {
    pub fn begin(request: &Request, user: User, identity: Identity) -> Result<Begun, Failure> {
        let path = place::absolute(&request.path, &user)?;
        let mode = request.mode.map(|mode| mode & 0o7777);
        let acting = act_as(&user, identity)?;
        if request.parents {
            make_parents(&path)?;
        }
        let (file, draft) = match request.append {
            true => (append_to(&path, mode)?, None),
            false => draft_of(&path, mode).map(|(file, draft)| (file, Some(draft)))?,
        };
        drop(acting);
        let writing = Writing { path, user, file, draft, bytes: 0 };
        Ok(Begun::Streaming(json!({}), Work::Write(writing)))
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| Failure::about_path(&self.path, &error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub fn finish(self, identity: Identity) -> Result<Value, Failure> {
        if let Some(draft) = &self.draft {
            let _acting = act_as(&self.user, identity)?;
            let directory = draft.place.directory.as_fd();
            path::rename(directory, &draft.name, directory, &draft.place.name)
                .map_err(|error| Failure::about_path(&self.path, &error))?;
        }
        Ok(json!({ "bytes": self.bytes }))
    }
}

fn append_to(path: &str, mode: Option<u32>) -> Result<File, Failure> {
    let failed = |error| Failure::about_path(path, &error);
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT;
    let file = path::open(HERE, path, flags, mode.unwrap_or(NEW_FILE), NO_MAGIC).map_err(failed)?;
    read::regular(path, &path::stat(file.as_fd(), "").map_err(failed)?)?;
    Ok(File::from(file))
}

/// A new file beside the one it will replace, whose mode it takes over, and, where that is
/// allowed, whose owner.
fn draft_of(path: &str, mode: Option<u32>) -> Result<(File, Draft), Failure> {
    let failed = |error| Failure::about_path(path, &error);
    let place = Place::behind_links(path)?;
    let replaced = match path::stat(place.directory.as_fd(), &place.name) {
        Ok(found) => {
            read::regular(path, &found)?;
            path::check_writable(place.directory.as_fd(), &place.name).map_err(failed)?;
            Some(found)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let name = draft_name().map_err(failed)?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = path::open(place.directory.as_fd(), &name, flags, 0o600, 0).map_err(failed)?;
    let draft = Draft { place, name };
    if let Some(found) = &replaced {
        // Only the sandbox's root may; for others the file becomes their own.
        let _ = fchown(&file, Some(found.st_uid), Some(found.st_gid));
    }
    let kept = replaced.map(|found| found.st_mode & 0o777);
    path::set_mode(file.as_fd(), mode.or(kept).unwrap_or(NEW_FILE)).map_err(failed)?;
    Ok((File::from(file), draft))
}

const DRAFT: &str = ".boxd-";

fn draft_name() -> io::Result<String> {
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(format!("{DRAFT}{:016x}", u64::from_ne_bytes(random)))
}

/// Whether it is the name of something that is being written.
pub fn is_draft(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(DRAFT));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}
