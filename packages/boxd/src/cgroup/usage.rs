//! What a sandbox has used, as the kernel counts it.

use super::Group;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// A figure the kernel does not give is absent.
#[derive(Default, Debug, PartialEq)]
pub struct Usage {
    pub cpu_time_us: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub memory_limit_bytes: Option<u64>,
    pub memory_peak_bytes: Option<u64>,
    pub pids: Option<u64>,
    pub oom_kills: Option<u64>,
}

/// Version 1 says "no limit" with the largest whole number of pages.
const NO_LIMIT: u64 = 1 << 62;

impl Usage {
    pub fn of(group: &Group) -> Usage {
        match group.unified() {
            Some(folder) => Usage {
                cpu_time_us: keyed(folder, "cpu.stat", "usage_usec"),
                memory_bytes: number(folder, "memory.current"),
                memory_limit_bytes: number(folder, "memory.max"),
                memory_peak_bytes: number(folder, "memory.peak"),
                pids: number(folder, "pids.current"),
                oom_kills: oom_kills(group),
            },
            None => {
                let from = |controller, file| number(group.place(controller)?, file);
                let memory = |file| from("memory", file);
                Usage {
                    cpu_time_us: from("cpuacct", "cpuacct.usage").map(|nanos: u64| nanos / 1000),
                    memory_bytes: memory("memory.usage_in_bytes"),
                    memory_limit_bytes: memory("memory.limit_in_bytes").filter(|&n| n < NO_LIMIT),
                    memory_peak_bytes: memory("memory.max_usage_in_bytes"),
                    pids: from("pids", "pids.current"),
                    oom_kills: oom_kills(group),
                }
            }
        }
    }
}

/// How often the kernel has ended a process of it for want of memory.
pub fn oom_kills(group: &Group) -> Option<u64> {
    match (group.unified(), group.place("memory")) {
        (Some(folder), _) => keyed(folder, "memory.events", "oom_kill"),
        (None, Some(folder)) => keyed(folder, "memory.oom_control", "oom_kill"),
        (None, None) => None,
    }
}

/// `max` is no number, so it counts as absent.
fn number<T: FromStr>(folder: &Path, file: &str) -> Option<T> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

fn keyed(folder: &Path, file: &str, key: &str) -> Option<u64> {
    value_of(&fs::read_to_string(folder.join(file)).ok()?, key)
}

fn value_of(text: &str, key: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::value_of;

    #[test]
    fn keys_are_taken_whole() {
        let text = "oom 5\noom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value_of(text, "oom_kill"), Some(3));
        assert_eq!(value_of(text, "oom"), Some(5));
        assert_eq!(value_of(text, "oom_group_kill"), None);
    }
}
