//! Who this process is to the kernel: ids, groups, capabilities.
//!
//! The raw calls are used on purpose: libc's wrappers change every thread of the process, and
//! the child of a vfork must change nothing but itself.

use super::checked;
use std::io;

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const LAST_CAPABILITY: u32 = 63;

/// A set of capabilities, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities(pub u64);

impl Capabilities {
    pub const NONE: Capabilities = Capabilities(0);

    pub fn contains(self, capability: u32) -> bool {
        self.0 & (1 << capability) != 0
    }
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

pub fn effective_uid() -> u32 {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::geteuid() }
}

pub fn effective_gid() -> u32 {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::getegid() }
}

pub fn set_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: the slice is readable for its whole length.
    checked(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) })?;
    Ok(())
}

pub fn set_gid(gid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    Ok(())
}

pub fn set_uid(uid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) })?;
    Ok(())
}

pub fn set_effective_uid(uid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers; -1 leaves the other two ids alone.
    checked(unsafe { libc::syscall(libc::SYS_setresuid, -1i32, uid, -1i32) })?;
    Ok(())
}

/// The ids that file accesses are judged by. Leaving uid 0 also drops the file capabilities,
/// coming back to it restores them.
pub fn set_file_ids(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers. The calls return the former id and never an error, not even for
    // an id that this namespace does not have; no id at all only asks.
    let (now_gid, now_uid) = unsafe {
        if libc::syscall(libc::SYS_setfsgid, gid) == -1
            && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS)
        {
            return set_effective_ids(uid, gid);
        }
        libc::syscall(libc::SYS_setfsuid, uid);
        (libc::syscall(libc::SYS_setfsgid, -1i32), libc::syscall(libc::SYS_setfsuid, -1i32))
    };
    match (now_uid as u32, now_gid as u32) == (uid, gid) {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// The same for gVisor's kernel, where only the effective ids judge. All else that they judge is
/// judged so too meanwhile, which is less than root's own. The saved ids stay, to come back by.
fn set_effective_ids(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers; -1 leaves the other two ids alone.
    let set_gid =
        || checked(unsafe { libc::syscall(libc::SYS_setresgid, -1i32, gid, -1i32) }).map(drop);
    // The group can be changed with root's rights alone: before they go, and after they are back.
    if uid != 0 {
        set_gid()?;
        return set_effective_uid(uid);
    }
    set_effective_uid(uid)?;
    set_gid()
}

/// Makes `keep` all this process has. A capability it lacks already cannot be kept.
pub fn set_capabilities(keep: Capabilities) -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let half = |bits: u32| CapabilityData { effective: bits, permitted: bits, inheritable: 0 };
    let data = [half(keep.0 as u32), half((keep.0 >> 32) as u32)];
    // SAFETY: version 3 reads one header and two data structs.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) })?;
    Ok(())
}

/// What this process may use.
pub fn permitted_capabilities() -> io::Result<Capabilities> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let none = || CapabilityData { effective: 0, permitted: 0, inheritable: 0 };
    let mut data = [none(), none()];
    // SAFETY: version 3 reads one header and fills two data structs.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) })?;
    Ok(Capabilities(u64::from(data[0].permitted) | u64::from(data[1].permitted) << 32))
}

/// Removes everything but `keep` from the bounding set, and all of the ambient set.
pub fn bound_capabilities(keep: Capabilities) -> io::Result<()> {
    for capability in (0..=LAST_CAPABILITY).filter(|&bit| !keep.contains(bit)) {
        // SAFETY: takes no pointers.
        match checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }) {
            // The kernel knows fewer capabilities than there are bits.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            outcome => outcome?,
        };
    }
    // SAFETY: takes no pointers.
    match checked(unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    }) {
        // gVisor's kernel has no ambient set, and says so; any other that refuses must show that it is empty.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && has_no_ambient_set() => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Whether this kernel shows that no capability can be ambient: it knows no such set, or it is empty.
fn has_no_ambient_set() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| shows_no_ambient(&status))
}

/// A status that names no set at all proves nothing.
fn shows_no_ambient(status: &str) -> bool {
    let set = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let is_empty = |bits: &str| !bits.is_empty() && bits.bytes().all(|digit| digit == b'0');
    set("CapEff:").is_some() && set("CapAmb:").is_none_or(is_empty)
}

/// No program that this process or its children run can gain a right by being run.
pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambient_set_is_absent_only_where_the_kernel_shows_it() {
        let others = "CapInh:\t0000000000000000\nCapEff:\t00000000a80425fb\n";
        assert!(shows_no_ambient(others));
        assert!(shows_no_ambient(&format!("{others}CapAmb:\t0000000000000000\n")));
        assert!(!shows_no_ambient(&format!("{others}CapAmb:\t0000000000000400\n")));
        assert!(!shows_no_ambient(&format!("{others}CapAmb:\t\n")));
        assert!(!shows_no_ambient(""));
    }
}
