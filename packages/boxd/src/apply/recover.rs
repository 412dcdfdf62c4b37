//! Making good what an `apply` left that died.

use super::journal::{self, Resumed};
use super::stage::Stage;
use crate::wire::failure::Failure;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;

pub fn all(directory: &Path) -> Result<Value, Failure> {
    let failed = |error| Failure::about_path(directory.display(), &error);
    let notes = match fs::read_dir(directory.join("applies")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(json!({"completed": 0}));
        }
        outcome => outcome.map_err(failed)?,
    };
    let mut completed = 0;
    for note in notes {
        let note = note.map_err(failed)?.path();
        if let Some(stage) = Stage::find(&note).map_err(failed)? {
            let resumed = journal::resume(&stage).map_err(failed)?;
            stage.clear();
            if let Resumed::Done(told) = resumed {
                completed += 1;
                told.inspect(|told| told.remember(&stage));
            }
        }
    }
    Ok(json!({ "completed": completed }))
}
