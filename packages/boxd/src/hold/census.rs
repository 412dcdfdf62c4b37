//! What a sandbox uses where no control group counts: its processes, one by one.

use crate::cgroup::Usage;
use std::fs;

/// A tree can grow while it is walked; nobody needs figures of a larger one.
const MOST: usize = 65_536;
/// Of every Linux that runs on a machine we run on.
const TICK_US: u64 = 10_000;
const PAGE_BYTES: u64 = 4096;

/// Time of the dead counts, too: the first process reaps them all. Memory that processes share
/// is counted for each.
pub fn usage(first: i32) -> Usage {
    let mut waiting = vec![first];
    let (mut count, mut ticks, mut pages) = (0, 0, 0);
    while let Some(pid) = waiting.pop() {
        let Some((its_ticks, its_pages, threads)) = look_at(pid) else {
            continue;
        };
        count += threads;
        ticks += its_ticks;
        pages += its_pages;
        if count as usize + waiting.len() < MOST {
            waiting.extend(children(pid));
        }
    }
    Usage {
        cpu_time_us: Some(ticks * TICK_US),
        memory_bytes: Some(pages * PAGE_BYTES),
        pids: Some(count),
        ..Usage::default()
    }
}

/// Ticks with those of its dead children, resident pages, threads.
fn look_at(pid: i32) -> Option<(u64, u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which is the process's own choice.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some((ticks, number(21)?, number(17)?))
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| {
            line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_counted_with_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let usage = usage(std::process::id() as i32);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage.pids.unwrap() >= 2);
        assert!(usage.memory_bytes.unwrap() > 100 * PAGE_BYTES);
    }
}
