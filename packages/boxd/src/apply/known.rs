//! What earlier applies wrote: that is no change of the host's.

use super::host;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;

const NAME: &str = "applied.json";

/// By path: which file it was, and its stamp when we had written it.
pub struct Known(HashMap<String, (u64, i64)>);

impl Known {
    pub fn read(box_directory: &Path) -> Known {
        let entries = raw(box_directory).into_iter().filter_map(|(path, value)| {
            Some((path, (value.get(0)?.as_u64()?, value.get(1)?.as_i64()?)))
        });
        Known(entries.collect())
    }

    pub fn nothing() -> Known {
        Known(HashMap::new())
    }

    pub fn is_ours(&self, path: &Path, thing: &host::Thing) -> bool {
        let known = path.to_str().and_then(|path| self.0.get(path));
        known == Some(&(thing.found.st_ino, thing.changed_ns()))
    }

    /// Not knowing means a conflict too many, never one too few: it need not succeed.
    pub fn add(box_directory: &Path, root: BorrowedFd, paths: &[String]) {
        let mut all = raw(box_directory);
        for path in paths {
            if let Ok(Some(thing)) = host::at(root, Path::new(path)) {
                all.insert(path.clone(), json!([thing.found.st_ino, thing.changed_ns()]));
            }
        }
        let draft = box_directory.join("applied.json.new");
        if fs::write(&draft, Value::Object(all).to_string()).is_ok() {
            let _ = fs::rename(draft, box_directory.join(NAME));
        }
    }
}

fn raw(box_directory: &Path) -> Map<String, Value> {
    let bytes = fs::read(box_directory.join(NAME)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
