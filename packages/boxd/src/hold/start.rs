//! How hold begins: with what an earlier one left.

use super::folder::Folder;
use super::means::Means;
use super::orphans::Orphans;
use super::registry::Registry;
use super::share::Sharing;
use super::source::Source;
use super::spares::Spares;
use super::tools::Tools;
use super::trash::Trash;
use super::waiting::Waiters;
use super::watch::Hold;
use super::{StartError, adopt, record};
use crate::arguments::HoldOptions;
use crate::cgroup::{self, Leftovers};
use crate::sys::epoll::{self, Epoll};
use crate::sys::process::{self, FileLimit};
use crate::sys::signal::{self, Signals};
use std::collections::BTreeMap;

impl Hold {
    pub fn start(folder: Folder, options: &HoldOptions) -> Result<Hold, StartError> {
        let lock = folder.lock()?;
        process::set_umask(0o022);
        // Before the first sandbox, which inherits it.
        signal::reset_for_server();
        let failed = |error| StartError::failed("cannot start", error);
        let boot_id = record::boot_id().map_err(failed)?;
        let seed = cgroup::number_of(&folder.path).map_err(failed)?;
        let mut trash = Trash::default();
        let spares = Spares::start(&folder, &mut trash).map_err(failed)?;
        let (living, resting) = adopt::survivors(&folder, &boot_id, &mut trash).map_err(failed)?;
        let means = Means::find(&folder);
        let tools = Tools::make(&folder.tools(), !living.is_empty()).map_err(failed)?;
        let mut leftovers = Leftovers::default();
        let groups = || living.iter().filter_map(|sandbox| sandbox.record.group.as_ref());
        let is_alive = |name: &str| groups().any(|group| group.is_called(name));
        leftovers.sweep(&folder.group_diary(), &means.groups, is_alive).map_err(failed)?;
        let listener = folder.listen()?;
        let socket = folder.socket_identity();
        let signals = Signals::of(&[libc::SIGTERM, libc::SIGINT]).map_err(failed)?;
        let epoll = Epoll::new().map_err(failed)?;
        epoll.add(&listener, epoll::READABLE, Source::Listener.token()).map_err(failed)?;
        epoll.add(&signals, epoll::READABLE, Source::Signals.token()).map_err(failed)?;
        let mut hold = Hold {
            folder,
            boot_id,
            seed,
            epoll,
            clients: BTreeMap::new(),
            registry: Registry::default(),
            orphans: Orphans::among(&living),
            resting,
            sharing: Sharing::default(),
            spares,
            waiters: Waiters::default(),
            trash,
            means,
            tools,
            leftovers,
            tethers: Vec::new(),
            limits: FileLimit::raise().map_err(failed)?,
            last_client: 0,
            listener,
            socket,
            signals,
            idle_exit: options.idle_exit,
            idle_since: None,
            is_told_to_leave: false,
            _lock: lock,
        };
        for sandbox in living {
            hold.adopt(sandbox);
        }
        hold.sweep_layers();
        hold.waiters.stand_back();
        Ok(hold)
    }
}
