//! What `sudo` and serve say to each other. Each message is one JSON object. The first carries the
//! descriptors: the working directory, then standard input, output and error.

use super::failure::Failure;
use super::fields::{Dictionary, Fields};
use serde_json::{Value, json};

/// The abstract name serve listens at.
pub const NAME: &str = "boxd/sudo";
/// The most a message may hold; the kernel's own bound on one is a little lower.
pub const MOST_BYTES: usize = 256 * 1024;
pub const DESCRIPTORS: usize = 4;

/// What is to be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// The arguments.
    Command,
    /// The caller's shell, with the arguments.
    Shell,
    /// The other user's shell, as at a login, with the arguments.
    Login,
    /// Nothing: only whether it would be allowed.
    Ask,
}

const NAMES: [(How, &str); 4] =
    [(How::Command, "command"), (How::Shell, "shell"), (How::Login, "login"), (How::Ask, "ask")];

#[derive(PartialEq, Eq, Debug)]
pub struct Elevation {
    pub how: How,
    pub user: String,
    pub argv: Vec<String>,
    /// The caller's own variables, most of which are dropped.
    pub env: Dictionary,
    /// Those that were set on the command line.
    pub set: Dictionary,
    /// Names of variables to keep; all of them with `keeps_all`.
    pub keep: Vec<String>,
    pub keeps_all: bool,
    /// The other user's home, also where variables are kept.
    pub sets_home: bool,
    /// Standard input is a terminal of the program's own.
    pub has_terminal: bool,
}

impl Elevation {
    pub fn to_json(&self) -> Value {
        let how = NAMES.iter().find(|(how, _)| *how == self.how).map(|(_, name)| name);
        json!({
            "how": how,
            "user": self.user,
            "argv": self.argv,
            "env": self.env,
            "set": self.set,
            "keep": self.keep,
            "keepAll": self.keeps_all,
            "home": self.sets_home,
            "terminal": self.has_terminal,
        })
    }

    pub fn parse(bytes: &[u8]) -> Result<Elevation, Failure> {
        let mut fields = fields(bytes)?;
        let how = fields.text("how")?;
        let how = NAMES.iter().find(|(_, name)| *name == how).map(|(how, _)| *how);
        Ok(Elevation {
            how: how.ok_or_else(|| Failure::invalid("how"))?,
            user: fields.text("user")?,
            argv: fields.texts("argv")?,
            env: fields.dictionary("env")?,
            set: fields.dictionary("set")?,
            keep: fields.texts("keep")?,
            keeps_all: fields.flag("keepAll", false)?,
            sets_home: fields.flag("home", false)?,
            has_terminal: fields.flag("terminal", false)?,
        })
    }
}

/// What serve answers, last of all.
#[derive(PartialEq, Eq, Debug)]
pub enum Outcome {
    Exited(i32),
    Signalled(i32),
    Refused(String),
    Allowed,
}

impl Outcome {
    pub fn to_json(&self) -> Value {
        match self {
            Outcome::Exited(code) => json!({ "exited": code }),
            Outcome::Signalled(signal) => json!({ "signalled": signal }),
            Outcome::Refused(why) => json!({ "refused": why }),
            Outcome::Allowed => json!({}),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Outcome, Failure> {
        let mut fields = fields(bytes)?;
        if let Some(code) = fields.small_if_any::<u8>("exited")? {
            return Ok(Outcome::Exited(code.into()));
        }
        if let Some(signal) = fields.small_if_any::<u8>("signalled")? {
            return Ok(Outcome::Signalled(signal.into()));
        }
        let refused = fields.text_if_any("refused")?;
        Ok(refused.map_or(Outcome::Allowed, Outcome::Refused))
    }
}

/// A signal that the caller has got, for the program.
pub fn signal_json(name: &str) -> Value {
    json!({ "signal": name })
}

pub fn parse_signal(bytes: &[u8]) -> Result<String, Failure> {
    fields(bytes)?.text("signal")
}

fn fields(bytes: &[u8]) -> Result<Fields, Failure> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(Fields::of(object)),
        _ => Err(Failure::invalid("not an object, or too long")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let asked = Elevation {
            how: How::Login,
            user: "root".to_string(),
            argv: vec!["a b".to_string(), "".to_string()],
            env: Dictionary::from([("A".to_string(), "b=c".to_string())]),
            set: Dictionary::new(),
            keep: vec!["A".to_string()],
            keeps_all: false,
            sets_home: true,
            has_terminal: true,
        };
        assert_eq!(Elevation::parse(asked.to_json().to_string().as_bytes()).unwrap(), asked);
        for outcome in [
            Outcome::Exited(7),
            Outcome::Signalled(9),
            Outcome::Refused("no".to_string()),
            Outcome::Allowed,
        ] {
            let bytes = outcome.to_json().to_string();
            assert_eq!(Outcome::parse(bytes.as_bytes()).unwrap(), outcome);
        }
        assert_eq!(parse_signal(signal_json("TERM").to_string().as_bytes()).unwrap(), "TERM");
        for wrong in ["", "[]", "{", "{}", r#"{"how":"fly","user":"root","argv":[]}"#] {
            assert!(Elevation::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
