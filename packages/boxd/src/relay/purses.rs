//! How much may still be carried, by whom or to where. Whoever shares a purse shares what is in it.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Bytes each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    pub up: u64,
    pub down: u64,
}

impl Bytes {
    pub const NONE: Bytes = Bytes { up: 0, down: 0 };
    pub const ENDLESS: Bytes = Bytes { up: u64::MAX, down: u64::MAX };
}

struct Purse {
    most: Bytes,
    used: Bytes,
    /// The guard has not heard of all of it yet.
    is_news: bool,
}

#[derive(Default)]
pub struct Purses {
    all: BTreeMap<String, Purse>,
    pub has_news: bool,
}

impl Purses {
    /// What is in it from now on, all that was used before included.
    pub fn fill(&mut self, name: String, most: Bytes, used: Bytes) {
        let known = self.all.get(&name).map_or(used, |purse| purse.used);
        let used = Bytes { up: known.up.max(used.up), down: known.down.max(used.down) };
        self.all.insert(name, Purse { most, used, is_news: false });
    }

    /// A sandbox is gone, and its purses with it.
    pub fn drop_of(&mut self, sandbox: &str) {
        let is_its = |name: &str| name.split_once('/').is_some_and(|(whose, _)| whose == sandbox);
        self.all.retain(|name, _| !is_its(name));
    }

    /// What the emptiest of them has left. One that nobody filled has nothing.
    pub fn left(&self, names: &[String]) -> Bytes {
        names.iter().fold(Bytes::ENDLESS, |least, name| {
            let left = self.all.get(name).map_or(Bytes::NONE, |Purse { most, used, .. }| Bytes {
                up: most.up.saturating_sub(used.up),
                down: most.down.saturating_sub(used.down),
            });
            Bytes { up: least.up.min(left.up), down: least.down.min(left.down) }
        })
    }

    pub fn take(&mut self, names: &[String], taken: Bytes) {
        for name in names {
            if let Some(purse) = self.all.get_mut(name) {
                purse.used.up += taken.up;
                purse.used.down += taken.down;
                purse.is_news = true;
                self.has_news = true;
            }
        }
    }

    /// What the guard has to hear, once.
    pub fn news(&mut self) -> Vec<Value> {
        self.has_news = false;
        let news = |(name, purse): (&String, &mut Purse)| {
            let Bytes { up, down } = purse.used;
            let told = json!({"event": "spent", "purse": name, "up": up, "down": down});
            std::mem::take(&mut purse.is_news).then_some(told)
        };
        self.all.iter_mut().filter_map(news).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_emptiest_purse_decides_and_one_that_is_not_there_is_empty() {
        let mut purses = Purses::default();
        purses.fill("a/all".into(), Bytes { up: 100, down: u64::MAX }, Bytes::NONE);
        purses.fill("a/rule".into(), Bytes { up: 300, down: 50 }, Bytes { up: 250, down: 0 });
        let both = names(&["a/all", "a/rule"]);
        assert_eq!(purses.left(&both), Bytes { up: 50, down: 50 });
        purses.take(&both, Bytes { up: 60, down: 50 });
        assert_eq!(purses.left(&both), Bytes { up: 0, down: 0 });
        assert_eq!(purses.left(&names(&["a/all"])).up, 40);
        assert_eq!(purses.left(&names(&["b/all"])), Bytes::NONE);
        assert_eq!(purses.left(&[]), Bytes::ENDLESS);
        assert_eq!(purses.news().len(), 2);
        assert_eq!(purses.news().len(), 0);
    }

    #[test]
    fn what_was_used_stays_used_when_more_is_put_in() {
        let mut purses = Purses::default();
        let one = names(&["a/all"]);
        purses.fill("a/all".into(), Bytes { up: 10, down: 10 }, Bytes::NONE);
        purses.take(&one, Bytes { up: 10, down: 0 });
        purses.fill("a/all".into(), Bytes { up: 15, down: 10 }, Bytes { up: 3, down: 0 });
        assert_eq!(purses.left(&one), Bytes { up: 5, down: 10 });
        purses.drop_of("other");
        assert_eq!(purses.left(&one).up, 5);
        purses.drop_of("a");
        assert_eq!(purses.left(&one), Bytes::NONE);
    }
}
