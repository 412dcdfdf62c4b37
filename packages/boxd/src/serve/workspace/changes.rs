//! Telling what was changed, a line of JSON for each change.

use super::side::{Kind, Side};
use super::walk::{Found, Step, Walk};
use crate::serve::stream::Progress;
use crate::text;
use crate::wire::failure::Failure;
use crate::wire::outbound::Outbound;
use crate::wire::serve_request::Detail;
use crate::wire::{MOST_DATA, STDOUT};
use serde_json::{Value, json};
use std::io;

/// Larger files are told without their lines.
const MOST_TEXT: u64 = 1 << 20;
/// A change is one line of JSON, and nobody should have to take one without an end.
const MOST_PATCH: usize = 512 * 1024;

pub struct Changes {
    walk: Walk,
    detail: Detail,
    lines: Vec<u8>,
    count: u64,
    is_over: bool,
}

impl Changes {
    pub fn of(walk: Walk, detail: Detail) -> Changes {
        Changes { walk, detail, lines: Vec::new(), count: 0, is_over: false }
    }

    pub fn advance(&mut self, stream: u32, credit: &mut u64, out: &mut Outbound) -> Progress {
        if self.lines.len() < MOST_DATA
            && !self.is_over
            && let Err(failure) = self.gather()
        {
            out.fail(stream, &failure);
            return Progress::Over;
        }
        let most = self.lines.len().min((*credit).min(MOST_DATA as u64) as usize);
        if most > 0 {
            out.data(stream, STDOUT, [&self.lines[..most], &[]]);
            *credit -= most as u64;
            self.lines.drain(..most);
        }
        if self.lines.is_empty() && self.is_over {
            out.eof(stream, STDOUT);
            out.end(stream, &json!({ "changes": self.count }));
            return Progress::Over;
        }
        if *credit == 0 { Progress::Waiting } else { Progress::More }
    }

    fn gather(&mut self) -> Result<(), Failure> {
        let about = |(path, error): (std::path::PathBuf, io::Error)| {
            Failure::about_path(path.display(), &error)
        };
        match self.walk.step().map_err(about)? {
            Step::Over => self.is_over = true,
            Step::Nothing => {}
            Step::Found(found) => {
                let line = describe(&found, self.detail)
                    .map_err(|error| Failure::about_path(found.path.display(), &error))?;
                self.lines.extend_from_slice(line.to_string().as_bytes());
                self.lines.push(b'\n');
                self.count += 1;
            }
        }
        Ok(())
    }
}

fn describe(found: &Found, detail: Detail) -> io::Result<Value> {
    let Found { path, new, old, .. } = found;
    let (change, kind) = match (new, old) {
        (Some(new), None) => ("added", new.kind),
        (Some(new), Some(_)) => ("changed", new.kind),
        (None, old) => ("deleted", old.as_ref().map_or(Kind::Other, |old| old.kind)),
    };
    let shown = path.to_string_lossy();
    let mut line = json!({ "path": shown, "change": change, "type": kind.as_str() });
    if shown.as_bytes() != path.as_os_str().as_encoded_bytes() {
        line["lossy"] = json!(true);
    }
    let mut tell = |side: &Option<Side>, names: [&str; 4]| -> io::Result<()> {
        let Some(side) = side else {
            return Ok(());
        };
        line[names[0]] = json!(side.kind.as_str());
        line[names[1]] = json!(side.mode());
        match side.kind {
            Kind::File => line[names[2]] = json!(side.size()),
            Kind::Link => line[names[3]] = json!(String::from_utf8_lossy(&side.target()?)),
            _ => {}
        }
        Ok(())
    };
    tell(new, ["type", "mode", "size", "target"])?;
    tell(old, ["oldType", "oldMode", "oldSize", "oldTarget"])?;
    if detail != Detail::Names && found.is_rewritten {
        add_lines(&mut line, found, detail)?;
    }
    Ok(line)
}

/// The lines that differ, of what has lines.
fn add_lines(line: &mut Value, Found { new, old, .. }: &Found, detail: Detail) -> io::Result<()> {
    let has_lines = |side: &&Side| matches!(side.kind, Kind::File | Kind::Link);
    let sides = [old, new].map(|side| side.as_ref().filter(has_lines));
    if sides.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut contents = [Vec::new(), Vec::new()];
    for (content, side) in contents.iter_mut().zip(sides) {
        match side.map(|side| side.content(MOST_TEXT)).transpose()? {
            Some(None) => {
                line["large"] = json!(true);
                return Ok(());
            }
            Some(Some(bytes)) => *content = bytes,
            None => {}
        }
    }
    if !contents.iter().all(|content| text::is_text(content)) {
        line["binary"] = json!(true);
        return Ok(());
    }
    let difference = text::differ(&contents[0], &contents[1]);
    line["added"] = json!(difference.added);
    line["removed"] = json!(difference.removed);
    if detail == Detail::Patch && difference.hunks.len() > MOST_PATCH {
        line["large"] = json!(true);
    } else if detail == Detail::Patch {
        line["patch"] = json!(String::from_utf8_lossy(&difference.hunks));
    }
    Ok(())
}
