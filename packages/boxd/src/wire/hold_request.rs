//! What an OPEN frame asks of hold.

use super::failure::Failure;
use super::fields::{Dictionary, Fields};
use super::frame::Object;
use super::limits::Limits;
use super::workspace::{Sensitive, Workspace};

pub enum HoldRequest {
    Ping,
    Create(Box<Create>),
    Claim(Claim),
    /// One, or all.
    List {
        id: Option<String>,
    },
    Extend {
        id: String,
        ttl_ms: u64,
    },
    Pause {
        id: String,
    },
    Resume {
        id: String,
    },
    /// What it wrote becomes a layer to be shared.
    Freeze {
        id: String,
    },
    /// Ends its processes; its disk stays, for so long where nothing was said of that before.
    Stop {
        id: String,
        grace_ms: u64,
        keep_ms: Option<u64>,
    },
    Metrics {
        id: String,
    },
    Destroy {
        id: String,
        grace_ms: u64,
    },
    Tether {
        id: String,
    },
}

pub struct Create {
    pub id: String,
    pub installation: String,
    pub root: Root,
    pub hostname: String,
    pub env: Dictionary,
    pub ttl_ms: Option<u64>,
    pub labels: Dictionary,
    pub limits: Limits,
    /// Nothing in it is done as its root.
    pub denies_root: bool,
    /// Made ahead, for an owner who is not known yet.
    pub is_pooled: bool,
    /// With a way out for the guard to watch; without one there is none at all.
    pub guarded: bool,
    /// To be made only while a client holds a tether to it.
    pub tethered: bool,
    /// Its disk stays when its processes end.
    pub keeps: Option<Keeps>,
    /// Layers of others that it begins as a copy of.
    pub layers: Vec<String>,
    /// A new first process over a disk that was kept.
    pub again: Option<Again>,
}

/// How a disk is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeps {
    /// For how long without a process.
    pub keep_ms: u64,
    /// Whether the end of the sandbox's time ends its processes only.
    pub stops_at_end: bool,
    /// Decided when it lived already, so its disk has no journal.
    pub is_late: bool,
}

/// What a sandbox that was stopped is started for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    ToRun,
    /// To be read, and stopped again: to everybody else it never ran.
    ToBeRead,
}

/// What a sandbox that was made ahead becomes.
pub struct Claim {
    /// The id it has had so far.
    pub pooled: String,
    pub id: String,
    pub ttl_ms: Option<u64>,
    pub labels: Dictionary,
}

pub struct Root {
    pub lowers: Vec<String>,
    pub mounts: Vec<Bind>,
    pub tmpfs: Vec<String>,
    pub workspace: Option<Workspace>,
    /// Who acts when nobody is named, and where, if the image says so.
    pub user: Option<String>,
    pub directory: Option<String>,
    /// A `user` is added where the layers have none.
    pub adds_user: bool,
    /// How many layers, from the top, are what a setup wrote: a snapshot takes them along.
    pub setup_layers: u32,
    /// The layers are a folder of somebody's choice, and none that is sensitive.
    pub judges_lowers: bool,
    pub sensitive: Sensitive,
}

pub struct Bind {
    pub source: String,
    pub target: String,
    pub read_only: bool,
    /// It is of somebody's choice, and nothing that is sensitive.
    pub is_judged: bool,
    /// Its owner is the sandbox's `user`, and everybody else of the sandbox is nobody outside.
    pub is_owned: bool,
}

impl HoldRequest {
    pub fn parse(object: Object) -> Result<HoldRequest, Failure> {
        let mut fields = Fields::of(object);
        Ok(match fields.text("op")?.as_str() {
            "ping" => HoldRequest::Ping,
            "create" => HoldRequest::Create(Box::new(Create::parse(fields, None)?)),
            "start" => {
                let again = match fields.flag("reader", false)? {
                    true => Again::ToBeRead,
                    false => Again::ToRun,
                };
                HoldRequest::Create(Box::new(Create::parse(fields, Some(again))?))
            }
            "claim" => HoldRequest::Claim(Claim {
                pooled: fields.text("pooled")?,
                id: fields.text("id")?,
                ttl_ms: fields.number_if_any("ttlMs")?,
                labels: fields.dictionary("labels")?,
            }),
            "list" => HoldRequest::List { id: fields.text_if_any("id")? },
            "extend" => {
                HoldRequest::Extend { id: fields.text("id")?, ttl_ms: fields.number("ttlMs")? }
            }
            "pause" => HoldRequest::Pause { id: fields.text("id")? },
            "resume" => HoldRequest::Resume { id: fields.text("id")? },
            "freeze" => HoldRequest::Freeze { id: fields.text("id")? },
            "stop" => HoldRequest::Stop {
                id: fields.text("id")?,
                grace_ms: fields.number_if_any("graceMs")?.unwrap_or(0),
                keep_ms: fields.number_if_any("keepMs")?,
            },
            "metrics" => HoldRequest::Metrics { id: fields.text("id")? },
            "destroy" => HoldRequest::Destroy {
                id: fields.text("id")?,
                grace_ms: fields.number_if_any("graceMs")?.unwrap_or(0),
            },
            "tether" => HoldRequest::Tether { id: fields.text("id")? },
            other => return Err(fields.unknown_op(other)),
        })
    }
}

impl Create {
    fn parse(mut fields: Fields, again: Option<Again>) -> Result<Create, Failure> {
        Ok(Create {
            id: fields.text("id")?,
            installation: fields.text("installation")?,
            root: Root::parse(fields.object("root")?)?,
            is_pooled: fields.flag("pooled", false)?,
            denies_root: fields.flag("deniesRoot", false)?,
            hostname: fields.text_if_any("hostname")?.unwrap_or_else(|| "sandbox".to_string()),
            env: fields.dictionary("env")?,
            ttl_ms: fields.number_if_any("ttlMs")?,
            labels: fields.dictionary("labels")?,
            limits: match fields.object_if_any("limits")? {
                Some(limits) => Limits::parse(limits)?,
                None => Limits::default(),
            },
            guarded: fields.flag("guarded", false)?,
            tethered: fields.flag("tethered", false)?,
            keeps: fields.object_if_any("keeps")?.map(Keeps::parse).transpose()?,
            layers: fields.texts("layers")?,
            again,
        })
    }
}

impl Keeps {
    pub fn parse(mut fields: Fields) -> Result<Keeps, Failure> {
        Ok(Keeps {
            keep_ms: fields.number("keepMs")?,
            stops_at_end: fields.flag("stopsAtEnd", false)?,
            is_late: fields.flag("late", false)?,
        })
    }
}

impl Root {
    /// Whether the sandbox's user works on files of a host's user.
    pub fn shows_owner(&self) -> bool {
        self.workspace.is_some() || self.mounts.iter().any(|bind| bind.is_owned)
    }

    fn parse(mut fields: Fields) -> Result<Root, Failure> {
        let bind = |mut fields: Fields| {
            Ok(Bind {
                source: fields.text("source")?,
                target: fields.text("target")?,
                read_only: fields.flag("readOnly", false)?,
                is_judged: fields.flag("judged", false)?,
                is_owned: fields.flag("owned", false)?,
            })
        };
        Ok(Root {
            lowers: fields.texts("lowers")?,
            mounts: fields.objects("mounts")?.into_iter().map(bind).collect::<Result<_, _>>()?,
            tmpfs: fields.texts("tmpfs")?,
            workspace: fields.object_if_any("workspace")?.map(Workspace::parse).transpose()?,
            user: fields.text_if_any("user")?,
            directory: fields.text_if_any("directory")?,
            adds_user: fields.flag("addsUser", false)?,
            setup_layers: fields.small_if_any("setupLayers")?.unwrap_or(0),
            judges_lowers: fields.flag("judgesLowers", false)?,
            sensitive: Sensitive::parse(&mut fields)?,
        })
    }
}
