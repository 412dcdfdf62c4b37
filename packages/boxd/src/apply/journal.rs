//! What is to be done, written down before it is. Its name says which way it goes: forward, or,
//! once the host turns out to have moved under it, back.

use super::carry_out::{self, Late};
use super::die;
use super::plan::{Action, Step};
use super::stage::Stage;
use super::target::Target;
use super::told::Told;
use crate::sys::path::{self, PLAIN};
use crate::sys::sync;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const DRAFT: &str = "draft";
const FORWARD: &str = "journal";
const BACK: &str = "undo";

/// Does it all, or takes it back and tells what was in the way.
pub fn commit(
    stage: &Stage,
    target: &Target,
    steps: &[Step],
    told: Option<&Told>,
) -> Result<Vec<Value>, Failure> {
    let failed = |error| Failure::about_path("the journal", &error);
    let abandon = |error| {
        stage.clear();
        failed(error)
    };
    write(stage, target, steps, told).map_err(abandon)?;
    die::pass();
    // From here on it is done, whatever happens.
    let folder = stage.folder.as_fd();
    path::rename(folder, DRAFT, folder, FORWARD).map_err(abandon)?;
    die::pass();
    go_on(stage, steps, (target.uid, target.gid), told).map_err(failed)
}

fn go_on(
    stage: &Stage,
    steps: &[Step],
    owner: (u32, u32),
    told: Option<&Told>,
) -> io::Result<Vec<Value>> {
    match carry_out::forward(stage, steps, owner) {
        Ok(()) => {}
        Err(Late::Failed(error)) => return turn_back(stage, steps).and(Err(error)),
        Err(Late::Changed(path)) => {
            turn_back(stage, steps)?;
            let why = "it was changed on this machine at this moment";
            return Ok(vec![json!({ "path": path.to_string_lossy(), "why": why })]);
        }
    }
    if let Some(told) = told {
        told.leave(stage)?;
        die::pass();
    }
    finish(stage, FORWARD)?;
    Ok(Vec::new())
}

fn turn_back(stage: &Stage, steps: &[Step]) -> io::Result<()> {
    let folder = stage.folder.as_fd();
    path::rename(folder, FORWARD, folder, BACK)?;
    die::pass();
    carry_out::back(stage, steps)?;
    finish(stage, BACK)
}

/// What was done is on the disk before nobody remembers that it had to be done.
fn finish(stage: &Stage, name: &str) -> io::Result<()> {
    sync::filesystem(stage.folder.as_fd())?;
    die::pass();
    path::unlink(stage.folder.as_fd(), name)?;
    die::pass();
    Ok(())
}

/// What became of a dead one's.
pub enum Resumed {
    /// It had decided nothing yet, or what it did was taken back.
    Undone,
    Done(Option<Told>),
}

/// Carries on where a dead one stopped.
pub fn resume(stage: &Stage) -> io::Result<Resumed> {
    if let Some(Written { steps, owner, told }) = read(stage, FORWARD)? {
        let late = go_on(stage, &steps, owner, told.as_ref())?;
        return Ok(if late.is_empty() { Resumed::Done(told) } else { Resumed::Undone });
    }
    if let Some(Written { steps, .. }) = read(stage, BACK)? {
        carry_out::back(stage, &steps)?;
        finish(stage, BACK)?;
    }
    Ok(Resumed::Undone)
}

fn write(stage: &Stage, target: &Target, steps: &[Step], told: Option<&Told>) -> io::Result<()> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    let mut file = File::from(path::open(stage.folder.as_fd(), DRAFT, flags, 0o600, PLAIN)?);
    let steps: Vec<Value> = steps.iter().map(to_json).collect();
    let mut all = json!({ "uid": target.uid, "gid": target.gid, "steps": steps });
    if let Some(told) = told {
        all["told"] = told.to_json();
    }
    file.write_all(all.to_string().as_bytes())?;
    // The staged content along with it.
    sync::filesystem(stage.folder.as_fd())
}

struct Written {
    steps: Vec<Step>,
    owner: (u32, u32),
    told: Option<Told>,
}

fn read(stage: &Stage, name: &str) -> io::Result<Option<Written>> {
    let file = match path::open(stage.folder.as_fd(), name, libc::O_RDONLY, 0, PLAIN) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome?,
    };
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let broken = |failure: Failure| io::Error::other(failure.message);
    let mut fields = Fields::of(serde_json::from_slice(&bytes)?);
    let owner = (fields.small("uid").map_err(broken)?, fields.small("gid").map_err(broken)?);
    let steps = fields.objects("steps").map_err(broken)?;
    let steps = steps.into_iter().map(from_json).collect::<Result<_, _>>().map_err(broken)?;
    let told = fields.object_if_any("told").map_err(broken)?;
    let told = told.map(Told::from_json).transpose().map_err(broken)?;
    Ok(Some(Written { steps, owner, told }))
}

fn to_json(step: &Step) -> Value {
    let path = step.path.as_os_str().as_bytes();
    let (action, numbers) = match &step.action {
        Action::Remove { print: [a, b, c], planned_ns } => {
            ("remove", vec![*a, *b, *c, *planned_ns as u64])
        }
        Action::Folder { mode } => ("folder", vec![u64::from(*mode)]),
        Action::Put { inode, replaces: None } => ("put", vec![*inode]),
        Action::Put { inode, replaces: Some([a, b, c]) } => ("put", vec![*inode, *a, *b, *c]),
        Action::Mode { mode, old } => ("mode", vec![u64::from(*mode), u64::from(*old)]),
    };
    json!({ "number": step.number, "path": path, "action": action, "numbers": numbers })
}

fn from_json(mut fields: Fields) -> Result<Step, Failure> {
    let numbers: Vec<u64> = fields.numbers("numbers")?;
    let action = match (fields.text("action")?.as_str(), numbers.as_slice()) {
        ("remove", &[a, b, c, planned]) => {
            Action::Remove { print: [a, b, c], planned_ns: planned as i64 }
        }
        ("folder", &[mode]) => Action::Folder { mode: mode as u32 },
        ("put", &[inode]) => Action::Put { inode, replaces: None },
        ("put", &[inode, a, b, c]) => Action::Put { inode, replaces: Some([a, b, c]) },
        ("mode", &[mode, old]) => Action::Mode { mode: mode as u32, old: old as u32 },
        _ => return Err(Failure::invalid("a step that is none")),
    };
    let path: Vec<u8> = fields.numbers("path")?.into_iter().map(|byte| byte as u8).collect();
    let number = fields.small("number")?;
    Ok(Step { number, path: PathBuf::from(OsStr::from_bytes(&path)), action })
}
