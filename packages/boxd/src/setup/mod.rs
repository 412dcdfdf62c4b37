//! What a sandbox's first process does between its birth and its work: it builds the place it
//! will live in and leaves the host behind.

mod aside;
mod devices;
pub mod frozen;
mod home;
pub mod idmap;
pub mod judged;
mod kernel_files;
pub mod own_life;
mod place;
mod root;
pub mod trees;
mod volatile;
pub mod way_out;
pub mod workspace;

use crate::serve::ensure_user;
use crate::sys::path::HERE;
use crate::sys::{descriptor, mount, namespace, network};
use crate::wire::failure::Failure;
use crate::wire::hold_request::Root;
use crate::wire::limits::Limits;
pub use aside::Aside;
use frozen::Frozen;
use idmap::IdMap;
use judged::Judged;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use trees::Trees;
use way_out::WayOut;
use workspace::{Layers, Pinned};

pub struct Plan<'a> {
    pub root: &'a Root,
    pub hostname: &'a str,
    pub box_directory: &'a Path,
    pub ids: IdMap,
    pub limits: &'a Limits,
    /// Whether there is a way out, for the guard to watch.
    pub guarded: bool,
    pub workspace: Option<&'a Pinned>,
    pub judged: &'a [Judged],
    /// Layers that others share with it, below what hold lays over its root and above the rest.
    pub frozen: &'a [Frozen],
    /// It begins as a copy of another.
    pub is_copy: bool,
    /// What it writes outlives it, and so is brought to the medium.
    pub is_kept: bool,
}

/// Its network: loopback, and a way out if there is to be one.
pub fn connect(guarded: bool) -> Result<Option<WayOut>, Failure> {
    let way_out = guarded.then(way_out::make).transpose();
    let way_out = way_out.map_err(|error| Failure::unavailable("guarded network", &error))?;
    network::loopback_up().map_err(|error| Failure::unavailable("loopback interface", &error))?;
    Ok(way_out)
}

/// By the doors that hold lends; without one, it is in its groups already.
pub fn enter_groups(doors: Vec<OwnedFd>) -> Result<(), Failure> {
    for door in doors {
        descriptor::write(door, b"0")
            .map_err(|error| Failure::unavailable("control group", &error))?;
    }
    namespace::new_cgroup_namespace()
        .map_err(|error| Failure::unavailable("cgroup namespace", &error))
}

/// Once it has ids.
pub fn set_aside(ids: IdMap) -> Result<Aside, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    ids.become_root().map_err(step("mapped user ids"))?;
    mount::make_everything_private().map_err(step("private mounts"))?;
    Aside::make()
}

/// What the first process keeps of how its place was made, to be read.
pub struct Kept {
    /// All that was ever written to the root.
    pub written: OwnedFd,
    /// What those wrote whose layers it shares, the topmost first.
    pub below: Vec<OwnedFd>,
    pub workspace: Option<Layers>,
}

/// Its root, and all that belongs into it. After it, nothing of the host is in reach.
pub fn enter(plan: &Plan, aside: Aside, lent: Vec<OwnedFd>) -> Result<Kept, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    namespace::set_hostname(plan.hostname).map_err(step("host name"))?;
    let mut trees = match plan.ids {
        IdMap::Range { .. } => Trees::lent(lent, plan.root),
        // Without privilege hold can clone no mount, but inside its own namespace this process
        // can, with the same rights to the files.
        IdMap::Shared | IdMap::SharedWithOwner | IdMap::Single { .. } => {
            let workspace = plan.workspace.map(Pinned::tree_from_inside).transpose()?;
            Trees::clone_all(plan, None, None, workspace, &[])?
        }
    };
    let (new_root, shared) = root::assemble(&trees, plan)?;
    // While nothing is mounted into it that its names could lead to.
    if plan.is_copy {
        own_life::begin(new_root.as_fd(), plan.frozen, &shared)
            .map_err(step("a life of its own"))?;
    }
    aside.move_into(new_root.as_fd(), plan.limits)?;
    root::fill(new_root.as_fd(), &trees, plan.root, plan.limits)?;
    let layers = match (trees.workspace.take(), &plan.root.workspace, plan.workspace) {
        (Some(tree), Some(wanted), Some(pinned)) => {
            let permissions = pinned.permissions();
            workspace::mount(new_root.as_fd(), tree, wanted, permissions, plan.ids, plan.is_kept)?
        }
        _ => None,
    };
    let written = mount::view_of(HERE, Path::new("w/upper")).map_err(step("writable layer"))?;
    let below = shared.iter().map(|name| mount::view_of(HERE, Path::new(name)));
    let below = below.collect::<io::Result<_>>().map_err(step("shared layer"))?;
    root::leave_host(new_root).map_err(step("pivot_root"))?;
    if plan.guarded {
        way_out::name_resolver().map_err(step("/etc/resolv.conf"))?;
    }
    if plan.root.adds_user {
        // With a single id everything is the user's already.
        let has_ids = !matches!(plan.ids, IdMap::Single { .. });
        ensure_user::ensure_user(has_ids)
            .map_err(|error| Failure::about_path("the image's /etc/passwd", &error))?;
    }
    if plan.ids == IdMap::Shared {
        home::give_to_user().map_err(step("home folder"))?;
    }
    plan.ids.settle().map_err(step("inner user namespace"))?;
    Ok(Kept { written, below, workspace: layers })
}
