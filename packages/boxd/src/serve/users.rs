//! The users of the sandbox, from its own /etc/passwd and /etc/group.

use super::acting::ActingAs;
use super::confine::Identity;
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::wire::failure::{Code, Failure};
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

/// Who acts when nobody is named: `user`, or whoever has its id under another name.
const DEFAULT: &str = "user";
const DEFAULT_ID: &str = "1000";
/// No honest file is larger, and the sandbox writes it.
const MOST_BYTES: u64 = 1024 * 1024;
const MOST_GROUPS: usize = 1024;

/// Who goes before them, where the image names somebody.
static PREFERRED: OnceLock<String> = OnceLock::new();

/// From now on it is this one, who must be in the file and not root, who acts for nobody in
/// particular.
pub fn prefer(name: &str) {
    let found = read("/etc/passwd").ok().and_then(|passwd| in_passwd(&passwd, name));
    if let Some(user) = found.filter(|user| user.uid != 0) {
        let _ = PREFERRED.set(user.name);
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub home: String,
    pub shell: String,
    pub groups: Vec<u32>,
}

/// Who acts when nobody is named, if the sandbox has such a one.
pub fn default_user() -> Option<User> {
    let passwd = read("/etc/passwd").ok()?;
    unnamed(&passwd)
}

fn unnamed(passwd: &str) -> Option<User> {
    let preferred = PREFERRED.get().and_then(|name| in_passwd(passwd, name));
    preferred.or_else(|| in_passwd(passwd, DEFAULT)).or_else(|| in_passwd(passwd, DEFAULT_ID))
}

pub fn name_of(uid: u32) -> Option<String> {
    let passwd = read("/etc/passwd").ok()?;
    passwd.lines().filter_map(parse_user).find(|user| user.uid == uid).map(|user| user.name)
}

/// The user a request names, whose rights this server must be able to give.
pub fn find(asked: Option<&str>, identity: Identity) -> Result<User, Failure> {
    let shown = asked.unwrap_or(DEFAULT);
    let no_such = |why: String| Failure::new(Code::NoSuchUser, format!("user {shown:?}: {why}"));
    let passwd = read("/etc/passwd").map_err(|error| no_such(format!("/etc/passwd: {error}")))?;
    let mut user = asked
        .map_or_else(|| unnamed(&passwd), |name| in_passwd(&passwd, name))
        .ok_or_else(|| no_such("not in /etc/passwd".to_string()))?;
    match identity {
        Identity::Any { has_root: false, .. } if user.uid == 0 => {
            Err(Failure::new(Code::PermissionDenied, "root is denied in this sandbox"))
        }
        Identity::Only { uid } if uid != user.uid => Err(no_such(format!(
            "this sandbox has the single user id {uid}, because it was made without privilege"
        ))),
        Identity::Only { .. } => Ok(user),
        Identity::Any { .. } => {
            // A sandbox without groups is odd, not wrong.
            let group = read("/etc/group").unwrap_or_default();
            user.groups = groups_of(&group, &user.name, user.gid);
            // The sandbox writes these files, and can name ids that it does not have.
            let tried = ActingAs::user(&user, identity).map(drop);
            tried.map(|()| user).map_err(|_| no_such("not an id of this sandbox".to_string()))
        }
    }
}

/// Whose everything is: root, whatever the sandbox's files say of it and also where nobody may
/// be root, or else the one user that there is.
pub fn owner(identity: Identity) -> Result<User, Failure> {
    if let Identity::Only { .. } = identity {
        return find(None, identity);
    }
    let (name, home, shell) = ("root".to_string(), "/".to_string(), String::new());
    Ok(User { name, uid: 0, gid: 0, home, shell, groups: Vec::new() })
}

fn read(path: &str) -> io::Result<String> {
    let file = File::from(path::open(HERE, path, libc::O_RDONLY, 0, NO_MAGIC)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// By name, spelled exactly, or by a uid that is in the file, spelled in plain decimal.
fn in_passwd(passwd: &str, asked: &str) -> Option<User> {
    let mut users = passwd.lines().filter_map(parse_user);
    let by_name = users.clone().find(|user| user.name == asked);
    by_name.or_else(|| {
        let uid = id(asked)?;
        users.find(|user| user.uid == uid)
    })
}

fn parse_user(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, shell] = fields[..] else {
        return None;
    };
    Some(User {
        name: (!name.is_empty()).then(|| name.to_string())?,
        uid: id(uid)?,
        gid: id(gid)?,
        home: if home.starts_with('/') { home } else { "/" }.to_string(),
        shell: shell.to_string(),
        groups: Vec::new(),
    })
}

/// An id as `id -u` prints it: no sign, no leading zero, no other base, and not the one that
/// means "none".
fn id(text: &str) -> Option<u32> {
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|&id| is_plain && id != u32::MAX)
}

/// The user's own group first, then those that list the user.
fn groups_of(group: &str, name: &str, gid: u32) -> Vec<u32> {
    let mut groups = vec![gid];
    for line in group.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, other, members] = fields[..] else {
            continue;
        };
        if let Some(other) = id(other)
            && members.split(',').any(|member| member == name)
            && !groups.contains(&other)
            && groups.len() < MOST_GROUPS
        {
            groups.push(other);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
        daemon:x:1:1::/:/bin/false\n\
        :x:0:0::/:\n\
        broken:x:0\n\
        odd:x:0x5:0::/:\n\
        none:x:4294967295:4294967295::/:\n\
        user:x:1000:1000::/home/user:/bin/bash\n";

    #[test]
    fn users_are_spelled_exactly() {
        let uid = |asked: &str| in_passwd(PASSWD, asked).map(|user| user.uid);
        assert_eq!(uid("root"), Some(0));
        assert_eq!(uid("0"), Some(0));
        assert_eq!(uid("1"), Some(1));
        assert_eq!(uid("user"), Some(1000));
        assert_eq!(uid("1000"), Some(1000));
        for wrong in [
            "1:",
            "0x0",
            "+0",
            " root",
            "root:",
            "root ",
            "",
            "4294967295",
            "99999999999",
            "-1",
            "00",
            "01",
            "1.0",
            "root\0",
            "Root",
            "nobody",
            "2",
            "broken",
            "odd",
            "none",
        ] {
            assert_eq!(uid(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn groups_are_those_that_list_the_user() {
        let group = "root:x:0:\nuser:x:1000:\naudio:x:29:user,other\nx:x:30:users\nbad:x:+7:user\n";
        assert_eq!(groups_of(group, "user", 1000), [1000, 29]);
    }
}
