//! Telling which points there are, and how much has changed since the newest.

use super::points::Points;
use super::points::index::Point;
use super::points::survey::Survey;
use crate::serve::stream::Progress;
use crate::wire::outbound::Outbound;
use serde_json::{Value, json};
use std::os::fd::OwnedFd;

const LOOKS: usize = 16;

pub struct Tally {
    points: Vec<Point>,
    bytes: u64,
    survey: Option<Survey>,
}

impl Tally {
    pub fn begin(points: &Points, upper: &OwnedFd) -> Tally {
        let newest = points.index.points.last().filter(|point| point.missing.is_none());
        let survey = newest.and_then(|point| {
            let state = points.state_of(point.id).ok()?;
            Survey::begin(upper, &points.folder, state).ok()
        });
        Tally { points: points.index.points.clone(), bytes: points.index.bytes(), survey }
    }

    pub fn advance(&mut self, stream: u32, out: &mut Outbound) -> Progress {
        for _ in 0..LOOKS {
            let Some(survey) = &mut self.survey else {
                break;
            };
            match survey.step() {
                Ok(false) => continue,
                // How much has changed is then not known.
                Err(_) => self.survey = None,
                Ok(true) => {
                    let found = self.survey.take().map(Survey::finish);
                    if let (Some(newest), Some(found)) = (self.points.last_mut(), found) {
                        newest.changed = Some(found.changed);
                    }
                }
            }
        }
        if self.survey.is_some() {
            return Progress::More;
        }
        let points: Vec<Value> = self.points.iter().map(Point::to_json).collect();
        out.end(stream, &json!({ "points": points, "bytes": self.bytes }));
        Progress::Over
    }
}
