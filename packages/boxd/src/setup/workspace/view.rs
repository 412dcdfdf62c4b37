//! User namespaces that nobody lives in: their maps say as whom a mount shows the owners of files.

use crate::setup::idmap::{RANGE, USER, VOLUMES};
use crate::sys::descriptor;
use crate::sys::process::{self, Clone};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The owner is the sandbox's `user`; nobody else is anybody, and can be made nobody's.
pub fn of_owner(uid: u32, gid: u32, base: u32) -> io::Result<OwnedFd> {
    let only = |id: u32| format!("{id} {} 1", base + USER);
    namespace(&only(uid), &only(gid))
}

/// The owner is the sandbox's `user`, who is the owner in exchange; everybody else is the same.
pub fn of_everybody(uid: u32, gid: u32, base: u32) -> io::Result<OwnedFd> {
    namespace(&exchanged(uid, base), &exchanged(gid, base))
}

/// The owner is the sandbox's `user`; everybody else of every sandbox is one of a range that is
/// nobody's outside, so that what one sandbox's root writes is the next one's root's.
pub fn of_volume(uid: u32, gid: u32, base: u32) -> io::Result<OwnedFd> {
    let lines = |owner: u32| {
        let (first, last) = (VOLUMES, VOLUMES + USER + 1);
        let below = format!("{first} {base} {USER}\n{owner} {} 1\n", base + USER);
        format!("{below}{last} {} {}\n", base + USER + 1, RANGE - USER - 1)
    };
    namespace(&lines(uid), &lines(gid))
}

/// The ids of one range are those of another.
pub fn of_range(from: u32, to: u32) -> io::Result<OwnedFd> {
    let all = format!("{from} {to} {RANGE}");
    namespace(&all, &all)
}

fn exchanged(owner: u32, base: u32) -> String {
    let (low, high) = (owner.min(USER), owner.max(USER));
    let mut lines = String::new();
    let mut map = |from: u32, to: u32, count: u32| {
        if count > 0 {
            lines.push_str(&format!("{from} {} {count}\n", base + to));
        }
    };
    if owner >= RANGE {
        // There is no room for who is `user` outside.
        map(0, 0, USER);
        map(owner, USER, 1);
        map(USER + 1, USER + 1, RANGE - USER - 1);
    } else if low == high {
        map(0, 0, RANGE);
    } else {
        map(0, 0, low);
        map(low, high, 1);
        map(low + 1, low + 1, high - low - 1);
        map(high, low, 1);
        map(high + 1, high + 1, RANGE - high - 1);
    }
    lines
}

/// Needs somebody to be born in it, who waits and leaves.
fn namespace(uids: &str, gids: &str) -> io::Result<OwnedFd> {
    let (wait, go) = descriptor::pipe()?;
    let (pid, pidfd) = match process::clone_into(libc::CLONE_NEWUSER)? {
        Clone::Parent { pid, pidfd } => (pid, pidfd),
        Clone::Child => {
            let _ = descriptor::close_all_except(&mut [wait.as_raw_fd()]);
            let _ = descriptor::read(&wait, &mut [0]);
            process::exit_now(0)
        }
    };
    let made = fs::write(format!("/proc/{pid}/uid_map"), uids)
        .and_then(|()| fs::write(format!("/proc/{pid}/gid_map"), gids))
        .and_then(|()| File::open(format!("/proc/{pid}/ns/user")));
    drop(go);
    process::await_end(pidfd);
    made.map(OwnedFd::from)
}

#[cfg(test)]
mod tests {
    use super::exchanged;

    #[test]
    fn owner_and_user_change_places_and_nobody_is_two() {
        assert_eq!(exchanged(1000, 0), "0 0 65536\n");
        assert_eq!(exchanged(0, 7), "0 1007 1\n1 8 999\n1000 7 1\n1001 1008 64535\n");
        assert_eq!(exchanged(65535, 0), "0 0 1000\n1000 65535 1\n1001 1001 64534\n65535 1000 1\n");
        assert_eq!(exchanged(200_000, 0), "0 0 1000\n200000 1000 1\n1001 1001 64535\n");
    }
}
