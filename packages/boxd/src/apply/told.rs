//! What is said of an apply that was carried out, written down before it is: whoever carries it on
//! after a death says it too.

use super::known::Known;
use super::plan::{Action, Step};
use super::stage::Stage;
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub struct Told {
    box_directory: PathBuf,
    /// The name under which it is said to who asked and may never hear the answer.
    ticket: Option<String>,
    /// What is the sandbox's on the host from then on.
    ours: Vec<String>,
    pub answer: Value,
}

impl Told {
    pub fn of(box_directory: &Path, steps: &[Step], folders: &[PathBuf], answer: Value) -> Told {
        let is_written =
            |step: &&Step| matches!(step.action, Action::Put { .. } | Action::Mode { .. });
        let written = steps.iter().filter(is_written).map(|step| &step.path);
        let ours = written.chain(folders).filter_map(|path| path.to_str().map(String::from));
        let box_directory = box_directory.to_owned();
        Told { box_directory, ticket: None, ours: ours.collect(), answer }
    }

    pub fn under(self, ticket: Option<String>) -> Told {
        Told { ticket, ..self }
    }

    /// Before it is forgotten that it had to be done.
    pub fn leave(&self, stage: &Stage) -> io::Result<()> {
        self.remember(stage);
        let Some(ticket) = &self.ticket else {
            return Ok(());
        };
        let folder = self.box_directory.join("../../applied");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let id = self.box_directory.file_name().unwrap_or_default().to_string_lossy();
        fs::write(folder.join(ticket), json!({ "id": id, "answer": self.answer }).to_string())
    }

    /// Again once the stage is gone: the folder that it was in has another stamp then.
    pub fn remember(&self, stage: &Stage) {
        Known::add(&self.box_directory, stage.root().as_fd(), &self.ours);
    }

    pub fn to_json(&self) -> Value {
        json!({
            "box": self.box_directory.to_string_lossy(),
            "ticket": self.ticket,
            "ours": self.ours,
            "answer": self.answer,
        })
    }

    pub fn from_json(mut fields: Fields) -> Result<Told, Failure> {
        Ok(Told {
            box_directory: PathBuf::from(fields.text("box")?),
            ticket: fields.text_if_any("ticket")?,
            ours: fields.texts("ours")?,
            answer: fields.value_if_any("answer").unwrap_or_default(),
        })
    }
}

/// A plain word: it becomes the name of a file.
pub fn is_ticket(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
