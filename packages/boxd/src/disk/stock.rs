//! Disks made ahead: a new one takes longer than all the rest of a sandbox.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// More are made only when nobody has asked for this long: at once, it would hold up who asks next.
const QUIET: Duration = Duration::from_millis(30);
const MOST: usize = 2;

/// What makes one disk as good as another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub bytes: u64,
    pub inodes: u64,
}

/// Disks of the size that was asked for last. None is ever used twice.
#[derive(Default)]
pub struct Stock {
    wanted: Option<Size>,
    ready: Vec<OwnedFd>,
    due: Option<Instant>,
}

impl Stock {
    pub fn take(&mut self, size: Size) -> Option<OwnedFd> {
        if self.wanted != Some(size) {
            self.ready.clear();
            self.wanted = Some(size);
        }
        self.due = Some(Instant::now() + QUIET);
        self.ready.pop()
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Makes one if it is time; the next is due after another pause.
    pub fn refill_when_due(&mut self, make: impl FnOnce(Size) -> Option<OwnedFd>) {
        let Some(size) = self.wanted.filter(|_| self.due.is_some_and(|due| due <= Instant::now()))
        else {
            return;
        };
        self.due = None;
        if self.ready.len() >= MOST {
            return;
        }
        // What cannot be made ahead is made when it is asked for, and that says why not.
        if let Some(disk) = make(size) {
            self.ready.push(disk);
            self.due = Some(Instant::now() + QUIET);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::thread::sleep;

    const SMALL: Size = Size { bytes: 1, inodes: 1 };
    const LARGE: Size = Size { bytes: 2, inodes: 1 };

    fn disk(_: Size) -> Option<OwnedFd> {
        Some(File::open("/dev/null").unwrap().into())
    }

    #[test]
    fn what_was_asked_for_is_made_after_a_pause_and_given_once() {
        let mut stock = Stock::default();
        assert!(stock.due().is_none());
        assert!(stock.take(SMALL).is_none());
        stock.refill_when_due(|_| panic!("it is too early"));
        while stock.due().is_some() {
            sleep(QUIET);
            stock.refill_when_due(disk);
        }
        assert!(stock.take(SMALL).is_some());
        assert!(stock.take(SMALL).is_some());
        assert!(stock.take(SMALL).is_none());
    }

    #[test]
    fn another_size_is_never_given() {
        let mut stock = Stock::default();
        stock.take(SMALL);
        sleep(QUIET);
        stock.refill_when_due(disk);
        assert!(stock.take(LARGE).is_none());
        assert!(stock.take(SMALL).is_none());
    }

    #[test]
    fn what_cannot_be_made_is_not_tried_again_and_again() {
        let mut stock = Stock::default();
        stock.take(SMALL);
        sleep(QUIET);
        stock.refill_when_due(|_| None);
        assert!(stock.due().is_none());
    }
}
