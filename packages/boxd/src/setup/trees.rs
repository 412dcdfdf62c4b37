//! The host folders a sandbox is made of, as detached mounts.

use super::Plan;
use super::judged::Judged;
use super::workspace::of_volume;
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_SUID, READ_ONLY};
use crate::sys::path::{self, HERE};
use crate::wire::failure::{Code, Failure};
use crate::wire::hold_request::Root;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

pub struct Trees {
    /// The sandbox's own folder or disk, with `upper` and `work` in it.
    pub writable: OwnedFd,
    pub lowers: Vec<OwnedFd>,
    pub binds: Vec<OwnedFd>,
    pub workspace: Option<OwnedFd>,
}

impl Trees {
    /// With `ids`, everything but the writable folder is shown through that user namespace's
    /// map: what belongs to uid 1000 outside belongs to uid 1000 inside.
    pub fn clone_all(
        plan: &Plan,
        ids: Option<BorrowedFd>,
        disk: Option<OwnedFd>,
        workspace: Option<OwnedFd>,
        frozen: &[(String, OwnedFd)],
    ) -> Result<Trees, Failure> {
        let Plan { root, judged, .. } = plan;
        let writable = match disk {
            Some(disk) => disk,
            None => clone(&[], plan.box_directory, Depth::This, ids)?,
        };
        let shown = |path: &str, depth, attributes| {
            shown(clone(judged, Path::new(path), depth, ids)?, depth, attributes, ids)
        };
        mount::set_attributes(&writable, Depth::This, NO_SUID | NO_DEVICES, None)
            .map_err(|error| Failure::unavailable("mount attributes", &error))?;
        let lowers = root
            .lowers
            .iter()
            .map(|path| match frozen.iter().find(|(name, _)| name == path) {
                Some((_, tree)) => {
                    tree.try_clone().map_err(|error| Failure::unavailable("shared layer", &error))
                }
                None => shown(path, Depth::This, READ_ONLY),
            })
            .collect::<Result<_, _>>()?;
        let binds = root
            .mounts
            .iter()
            .map(|bind| {
                let attributes = if bind.read_only { READ_ONLY } else { 0 };
                match plan.ids.base().filter(|_| bind.is_owned && ids.is_some()) {
                    Some(base) => owned(judged, Path::new(&bind.source), attributes, base, ids),
                    None => shown(&bind.source, Depth::WithSubmounts, attributes),
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Trees { writable, lowers, binds, workspace })
    }

    /// The trees in the order in which `lent` takes them.
    pub fn into_list(self) -> Vec<OwnedFd> {
        let layers = [self.writable].into_iter().chain(self.lowers);
        layers.chain(self.binds).chain(self.workspace).collect()
    }

    pub fn lent(list: Vec<OwnedFd>, root: &Root) -> Trees {
        let mut list = list.into_iter();
        let writable = list.next().expect("hold lends the writable tree first");
        let lowers = list.by_ref().take(root.lowers.len()).collect();
        let binds = list.by_ref().take(root.mounts.len()).collect();
        Trees { writable, lowers, binds, workspace: list.next() }
    }
}

/// With `ids` this is hold; without, the sandbox's own first process.
fn clone(
    judged: &[Judged],
    path: &Path,
    depth: Depth,
    ids: Option<BorrowedFd>,
) -> Result<OwnedFd, Failure> {
    let tree = match (Judged::find(judged, path), ids) {
        (Some(one), Some(_)) => one.tree(depth),
        (Some(one), None) => one.tree_from_inside(depth),
        (None, _) => mount::clone_tree(HERE, path, depth),
    };
    tree.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP) => {
            Failure::about_path(path.display(), &error)
        }
        _ => Failure::unavailable(&format!("mount of {}", path.display()), &error),
    })
}

fn shown(
    tree: OwnedFd,
    depth: Depth,
    attributes: u64,
    ids: Option<BorrowedFd>,
) -> Result<OwnedFd, Failure> {
    let attributes = attributes | NO_SUID | NO_DEVICES;
    let set = |ids| mount::set_attributes(&tree, depth, attributes, ids);
    let outcome = match set(ids) {
        // A filesystem that cannot be shown through a map is still readable, as nobody's.
        Err(error) if ids.is_some() && cannot_be_mapped(&error) => set(None),
        outcome => outcome,
    };
    outcome.map_err(|error| Failure::unavailable("mount attributes", &error))?;
    Ok(tree)
}

/// hold's part, where hold is root: a volume, in which the sandbox's root makes no file of the
/// host's root's.
fn owned(
    judged: &[Judged],
    path: &Path,
    attributes: u64,
    base: u32,
    ids: Option<BorrowedFd>,
) -> Result<OwnedFd, Failure> {
    let step = |layer: &'static str| move |error: io::Error| Failure::unavailable(layer, &error);
    let tree = clone(judged, path, Depth::This, ids)?;
    let found = path::stat(tree.as_fd(), "").map_err(step("owner of a volume"))?;
    let ids = of_volume(found.st_uid, found.st_gid, base).map_err(step("user ids of a volume"))?;
    let attributes = attributes | NO_SUID | NO_DEVICES;
    mount::set_attributes(&tree, Depth::This, attributes, Some(ids.as_fd()))
        .map_err(step("id map of a volume's filesystem"))?;
    Ok(tree)
}

fn cannot_be_mapped(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM | libc::EOPNOTSUPP))
}

/// What `root` asks for can be carried out, as far as its words tell.
pub fn check(root: &Root) -> Result<(), Failure> {
    let Root { mounts, tmpfs, .. } = root;
    if root.lowers.is_empty() {
        return Err(Failure::invalid("root.lowers names no layer"));
    }
    if root.lowers.len() + mounts.len() + tmpfs.len() > 200 {
        return Err(Failure::invalid("root names more than 200 layers, mounts and tmpfs"));
    }
    let workspace = root.workspace.as_ref();
    let sources = root.lowers.iter().chain(mounts.iter().map(|bind| &bind.source));
    let sources = sources.chain(workspace.map(|one| &one.source));
    for source in sources {
        if !source.starts_with('/') || source.contains('\0') {
            return Err(Failure::invalid(format!("not an absolute path: {source:?}")));
        }
    }
    let targets = tmpfs.iter().chain(mounts.iter().map(|bind| &bind.target));
    for target in targets.chain(workspace.map(|one| &one.target)) {
        if !is_allowed_target(target) {
            let message = format!("nothing can be mounted at {target:?}");
            return Err(Failure::new(Code::InvalidRequest, message));
        }
    }
    Ok(())
}

/// Absolute, free of `..`, and not among what boxd itself mounts.
fn is_allowed_target(target: &str) -> bool {
    let parts: Vec<&str> =
        target.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    target.starts_with('/')
        && !target.contains('\0')
        && !parts.contains(&"..")
        && !matches!(parts.first(), None | Some(&"proc" | &"dev" | &"sys"))
}

#[cfg(test)]
mod tests {
    use super::is_allowed_target;

    #[test]
    fn targets_stay_inside_and_off_the_kernel() {
        for good in ["/usr", "/home/user/work", "/tmp/", "/a/./b"] {
            assert!(is_allowed_target(good), "{good}");
        }
        for bad in
            ["", "/", "usr", "/..", "/a/../b", "/proc", "/proc/sys", "/dev/null", "/./dev", "/a\0"]
        {
            assert!(!is_allowed_target(bad), "{bad}");
        }
    }
}
