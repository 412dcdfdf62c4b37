//! What serve gives up before it runs anything, and what programs get.

use crate::seccomp;
use crate::sys::credentials::{self, Capabilities};
use crate::sys::process;
use crate::sys::spawn::Become;
use std::io;

use super::users::User;

const CHOWN: u64 = 1 << 0;
const DAC_OVERRIDE: u64 = 1 << 1;
const FOWNER: u64 = 1 << 3;
const FSETID: u64 = 1 << 4;
const KILL: u64 = 1 << 5;
const SETGID: u64 = 1 << 6;
const SETUID: u64 = 1 << 7;
const SETPCAP: u64 = 1 << 8;
const NET_BIND_SERVICE: u64 = 1 << 10;

/// What the sandbox's own root may do, all of it inside its user namespace.
const FOR_ROOT: u64 =
    CHOWN | DAC_OVERRIDE | FOWNER | FSETID | KILL | SETGID | SETUID | NET_BIND_SERVICE;

/// Whose rights this server can give to programs and use on files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Anybody's, or anybody's but root's.
    Any { for_root: Capabilities, has_root: bool },
    /// Only those of the one uid it has.
    Only { uid: u32 },
}

impl Identity {
    pub fn for_program(self, user: &User) -> (Become, Capabilities, Capabilities) {
        match self {
            Identity::Any { for_root, .. } => {
                let groups = user.groups.clone();
                let become_user = Become::User { uid: user.uid, gid: user.gid, groups };
                match user.uid {
                    0 => (become_user, for_root, Capabilities::NONE),
                    _ => (become_user, Capabilities::NONE, for_root),
                }
            }
            Identity::Only { .. } => (Become::Same, Capabilities::NONE, Capabilities::NONE),
        }
    }
}

/// From here on this process can only lose rights, and so can all that it runs.
pub fn confine(has_root: bool) -> io::Result<Identity> {
    let identity = give_up_rights(has_root)?;
    // Last, because it also refuses some of what leads here.
    seccomp::enter().map_err(|error| io::Error::other(format!("seccomp filter: {error}")))?;
    Ok(identity)
}

fn give_up_rights(has_root: bool) -> io::Result<Identity> {
    process::be_undumpable()?;
    process::no_core_dumps()?;
    process::set_umask(0o022);
    credentials::no_new_privileges()?;
    let uid = credentials::effective_uid();
    let permitted = credentials::permitted_capabilities()?.0;
    let can_be_anybody = uid == 0 && permitted & (SETUID | SETGID) == SETUID | SETGID;
    if !can_be_anybody {
        if permitted & SETPCAP != 0 {
            credentials::bound_capabilities(Capabilities::NONE)?;
        }
        credentials::set_capabilities(Capabilities::NONE)?;
        return Ok(Identity::Only { uid });
    }
    let for_root = Capabilities(FOR_ROOT & permitted);
    credentials::set_groups(&[])?;
    if permitted & SETPCAP != 0 {
        credentials::bound_capabilities(for_root)?;
    }
    // SETPCAP stays with this process, to take capabilities from programs before they run.
    credentials::set_capabilities(Capabilities(for_root.0 | SETPCAP & permitted))?;
    Ok(Identity::Any { for_root, has_root })
}
