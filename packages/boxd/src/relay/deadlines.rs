//! Who has until when, the next first.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Deadlines {
    order: BTreeSet<(Instant, u32)>,
}

impl Deadlines {
    pub fn change(&mut self, number: u32, before: Option<Instant>, now: Option<Instant>) {
        if let Some(before) = before {
            self.order.remove(&(before, number));
        }
        if let Some(now) = now {
            self.order.insert((now, number));
        }
    }

    /// How long nobody is due; None for ever.
    pub fn patience(&self) -> Option<Duration> {
        let (next, _) = self.order.first()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// The next one whose time is up.
    pub fn due(&self, now: Instant) -> Option<u32> {
        self.order.first().filter(|(deadline, _)| *deadline <= now).map(|&(_, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_one_is_due_first_and_who_left_never_is() {
        let start = Instant::now();
        let at = |seconds| Some(start + Duration::from_secs(seconds));
        let mut deadlines = Deadlines::default();
        assert_eq!((deadlines.patience(), deadlines.due(start)), (None, None));
        deadlines.change(1, None, at(30));
        deadlines.change(2, None, at(10));
        deadlines.change(3, None, at(20));
        assert_eq!(deadlines.due(start), None);
        assert!(deadlines.patience() <= Some(Duration::from_secs(10)));
        assert_eq!(deadlines.due(start + Duration::from_secs(10)), Some(2));
        deadlines.change(2, at(10), at(40));
        deadlines.change(3, at(20), None);
        assert_eq!(deadlines.due(start + Duration::from_secs(35)), Some(1));
        deadlines.change(1, at(30), None);
        assert_eq!(deadlines.due(start + Duration::from_secs(60)), Some(2));
    }
}
