//! The command line.

mod options;

use crate::hold::failpoint::PLACES;
use crate::wire::file_request::Limits;
pub use options::{
    ApplyOptions, HoldOptions, MirrorOptions, RelayOptions, ServeOptions, UnpackOptions,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
boxd launches sandboxes and does the work inside them. See PROTOCOL.md for what it speaks.

Usage:
  boxd hold --dir DIR [--idle-exit-ms N] [--foreground] [--die-at PLACE]
      Launches and watches over the sandboxes of one folder, listening on DIR/hold.sock.
      Goes to the background and returns as soon as it listens, unless --foreground.
      Exits by itself after N ms without sandboxes and clients. Exit code 3: DIR is taken.
      --die-at is for tests: it ends as by kill -9 when it comes to that place of its code.
  boxd serve --id ID (--socket PATH | --stdio) [--ttl-ms N] [--ensure-user] [--deny-root]
             [--guarded]
      Does the work inside a place that something else has isolated, such as a container.
      Ends by itself after N ms. --ensure-user gives the place a `user` with a home, if it
      has none; with --deny-root, nothing is done as root. --guarded lays a way
      out for the guard and a network of its own before it, which takes the right to do so;
      programs do not get it. Programs inherit the environment that boxd was started with.
  boxd apply (--box DIR/boxes/ID | --mirror DIR | --recover DIR) [--die-after N]
      Writes what a sandbox changed in its copy-on-write workspace into the folder that it is of:
      all or nothing. Reads a header and a layer, answers in JSON. See PROTOCOL.md.
      --mirror does so for a sandbox with a copy of the folder, which its header names.
      --recover makes good what an apply of that folder left that died.
      --die-after is for tests: it ends as by kill -9 after the Nth thing that it does.
  boxd mirror (--pin | --list | --pack)
      The folder that a sandbox has a copy of: which one it is, what is in it, and some of that as
      an archive. Reads a header in JSON. See PROTOCOL.md.
  boxd unpack (--to DIR [--plain] [--entries N] [--bytes N] | --remove DIR)
      Unpacks a layer of an image, a tar archive on standard input, into a folder that is there and
      empty; answers in JSON. --plain keeps neither owners nor what a layer says is gone.
      --remove removes such a folder, whoever its files belong to.
  boxd relay --inspector PATH
      Carries what sandboxes send out, for the guard that speaks on standard input and output.
      Hands connections that the guard wants to read to the socket PATH. Ends with its input.
  boxd --version | --help
";

#[derive(Debug, PartialEq)]
pub enum Command {
    Hold(HoldOptions),
    Serve(ServeOptions),
    Relay(RelayOptions),
    Apply(ApplyOptions),
    Mirror(MirrorOptions),
    Unpack(UnpackOptions),
    Version,
    Help,
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let command = arguments.next().ok_or("a command is missing; see boxd --help")?;
    match command.to_str() {
        Some("hold") => parse_hold(arguments),
        Some("serve") => parse_serve(arguments),
        Some("relay") => parse_relay(arguments),
        Some("apply") => parse_apply(arguments),
        Some("mirror") => parse_mirror(arguments),
        Some("unpack") => parse_unpack(arguments),
        Some("--version" | "-V") => Ok(Command::Version),
        Some("--help" | "-h" | "help") => Ok(Command::Help),
        _ => Err(format!("unknown command {command:?}; see boxd --help")),
    }
}

fn parse_hold(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let (mut directory, mut idle_exit, mut foreground, mut die_at) = (None, None, false, None);
    while let Some(option) = arguments.next() {
        match option.to_str() {
            Some("--dir") => directory = Some(value(&option, &mut arguments)?.into()),
            Some("--idle-exit-ms") => {
                idle_exit = Some(milliseconds(&option, &mut arguments)?);
            }
            Some("--foreground") => foreground = true,
            Some("--die-at") => {
                let place = value(&option, &mut arguments)?;
                let known = PLACES.iter().find(|known| place == **known);
                let known = known.ok_or(format!("--die-at knows {}", PLACES.join(" ")))?;
                die_at = Some(known.to_string());
            }
            _ => return Err(format!("unknown option {option:?}; see boxd --help")),
        }
    }
    let directory = directory.ok_or("--dir is missing")?;
    Ok(Command::Hold(HoldOptions { directory, idle_exit, foreground, die_at }))
}

fn parse_serve(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let (mut id, mut socket, mut stdio) = (None, None, false);
    let (mut ttl, mut ensure_user) = (None, false);
    let (mut denies_root, mut guarded) = (false, false);
    while let Some(option) = arguments.next() {
        match option.to_str() {
            Some("--id") => {
                let text = value(&option, &mut arguments)?;
                id = Some(text.into_string().map_err(|text| format!("--id {text:?} is not text"))?);
            }
            Some("--socket") => socket = Some(PathBuf::from(value(&option, &mut arguments)?)),
            Some("--stdio") => stdio = true,
            Some("--ttl-ms") => ttl = Some(milliseconds(&option, &mut arguments)?),
            Some("--ensure-user") => ensure_user = true,
            Some("--guarded") => guarded = true,
            Some("--deny-root") => denies_root = true,
            _ => return Err(format!("unknown option {option:?}; see boxd --help")),
        }
    }
    if stdio == socket.is_some() {
        return Err("one of --socket and --stdio is needed".to_string());
    }
    let id = id.ok_or("--id is missing")?;
    Ok(Command::Serve(ServeOptions { id, socket, ttl, ensure_user, denies_root, guarded }))
}

fn parse_relay(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut inspector = None;
    while let Some(option) = arguments.next() {
        match option.to_str() {
            Some("--inspector") => inspector = Some(value(&option, &mut arguments)?.into()),
            _ => return Err(format!("unknown option {option:?}; see boxd --help")),
        }
    }
    let inspector = inspector.ok_or("--inspector is missing")?;
    Ok(Command::Relay(RelayOptions { inspector }))
}

fn parse_apply(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut options = ApplyOptions::default();
    while let Some(option) = arguments.next() {
        let value = value(&option, &mut arguments)?;
        match option.to_str() {
            Some("--box") => options.sandbox = Some(value.into()),
            Some("--mirror") => options.mirror = Some(value.into()),
            Some("--recover") => options.recover = Some(value.into()),
            Some("--die-after") => {
                let count = value.to_str().and_then(|text| text.parse().ok());
                options.die_after = Some(count.ok_or("--die-after takes a number")?);
            }
            _ => return Err(format!("unknown option {option:?}; see boxd --help")),
        }
    }
    let said = [&options.sandbox, &options.mirror, &options.recover];
    if said.into_iter().flatten().count() != 1 {
        return Err("one of --box, --mirror and --recover is needed".to_string());
    }
    Ok(Command::Apply(options))
}

fn parse_mirror(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let asked = arguments.next();
    let asked = match asked.as_ref().and_then(|option| option.to_str()) {
        Some("--pin") => MirrorOptions::Pin,
        Some("--list") => MirrorOptions::List,
        Some("--pack") => MirrorOptions::Pack,
        _ => return Err("one of --pin, --list and --pack is needed".to_string()),
    };
    match arguments.next() {
        Some(more) => Err(format!("unknown option {more:?}; see boxd --help")),
        None => Ok(Command::Mirror(asked)),
    }
}

fn parse_unpack(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut options =
        UnpackOptions { to: None, remove: None, is_plain: false, limits: Limits::DEFAULT };
    while let Some(option) = arguments.next() {
        match option.to_str() {
            Some("--to") => options.to = Some(value(&option, &mut arguments)?.into()),
            Some("--remove") => options.remove = Some(value(&option, &mut arguments)?.into()),
            Some("--plain") => options.is_plain = true,
            Some("--entries") => options.limits.entries = number(&option, &mut arguments)?,
            Some("--bytes") => options.limits.bytes = number(&option, &mut arguments)?,
            _ => return Err(format!("unknown option {option:?}; see boxd --help")),
        }
    }
    if options.to.is_some() == options.remove.is_some() {
        return Err("one of --to and --remove is needed".to_string());
    }
    Ok(Command::Unpack(options))
}

fn milliseconds(
    option: &OsString,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<Duration, String> {
    number(option, arguments).map(Duration::from_millis)
}

fn number(
    option: &OsString,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<u64, String> {
    let text = value(option, arguments)?;
    let found = text.to_str().and_then(|text| text.parse().ok());
    found.ok_or(format!("{option:?} {text:?} is not a number"))
}

fn value(
    option: &OsString,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<OsString, String> {
    arguments.next().ok_or(format!("{option:?} needs a value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn command_lines_mean_what_the_help_says() {
        assert_eq!(
            parsed("hold --dir /x --idle-exit-ms 50"),
            Ok(Command::Hold(HoldOptions {
                directory: "/x".into(),
                idle_exit: Some(Duration::from_millis(50)),
                foreground: false,
                die_at: None,
            }))
        );
        assert_eq!(
            parsed("serve --id abc --stdio --ttl-ms 9"),
            Ok(Command::Serve(ServeOptions {
                id: "abc".into(),
                socket: None,
                ttl: Some(Duration::from_millis(9)),
                ensure_user: false,
                guarded: false,
                denies_root: false,
            }))
        );
        for wrong in [
            "",
            "hold",
            "hold --dir",
            "hold --dir /x --idle-exit-ms x",
            "hold --dir /x --die-at x",
            "serve --id a",
            "relay",
            "apply",
            "apply --box a --recover b",
            "apply --box a --mirror b",
            "mirror",
            "mirror --list --pack",
            "unpack",
            "unpack --to a --remove b",
            "unpack --to a --bytes x",
            "x",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
