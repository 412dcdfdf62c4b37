//! What the host itself says, which no sandbox can colour.

use std::fs;
use std::path::Path;

pub fn effective_uid() -> u32 {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::geteuid() }
}

/// Only ever for processes that the test has started.
pub fn kill(pid: i32, signal: i32) {
    assert!(pid > 1);
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "kill {pid}");
}

/// Zombies are dead: it is only that nobody has noticed.
pub fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

pub fn namespace(pid: i32, kind: &str) -> String {
    let link = fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap();
    link.to_str().unwrap().to_string()
}

/// Every process in a pid namespace.
pub fn processes_in(pid_namespace: &str) -> Vec<i32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/ns/pid"))
                .is_ok_and(|link| link.as_os_str() == pid_namespace)
        })
        .collect()
}

/// Every process whose command line holds `text`.
pub fn processes_saying(text: &str) -> Vec<i32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| is_alive(pid))
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
        })
        .collect()
}

/// Every process that runs a program below `folder`, whatever it calls itself.
pub fn processes_from(folder: &Path) -> Vec<i32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| is_alive(pid))
        .filter(|pid| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(folder))
        })
        .collect()
}

/// The value of a line in /proc/PID/status.
pub fn status(pid: i32, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{key}:")));
    line.unwrap_or_else(|| panic!("no {key}")).trim().to_string()
}

pub fn mounts_below(path: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let path = path.to_str().unwrap();
    table.lines().filter(|line| line.contains(path)).map(str::to_string).collect()
}

/// Every control group with this name, in any hierarchy.
pub fn groups_named(name: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() == name {
                    found.push(entry.path());
                }
                waiting.push(entry.path());
            }
        }
    }
    found
}
