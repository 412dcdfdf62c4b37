//! The three ways in which a server comes to be.

use super::Server;
use super::confine::{self, Identity};
use super::connection::Connection;
use super::elevate::Elevations;
use super::environment;
use super::source::Source;
use super::users;
use super::workspace::Workspace;
use crate::setup::Kept;
use crate::setup::way_out::WayOut;
use crate::sys::epoll::{self, Epoll};
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::sys::signal::{self, Signals};
use crate::sys::spawn::Spawner;
use crate::sys::{descriptor, process};
use crate::wire::failure::Failure;
use crate::wire::fields::Dictionary;
use crate::wire::hold_request::Create;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// What a sandbox of hold's is born with, besides its listener.
pub struct FromHold {
    pub kept: Kept,
    pub way_out: Option<WayOut>,
}

impl Server {
    /// As the first process of a sandbox that hold has made: the connection that asked for it
    /// is the first client, `arrived` what it has sent already.
    pub fn in_box(
        create: &Create,
        client: UnixStream,
        arrived: &[u8],
        listener: UnixListener,
        from_hold: FromHold,
    ) -> Result<Server, Failure> {
        let failed = |error| Failure::unavailable("first process", &error);
        let environment = create.env.clone();
        // While nothing else runs here that could take its name.
        let elevations = Elevations::listen().map_err(failed)?;
        let has_root = !create.denies_root;
        let mut server =
            start(&create.id, environment, has_root, Some(listener)).map_err(failed)?;
        let token = Source::Callers.token();
        server.epoll.add(elevations.listener(), epoll::READABLE, token).map_err(failed)?;
        server.elevations = Some(elevations);
        server.awaits_owner = create.is_pooled;
        let FromHold { kept, way_out } = from_hold;
        if let Some(way_out) = way_out {
            server.keep_way_out(way_out).map_err(failed)?;
        }
        let workspace = create.root.workspace.as_ref();
        let workspace = workspace.map(|one| Workspace::new(one, kept.workspace)).transpose();
        server.workspace = workspace.map_err(failed)?;
        server.written = Some(kept.written);
        server.directory = create.root.directory.clone();
        if let (Some(user), Identity::Any { .. }) = (&create.root.user, server.identity) {
            users::prefer(user);
        }
        server.below = kept.below;
        let mounts = create.root.mounts.iter().map(|bind| &bind.target);
        server.covered = mounts.chain(&create.root.tmpfs).cloned().collect();
        server.complete_undo();
        descriptor::replace_standard_streams(&server.nowhere).map_err(failed)?;
        let reader = OwnedFd::from(client);
        let writer = reader.try_clone().map_err(failed)?;
        server.meet(Connection::new(reader, writer, arrived));
        Ok(server)
    }

    pub fn at_socket(
        id: &str,
        path: &Path,
        has_root: bool,
        way_out: Option<WayOut>,
    ) -> Result<Server, Failure> {
        signal::reset_for_server();
        let listen = || {
            // A socket that is there is what an earlier run of the same place left.
            if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
                fs::remove_file(path)?;
            }
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            let mut server = start(id, environment::inherited(), has_root, Some(listener))?;
            if let Some(way_out) = way_out {
                server.keep_way_out(way_out)?;
            }
            Ok(server)
        };
        listen().map_err(|error| Failure::about_path(path.display(), &error))
    }

    /// Over standard input and output. Ends with them.
    pub fn on_standard_streams(id: &str, has_root: bool) -> Result<Server, Failure> {
        let failed = |error| Failure::unavailable("standard streams", &error);
        signal::reset_for_server();
        let mut server = start(id, environment::inherited(), has_root, None).map_err(failed)?;
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let reader = stdin.as_fd().try_clone_to_owned().map_err(failed)?;
        let writer = stdout.as_fd().try_clone_to_owned().map_err(failed)?;
        descriptor::set_nonblocking(&reader).map_err(failed)?;
        descriptor::set_nonblocking(&writer).map_err(failed)?;
        // Programs must not meet the connection as their own standard streams.
        descriptor::replace_standard_streams(&server.nowhere).map_err(failed)?;
        server.meet(Connection::new(reader, writer, &[]));
        Ok(server)
    }
}

fn start(
    id: &str,
    environment: Dictionary,
    has_root: bool,
    listener: Option<UnixListener>,
) -> io::Result<Server> {
    if std::process::id() != 1 {
        process::adopt_orphans()?;
    }
    let identity = confine::confine(has_root)?;
    let server = Server {
        id: id.to_string(),
        environment,
        awaits_owner: false,
        identity,
        nowhere: path::open(HERE, "/dev/null", libc::O_RDWR, 0, NO_MAGIC)?,
        epoll: Epoll::new()?,
        signals: Signals::of(&[libc::SIGCHLD, libc::SIGTERM])?,
        listener,
        elevations: None,
        connections: Default::default(),
        streams: Default::default(),
        processes: Default::default(),
        spawner: Spawner::new()?,
        leftovers: Default::default(),
        last_leftover: 0,
        scratch: Default::default(),
        lending: None,
        written: None,
        below: Vec::new(),
        covered: Vec::new(),
        workspace: None,
        directory: None,
        ends_at: None,
        is_ending: false,
        is_alone: false,
        is_untidy: true,
    };
    server.watch_sources()?;
    Ok(server)
}
