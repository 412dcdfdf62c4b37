//! What a mirror's way back is asked for.

use super::host::Thing;
use crate::serve::archive_path;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

const MOST_DEPTH: usize = 256;

/// What the folder had at a path when both sides were compared.
pub struct Was {
    kind: String,
    size: u64,
    mtime_ms: i64,
}

/// Where something of the archive goes: to its own place, or beside what the host has there.
pub enum Beside {
    Place(Option<Was>),
    Name(PathBuf),
}

pub struct Wanted {
    pub take: HashMap<PathBuf, Beside>,
    /// The deepest first.
    pub gone: Vec<(PathBuf, Was)>,
    going: HashSet<PathBuf>,
    pub bytes: u64,
}

impl Wanted {
    pub fn parse(mut fields: Fields) -> Result<Wanted, Failure> {
        let bytes = fields.number("bytes")?;
        let mut take = HashMap::new();
        for mut one in fields.objects("take")? {
            let place = match one.text_if_any("beside")? {
                Some(name) => Beside::Name(checked(name)?),
                None => Beside::Place(one.object_if_any("was")?.map(Was::parse).transpose()?),
            };
            take.insert(checked(one.text("path")?)?, place);
        }
        let mut gone = Vec::new();
        for mut one in fields.objects("gone")? {
            gone.push((checked(one.text("path")?)?, Was::parse(one.object("was")?)?));
        }
        gone.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        let going = gone.iter().map(|(path, _)| path.clone()).collect();
        Ok(Wanted { take, gone, going, bytes })
    }

    pub fn goes(&self, path: &PathBuf) -> bool {
        self.going.contains(path)
    }
}

impl Was {
    fn parse(mut fields: Fields) -> Result<Was, Failure> {
        let mtime_ms = fields.value_if_any("mtimeMs").and_then(|value| value.as_f64());
        let mtime_ms = mtime_ms.ok_or_else(|| Failure::invalid("mtimeMs is missing"))? as i64;
        Ok(Was { kind: fields.text("type")?, size: fields.number("size")?, mtime_ms })
    }

    /// A folder's size and time move with what is in it.
    pub fn is(&self, thing: &Thing) -> bool {
        let found = &thing.found;
        match (self.kind.as_str(), thing.kind()) {
            ("directory", libc::S_IFDIR) => true,
            ("symlink", libc::S_IFLNK) | ("file", libc::S_IFREG) => {
                self.size == found.st_size as u64 && self.mtime_ms == crate::serve::mtime_ms(found)
            }
            _ => false,
        }
    }
}

fn checked(path: String) -> Result<PathBuf, Failure> {
    archive_path::checked(path.as_bytes(), MOST_DEPTH)
}
