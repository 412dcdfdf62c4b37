//! A folder of the host that a sandbox works on.

use super::failure::Failure;
use super::fields::Fields;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    ReadOnly,
    ReadWrite,
    /// What the sandbox writes goes into a layer of its own.
    CopyOnWrite,
}

pub struct Workspace {
    pub source: String,
    pub target: String,
    pub mode: Mode,
    pub sensitive: Sensitive,
}

/// What no folder that somebody names may have to do with.
#[derive(Default)]
pub struct Sensitive {
    /// Folders of which the source may be no part, and which may be no part of it.
    pub forbidden: Vec<String>,
    /// Folders that are too much: the source may be in them, but neither be nor hold them.
    pub too_wide: Vec<String>,
}

const SPELLINGS: [(Mode, &str); 3] = [
    (Mode::ReadOnly, "read-only"),
    (Mode::ReadWrite, "read-write"),
    (Mode::CopyOnWrite, "copy-on-write"),
];

impl Mode {
    pub fn as_str(self) -> &'static str {
        SPELLINGS.iter().find(|(mode, _)| *mode == self).map_or("", |(_, text)| text)
    }

    fn parse(text: &str) -> Result<Mode, Failure> {
        let found = SPELLINGS.iter().find(|(_, spelling)| *spelling == text);
        found
            .map(|(mode, _)| *mode)
            .ok_or_else(|| Failure::invalid(format!("unknown workspace mode {text:?}")))
    }
}

impl Workspace {
    pub fn parse(mut fields: Fields) -> Result<Workspace, Failure> {
        Ok(Workspace {
            source: fields.text("source")?,
            target: fields.text("target")?,
            mode: Mode::parse(&fields.text("mode")?)?,
            sensitive: Sensitive::parse(&mut fields)?,
        })
    }
}

impl Sensitive {
    pub fn parse(fields: &mut Fields) -> Result<Sensitive, Failure> {
        Ok(Sensitive { forbidden: fields.texts("forbidden")?, too_wide: fields.texts("tooWide")? })
    }
}
