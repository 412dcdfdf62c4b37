//! Sandboxes made ahead that an earlier hold left. Who had them made comes back for them soon, with
//! a tether to each, or is gone as well; then they are nobody's and never will be anybody's.

use super::destroy::end;
use super::registry::Sandbox;
use super::watch::Hold;
use std::time::{Duration, Instant};

/// A client that lives finds the next hold within a second.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Orphans {
    ids: Vec<String>,
    due: Option<Instant>,
}

impl Orphans {
    pub fn among(living: &[Sandbox]) -> Orphans {
        let pooled = living.iter().filter(|sandbox| sandbox.record.is_pooled);
        let ids: Vec<String> = pooled.map(|sandbox| sandbox.record.id.clone()).collect();
        let due = (!ids.is_empty()).then(|| Instant::now() + GRACE);
        Orphans { ids, due }
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }
}

impl Hold {
    pub fn end_orphans_when_due(&mut self) {
        if self.orphans.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        for id in std::mem::take(&mut self.orphans).ids {
            let is_held = self.tethers.iter().any(|(_, tethered)| *tethered == id);
            // One that was claimed meanwhile has another id.
            if let (false, Some((_, sandbox))) = (is_held, self.registry.by_id(&id)) {
                end(sandbox, Duration::ZERO, false);
            }
        }
    }
}
