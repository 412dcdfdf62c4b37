//! Which ids outside a sandbox stand for the ids inside it. The one place that chooses.

use crate::sys::{credentials, namespace};
use std::fs;
use std::io;

/// Every id of a sandbox with a range is below this.
pub const RANGE: u32 = 65_536;
/// Far above what distributions hand out, so that no range meets a real user.
const FIRST_BASE: u32 = 0x1000_0000;
/// Below every base: who writes to volumes and is not their owner, in whichever sandbox.
pub const VOLUMES: u32 = FIRST_BASE - RANGE;
const LAST_BASE: u32 = 0xF000_0000;
/// The `user` of every sandbox, and the only one where there is no range.
pub const USER: u32 = 1000;
/// In hold's own user namespace.
const FIRST_LENT: u32 = 1;

/// What hold has to give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdSupply {
    /// It is root: a range for each sandbox.
    Ranges,
    /// It is an ordinary user with subordinate ids: one range for all of its sandboxes.
    Shared,
    /// Its own id and no other, and why.
    Single { why: String },
}

impl IdSupply {
    pub fn name(&self) -> &'static str {
        match self {
            IdSupply::Ranges => "range",
            IdSupply::Shared => "shared",
            IdSupply::Single { .. } => "single",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdMap {
    /// A range of the sandbox's own.
    Range { base: u32 },
    /// All that hold's own user namespace has, whose root is hold's user and the sandbox's root.
    Shared,
    /// The same, but hold's user is the sandbox's `user`, to whom the owner's own files then belong
    /// inside: it has one for its workspace. Its root is the first id that is lent.
    SharedWithOwner,
    /// hold's one id is the sandbox's `user`.
    Single { uid: u32, gid: u32 },
}

impl IdMap {
    /// The map for a new sandbox, given the bases of those that live. Each hold begins its search
    /// at `seed`, since it does not know of others: two sandboxes with one range would share what
    /// the kernel counts for each user.
    ///
    /// `of_owner`: the sandbox's user works on files that belong to hold's.
    pub fn choose(
        supply: &IdSupply,
        of_owner: bool,
        seed: u64,
        in_use: impl Fn(u32) -> bool,
    ) -> io::Result<IdMap> {
        match supply {
            IdSupply::Ranges => next_free_base(seed, in_use)
                .map(|base| IdMap::Range { base })
                .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC)),
            IdSupply::Shared if of_owner => Ok(IdMap::SharedWithOwner),
            IdSupply::Shared => Ok(IdMap::Shared),
            IdSupply::Single { .. } => Ok(IdMap::Single {
                uid: credentials::effective_uid(),
                gid: credentials::effective_gid(),
            }),
        }
    }

    pub fn base(self) -> Option<u32> {
        match self {
            IdMap::Range { base } => Some(base),
            IdMap::Shared | IdMap::SharedWithOwner | IdMap::Single { .. } => None,
        }
    }

    /// Who the sandbox's root is to hold, if not hold itself.
    pub fn root(self) -> Option<u32> {
        match self {
            IdMap::Range { base } => Some(base),
            IdMap::SharedWithOwner => Some(FIRST_LENT),
            IdMap::Shared | IdMap::Single { .. } => None,
        }
    }

    /// hold's part: the map of the process it has just made.
    pub fn write(self, pid: i32) -> io::Result<()> {
        match self {
            IdMap::Range { base } => write_both(pid, &format!("0 {base} {RANGE}")),
            // No line may reach across two of the namespace above.
            IdMap::Shared => write_both(pid, &format!("0 0 1\n1 1 {}", RANGE - 1)),
            IdMap::SharedWithOwner => {
                let above = format!("{} {} {}", USER + 1, USER + 1, RANGE - USER - 1);
                write_both(pid, &format!("0 {FIRST_LENT} {USER}\n{USER} 0 1\n{above}"))
            }
            IdMap::Single { uid, gid } => {
                // The kernel lets nobody without privilege keep the power to drop groups.
                fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
                fs::write(format!("/proc/{pid}/uid_map"), format!("0 {uid} 1"))?;
                fs::write(format!("/proc/{pid}/gid_map"), format!("0 {gid} 1"))
            }
        }
    }

    /// Runs `work` with the effective uid that the new user namespace shall be charged to:
    /// limits such as inotify instances count per creator, and sandboxes must not share them.
    ///
    /// With `own_files`, files are still opened as hold itself, such as the control group that
    /// a clone goes into.
    pub fn charged_to<T>(
        self,
        own_files: bool,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(base) = self.base() else {
            return work();
        };
        credentials::set_effective_uid(base)?;
        let outcome = match own_files {
            true => credentials::set_file_ids(0, 0).and_then(|()| work()),
            false => work(),
        };
        credentials::set_effective_uid(0)?;
        outcome
    }

    /// The sandbox's part, first: its root, which is nobody outside.
    pub fn become_root(self) -> io::Result<()> {
        if !matches!(self, IdMap::Single { .. }) {
            credentials::set_groups(&[])?;
        }
        credentials::set_gid(0)?;
        credentials::set_uid(0)
    }

    /// The sandbox's part, last. The single id had to be 0 so far, because devpts insists on a
    /// mapped root; an inner user namespace turns it into the `user` it stands for. That one
    /// owns none of the other namespaces, so no capability in it reaches them.
    pub fn settle(self) -> io::Result<()> {
        if let IdMap::Single { .. } = self {
            namespace::new_user_namespace()?;
            fs::write("/proc/self/uid_map", format!("{USER} 0 1"))?;
            fs::write("/proc/self/gid_map", format!("{USER} 0 1"))?;
        }
        Ok(())
    }
}

fn write_both(pid: i32, map: &str) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/uid_map"), map)?;
    fs::write(format!("/proc/{pid}/gid_map"), map)
}

fn next_free_base(seed: u64, in_use: impl Fn(u32) -> bool) -> Option<u32> {
    let count = (LAST_BASE - FIRST_BASE) / RANGE + 1;
    let start = (seed % u64::from(count)) as u32;
    (0..count).map(|step| FIRST_BASE + (start + step) % count * RANGE).find(|&base| !in_use(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_range_is_taken_from_the_seed_on() {
        let taken = [FIRST_BASE, FIRST_BASE + RANGE, FIRST_BASE + 3 * RANGE];
        let free = |seed| next_free_base(seed, |base| taken.contains(&base));
        assert_eq!(next_free_base(0, |_| false), Some(FIRST_BASE));
        assert_eq!(free(0), Some(FIRST_BASE + 2 * RANGE));
        assert_eq!(free(3), Some(FIRST_BASE + 4 * RANGE));
        assert_eq!(next_free_base(57_344, |_| false), Some(LAST_BASE));
        assert_eq!(next_free_base(57_344, |base| base == LAST_BASE), Some(FIRST_BASE));
        assert_eq!(next_free_base(7, |_| true), None);
    }

    #[test]
    fn ranges_never_overlap_and_never_reach_real_users() {
        let mut taken = Vec::new();
        for _ in 0..500 {
            let base = next_free_base(57_000, |base| taken.contains(&base)).unwrap();
            assert!(base >= FIRST_BASE && base % RANGE == 0);
            assert!(base.checked_add(RANGE).is_some());
            taken.push(base);
        }
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 500);
    }
}
