//! Which points there are. The one file whose renaming makes every change to them at one instant:
//! whatever it does not name is not there.

use serde_json::{Value, json};
use std::io;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    pub id: u64,
    /// The run that began here.
    pub argv: Vec<String>,
    pub at_ms: u64,
    pub attachment: Option<String>,
    /// Other runs were going on.
    pub is_alongside: bool,
    /// How much was copied for it.
    pub bytes: u64,
    /// How many things that run, and what came after it, changed before the next point.
    pub changed: Option<u64>,
    /// Why there is no way back to it, where there is none.
    pub missing: Option<String>,
}

/// A going back that has begun, and so will be completed, whoever dies meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undoing {
    /// To before anything ran, where it names no point.
    pub to: Option<u64>,
    pub paths: Vec<String>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Index {
    pub points: Vec<Point>,
    pub last_id: u64,
    pub last_copy: u64,
    pub undoing: Option<Undoing>,
}

impl Index {
    /// The newest that one can go back to.
    pub fn newest(&self) -> Option<&Point> {
        self.points.iter().rev().find(|point| point.missing.is_none())
    }

    pub fn bytes(&self) -> u64 {
        self.points.iter().map(|point| point.bytes).sum()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let points: Vec<Value> = self.points.iter().map(Point::to_json).collect();
        let undoing =
            self.undoing.as_ref().map(|it| json!({ "to": it.to, "paths": it.paths.clone() }));
        let all = json!({
            "points": points, "lastId": self.last_id, "lastCopy": self.last_copy,
            "undoing": undoing,
        });
        all.to_string().into_bytes()
    }

    pub fn of_bytes(bytes: &[u8]) -> io::Result<Index> {
        let all: Value = serde_json::from_slice(bytes)?;
        let points = all["points"].as_array().into_iter().flatten().map(Point::of_json).collect();
        let undoing = Some(&all["undoing"])
            .filter(|it| it.is_object())
            .map(|it| Undoing { to: it["to"].as_u64(), paths: texts(&it["paths"]) });
        let number = |name: &str| all[name].as_u64().unwrap_or(0);
        Ok(Index { points, last_id: number("lastId"), last_copy: number("lastCopy"), undoing })
    }
}

impl Point {
    pub fn to_json(&self) -> Value {
        let mut point = json!({
            "point": self.id, "argv": self.argv, "atMs": self.at_ms, "bytes": self.bytes,
        });
        if let Some(attachment) = &self.attachment {
            point["attachment"] = json!(attachment);
        }
        if self.is_alongside {
            point["alongside"] = json!(true);
        }
        if let Some(changed) = self.changed {
            point["changed"] = json!(changed);
        }
        if let Some(missing) = &self.missing {
            point["missing"] = json!(missing);
        }
        point
    }

    fn of_json(value: &Value) -> Point {
        let text = |name: &str| value[name].as_str().map(str::to_string);
        Point {
            id: value["point"].as_u64().unwrap_or(0),
            argv: texts(&value["argv"]),
            at_ms: value["atMs"].as_u64().unwrap_or(0),
            attachment: text("attachment"),
            is_alongside: value["alongside"] == true,
            bytes: value["bytes"].as_u64().unwrap_or(0),
            changed: value["changed"].as_u64(),
            missing: text("missing"),
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|text| text.as_str().map(str::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        let point = Point {
            id: 3,
            argv: vec!["make".to_string(), "all".to_string()],
            at_ms: 5,
            attachment: Some("att".to_string()),
            is_alongside: true,
            bytes: 7,
            changed: Some(2),
            missing: None,
        };
        let gap = Point {
            id: 4,
            missing: Some("no room".to_string()),
            changed: None,
            attachment: None,
            is_alongside: false,
            ..point.clone()
        };
        let undoing = Some(Undoing { to: Some(3), paths: vec!["a/b".to_string()] });
        let index = Index { points: vec![point, gap], last_id: 4, last_copy: 9, undoing };
        assert_eq!(Index::of_bytes(&index.to_bytes()).unwrap(), index);
        assert_eq!(index.newest().map(|point| point.id), Some(3));
        assert_eq!(Index::of_bytes(&Index::default().to_bytes()).unwrap(), Index::default());
        assert!(Index::of_bytes(b"{\"points\":").is_err());
    }
}
