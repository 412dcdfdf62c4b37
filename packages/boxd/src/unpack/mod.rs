//! unpack: a layer of an image, from a tar archive to a folder that sandboxes share.
//!
//! Everything in the archive is hostile. It is read by a process that is nobody on the host, in
//! namespaces of its own, and that reaches the folder alone.

mod room;

use crate::arguments::UnpackOptions;
use crate::hold::subordinate;
use crate::serve::landing::{Landing, Whiteouts};
use crate::serve::tally::Tally;
use crate::setup::idmap::{IdMap, IdSupply};
use crate::sys::path::{self, HERE, NO_SYMLINKS};
use crate::sys::{credentials, sync};
use crate::tar::reader::{Reader, Sink};
use crate::tree::removal::Removal;
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const SLICE: usize = 256 * 1024;
/// What the root of every sandbox has.
const ROOT_MODE: u32 = 0o755;

/// Writes the answer to standard output; what goes wrong is part of it.
pub fn run(options: &UnpackOptions) -> Result<(), String> {
    let supply = supply();
    if let Some(tree) = &options.remove {
        answer(remove(tree));
        return Ok(());
    }
    let directory = options.to.as_deref().ok_or("--to or --remove is needed")?;
    let ids = match options.is_plain {
        // Nobody's ids are kept, so none but our own are needed.
        true => {
            IdMap::Single { uid: credentials::effective_uid(), gid: credentials::effective_gid() }
        }
        false => ids_for(&supply),
    };
    match room::enter(directory, ids) {
        Ok(Some(base)) => {
            let is_whole = matches!(answer(unpack(base, options, ids)), Outcome::Done);
            std::process::exit(i32::from(!is_whole));
        }
        Ok(None) => {}
        Err(failure) => {
            answer(Err(failure));
        }
    }
    Ok(())
}

fn supply() -> IdSupply {
    match credentials::effective_uid() {
        0 => IdSupply::Ranges,
        _ => match subordinate::take() {
            Ok(()) => IdSupply::Shared,
            Err(why) => IdSupply::Single { why },
        },
    }
}

fn ids_for(supply: &IdSupply) -> IdMap {
    match supply {
        IdSupply::Ranges => IdMap::Range { base: room::NOBODYS },
        IdSupply::Shared => IdMap::Shared,
        IdSupply::Single { .. } => {
            IdMap::Single { uid: credentials::effective_uid(), gid: credentials::effective_gid() }
        }
    }
}

fn unpack(base: OwnedFd, options: &UnpackOptions, ids: IdMap) -> Result<Value, Failure> {
    let keeps_owners = !matches!(ids, IdMap::Single { .. });
    let folder = base.try_clone().map_err(|error| Failure::internal("the folder", error))?;
    path::set_mode_through(folder.as_fd(), ROOT_MODE)
        .map_err(|error| Failure::about_path("the folder", &error))?;
    let mut landing = Landing::below(base, options.limits, keeps_owners);
    if !options.is_plain {
        landing.whiteouts = Whiteouts::Kept;
    }
    let mut reader = Reader::default();
    let mut input = io::stdin().lock();
    let mut bytes = vec![0; SLICE];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => reader.push(&bytes[..count], &mut landing)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::internal("standard input", error)),
        }
    }
    reader.finish().map_err(Landing::refuse)?;
    landing.close_directories()?;
    // Whoever gives it its name must not give it to files that are still on their way.
    sync::filesystem(folder.as_fd()).map_err(|error| Failure::about_path("the folder", &error))?;
    let Landing { tally: Tally { entries, bytes, .. }, skipped, stripped, .. } = landing;
    Ok(json!({
        "entries": entries,
        "bytes": bytes,
        "skipped": skipped,
        "stripped": stripped,
        "owners": if keeps_owners { "kept" } else { "collapsed" },
    }))
}

/// A tree that may belong to ids which only a namespace has.
fn remove(tree: &Path) -> Result<Value, Failure> {
    let failed = |error: io::Error| Failure::about_path(tree.display(), &error);
    let name = tree.file_name().unwrap_or(OsStr::new(""));
    let parent = tree.parent().unwrap_or(Path::new("/"));
    let removed = path::open_directory(HERE, parent, NO_SYMLINKS)
        .and_then(|parent| Removal::of_directory(parent, name, true))
        .and_then(|mut removal| {
            while !removal.step(usize::MAX)? {}
            Ok(())
        });
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(json!({})),
    }
}

enum Outcome {
    Done,
    Failed,
}

fn answer(outcome: Result<Value, Failure>) -> Outcome {
    match outcome {
        Ok(answer) => {
            println!("{answer}");
            Outcome::Done
        }
        Err(failure) => {
            println!("{}", json!({ "failure": failure.to_json() }));
            Outcome::Failed
        }
    }
}
