//! Subordinate ids: those that the host's root lends an ordinary user in /etc/subuid and
//! /etc/subgid. hold takes them once, when it starts, by moving into a user namespace that has
//! them; its sandboxes' namespaces below that one then take no other program and no waiting.

use crate::setup::idmap::RANGE;
use crate::sys::process::{self, Clone};
use crate::sys::{credentials, namespace, unix_socket};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The ids 1 and above of a sandbox; its 0 is hold's own.
const NEEDED: u32 = RANGE - 1;
/// Helpers are looked for where only root can have put them.
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/run/wrappers/bin"];

/// Moves this process, which must be single-threaded, to where it has subordinate ids. Otherwise
/// it stays where it is, and the reason is the answer.
pub fn take() -> Result<(), String> {
    let (uid, gid) = (credentials::effective_uid(), credentials::effective_gid());
    let name = fs::read_to_string("/etc/passwd").ok().and_then(|passwd| name_of(&passwd, uid));
    let maps = [
        Map::find("newuidmap", "/etc/subuid", name.as_deref(), uid, uid)?,
        Map::find("newgidmap", "/etc/subgid", name.as_deref(), uid, gid)?,
    ];
    let (ours, theirs) = unix_socket::message_pair().map_err(said("socket pair"))?;
    let keeper = process::clone_into(libc::CLONE_NEWUSER).map_err(said("user namespace"))?;
    let Clone::Parent { pid, pidfd } = keeper else {
        drop(ours);
        // Keeps the namespace until hold is in it, or gone.
        let _ = unix_socket::receive(&theirs, &mut [0]);
        process::exit_now(0);
    };
    drop(theirs);
    let entered = maps.iter().try_for_each(|map| map.write(pid)).and_then(|()| {
        let entrance = File::open(format!("/proc/{pid}/ns/user")).map_err(said("namespace"))?;
        namespace::enter_user_namespace(entrance).map_err(said("entering the namespace"))
    });
    drop(ours);
    process::await_end(&pidfd);
    entered
}

struct Map {
    helper: String,
    own: u32,
    start: u32,
}

impl Map {
    fn find(
        helper: &str,
        file: &str,
        name: Option<&str>,
        uid: u32,
        own: u32,
    ) -> Result<Map, String> {
        let found = FOLDERS.iter().map(|folder| format!("{folder}/{helper}"));
        let helper = found
            .into_iter()
            .find(|path| Path::new(path).exists())
            .ok_or_else(|| format!("{helper} is not installed"))?;
        let text = fs::read_to_string(file).unwrap_or_default();
        let start = start_in(&text, name, uid)
            .ok_or_else(|| format!("{file} gives this user no {NEEDED} ids"))?;
        Ok(Map { helper, own, start })
    }

    fn write(&self, pid: i32) -> Result<(), String> {
        let words = [pid as u32, 0, self.own, 1, 1, self.start, NEEDED];
        let output = Command::new(&self.helper)
            .args(words.map(|word| word.to_string()))
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(said(&self.helper))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        }
    }
}

fn said(what: &str) -> impl Fn(io::Error) -> String + '_ {
    move |error| format!("{what}: {error}")
}

fn name_of(passwd: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_string();
        (fields.nth(1) == Some(&uid)).then_some(name)
    };
    passwd.lines().find_map(of_line)
}

/// Where the first range that is large enough begins. A line names its user or has the uid.
fn start_in(text: &str, name: Option<&str>, uid: u32) -> Option<u32> {
    text.lines().find_map(|line| {
        let (who, range) = line.split_once(':')?;
        let (start, count) = range.split_once(':')?;
        let (start, count) = (start.parse::<u32>().ok()?, count.trim().parse::<u32>().ok()?);
        let is_ours = Some(who) == name || who == uid.to_string();
        let is_enough = count >= NEEDED && start > 0 && start.checked_add(count).is_some();
        (is_ours && is_enough).then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_by_name_or_uid_and_must_be_whole() {
        let text = "x:100000:65536\nann:7:10\nann:200000:65536\n77:300000:65535\nbad:1\n\n";
        assert_eq!(start_in(text, Some("ann"), 5), Some(200_000));
        assert_eq!(start_in(text, Some("x"), 5), Some(100_000));
        assert_eq!(start_in(text, None, 77), Some(300_000));
        assert_eq!(start_in(text, Some("bob"), 5), None);
        assert_eq!(start_in("ann:0:65536\nann:4294967290:65536\n", Some("ann"), 5), None);
    }

    #[test]
    fn a_name_is_that_of_the_uid() {
        let passwd = "root:x:0:0::/:\nann:x:1000:1000::/:\n";
        assert_eq!(name_of(passwd, 1000).as_deref(), Some("ann"));
        assert_eq!(name_of(passwd, 100), None);
    }
}
