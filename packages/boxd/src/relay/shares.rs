//! How many ports each sandbox keeps from others. One whose program ended its connection first stays
//! taken towards that place for a minute, and there are some ten thousand: without a limit one sandbox
//! could have all of them, and nobody else would get there.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The kernel's own, on every machine.
const KEPT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Shares {
    /// The oldest first.
    order: VecDeque<(Instant, SocketAddr, u32)>,
    /// Towards each place, how many each sandbox has.
    taken: HashMap<SocketAddr, HashMap<u32, usize>>,
}

impl Shares {
    /// One more stays taken from now on.
    pub fn keep(&mut self, sandbox: u32, to: SocketAddr, now: Instant) {
        self.order.push_back((now, to, sandbox));
        *self.taken.entry(to).or_default().entry(sandbox).or_default() += 1;
    }

    /// Nobody may have more than there are left for all others.
    pub fn has_more(&mut self, sandbox: u32, to: SocketAddr, all: usize, now: Instant) -> bool {
        self.give_back(now);
        let Some(taken) = self.taken.get(&to) else {
            return true;
        };
        let own = taken.get(&sandbox).copied().unwrap_or(0);
        own == 0 || own < all.saturating_sub(taken.values().sum())
    }

    fn give_back(&mut self, now: Instant) {
        while let Some(&(since, to, sandbox)) = self.order.front()
            && now.duration_since(since) >= KEPT
        {
            self.order.pop_front();
            let Some(taken) = self.taken.get_mut(&to) else {
                continue;
            };
            if let Some(own) = taken.get_mut(&sandbox) {
                *own -= 1;
            }
            taken.retain(|_, own| *own > 0);
            if taken.is_empty() {
                self.taken.remove(&to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what it may have, and says how much that was.
    fn take_all(shares: &mut Shares, sandbox: u32, to: SocketAddr, now: Instant) -> usize {
        let mut count = 0;
        while count < 1000 && shares.has_more(sandbox, to, 1000, now) {
            shares.keep(sandbox, to, now);
            count += 1;
        }
        count
    }

    #[test]
    fn eg21_each_leaves_as_many_ports_as_it_has_and_gets_them_back_after_a_minute() {
        let (here, there) = ("192.0.2.1:443".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
        let (mut shares, start) = (Shares::default(), Instant::now());
        assert_eq!(take_all(&mut shares, 1, here, start), 500);
        assert_eq!(take_all(&mut shares, 2, here, start), 250);
        assert_eq!(take_all(&mut shares, 1, there, start), 500, "elsewhere it has others");
        assert!(shares.has_more(3, here, 1000, start));
        let later = start + KEPT;
        assert_eq!(take_all(&mut shares, 1, here, later - Duration::from_secs(1)), 0);
        assert_eq!(take_all(&mut shares, 1, here, later), 500);
        assert_eq!((shares.order.len(), shares.taken.len()), (500, 1), "nothing else is kept");
    }
}
