//! What sandboxes use, from the kernel's books and never from inside.

use super::record::Record;
use crate::cgroup::Usage;
use crate::sys::{filesystem, time};
use serde_json::{Map, Value, json};
use std::path::Path;

pub fn of(record: &Record) -> Value {
    let usage = match &record.group {
        Some(group) => Usage::of(group),
        None => super::census::usage(record.pid),
    };
    let disk = match record.has_disk {
        true => filesystem::used_bytes(Path::new(&format!("/proc/{}/root", record.pid))).ok(),
        false => None,
    };
    let figures = [
        ("cpuTimeMs", usage.cpu_time_us.map(|micros| micros / 1000)),
        ("memoryBytes", usage.memory_bytes),
        ("memoryLimitBytes", usage.memory_limit_bytes),
        ("memoryPeakBytes", usage.memory_peak_bytes),
        ("pids", usage.pids),
        ("oomKills", usage.oom_kills),
        ("diskBytes", disk),
    ];
    let mut metrics = Map::from_iter([("atMs".to_string(), json!(time::now_ms()))]);
    for (name, figure) in figures {
        if let Some(figure) = figure {
            metrics.insert(name.to_string(), json!(figure));
        }
    }
    Value::Object(metrics)
}
