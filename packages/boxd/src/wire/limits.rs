//! How much of the machine a sandbox may use.

use super::failure::Failure;
use super::fields::Fields;

/// What is absent is not limited.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Limits {
    /// Thousandths of a processor.
    pub cpu_millis: Option<u64>,
    /// Everything: programs, page cache, tmpfs, the kernel's part.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Of each process.
    pub open_files: Option<u64>,
    pub disk_bytes: Option<u64>,
    pub disk_inodes: Option<u64>,
    /// A limit that cannot be held here is a refusal.
    pub is_required: bool,
}

const MIB: u64 = 1 << 20;
/// Below these not even the first process of a sandbox could work.
const LEAST: [(&str, u64); 6] = [
    ("cpuMillis", 10),
    ("memoryBytes", 16 * MIB),
    ("pids", 4),
    ("openFiles", 64),
    ("diskBytes", 4 * MIB),
    ("diskInodes", 64),
];
/// Above these numbers overflow or mean nothing.
const MOST: u64 = 1 << 50;

impl Limits {
    pub fn parse(mut fields: Fields) -> Result<Limits, Failure> {
        let mut number = |index: usize| {
            let (name, least) = LEAST[index];
            match fields.number_if_any(name)? {
                Some(value) if !(least..=MOST).contains(&value) => {
                    Err(Failure::invalid(format!("{name} is not between {least} and {MOST}")))
                }
                value => Ok(value),
            }
        };
        let limits = Limits {
            cpu_millis: number(0)?,
            memory_bytes: number(1)?,
            pids: number(2)?,
            open_files: number(3)?,
            disk_bytes: number(4)?,
            disk_inodes: number(5)?,
            is_required: fields.flag("required", false)?,
        };
        match (limits.disk_bytes, limits.disk_inodes) {
            (None, Some(_)) => Err(Failure::invalid("diskInodes needs diskBytes")),
            (Some(bytes), Some(inodes)) if inodes > bytes / 1024 => {
                Err(Failure::invalid("diskInodes is more than one for each KiB of diskBytes"))
            }
            _ => Ok(limits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(value: Value) -> Result<Limits, Failure> {
        let Value::Object(object) = value else { panic!() };
        Limits::parse(Fields::of(object))
    }

    #[test]
    fn impossible_limits_are_refused() {
        assert_eq!(parsed(json!({})), Ok(Limits::default()));
        assert_eq!(parsed(json!({"pids": 4})).unwrap().pids, Some(4));
        for wrong in [
            json!({"pids": 0}),
            json!({"memoryBytes": 1}),
            json!({"memoryBytes": u64::MAX}),
            json!({"cpuMillis": 0}),
            json!({"openFiles": 3}),
            json!({"diskBytes": 1}),
            json!({"diskInodes": 100}),
            json!({"diskBytes": 4 * MIB, "diskInodes": 1_000_000}),
        ] {
            assert!(parsed(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
