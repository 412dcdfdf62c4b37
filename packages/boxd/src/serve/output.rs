//! What a process has written: the last bytes, and how many there were.

use crate::wire::MOST_DATA;

pub const KEPT: usize = MOST_DATA;
const FIRST_SIZE: usize = 4096;

/// The last bytes of an output channel, counted from its start. Takes memory as it fills.
#[derive(Default)]
pub struct Ring {
    bytes: Vec<u8>,
    total: u64,
}

impl Ring {
    /// How many bytes there ever were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The offset of the oldest byte that is still there.
    pub fn oldest(&self) -> u64 {
        self.total.saturating_sub(self.bytes.len().min(KEPT) as u64)
    }

    /// Adds bytes; where there is no room the oldest give way.
    pub fn push(&mut self, mut new: &[u8]) {
        if new.len() > KEPT {
            let skipped = new.len() - KEPT;
            self.advance(&new[..skipped]);
            new = &new[skipped..];
        }
        self.advance(new);
    }

    fn advance(&mut self, mut new: &[u8]) {
        // The byte at offset n lives at n modulo KEPT, so filling up is appending.
        let spare = KEPT - self.bytes.len();
        let appended = new.len().min(spare);
        if appended > 0 {
            self.grow_for(appended);
            self.bytes.extend_from_slice(&new[..appended]);
            self.total += appended as u64;
            new = &new[appended..];
        }
        while !new.is_empty() {
            let at = (self.total % KEPT as u64) as usize;
            let count = new.len().min(KEPT - at);
            self.bytes[at..at + count].copy_from_slice(&new[..count]);
            self.total += count as u64;
            new = &new[count..];
        }
    }

    fn grow_for(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            let size = needed.next_power_of_two().clamp(FIRST_SIZE, KEPT);
            self.bytes.reserve_exact(size - self.bytes.len());
        }
    }

    /// Up to `most` bytes from `offset` on, in two pieces where they wrap around. The caller
    /// asks for nothing older than `oldest`.
    pub fn from(&self, offset: u64, most: usize) -> [&[u8]; 2] {
        let count = (self.total.saturating_sub(offset) as usize).min(most);
        let at = (offset % KEPT as u64) as usize;
        let first = count.min(self.bytes.len().saturating_sub(at));
        [&self.bytes[at..at + first], &self.bytes[..count - first]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(ring: &Ring, offset: u64) -> Vec<u8> {
        ring.from(offset, usize::MAX).concat()
    }

    #[test]
    fn an_empty_ring_holds_nothing_and_takes_nothing() {
        let ring = Ring::default();
        assert_eq!((ring.total(), ring.oldest()), (0, 0));
        assert!(tail(&ring, 0).is_empty());
        assert_eq!(ring.bytes.capacity(), 0);
    }

    #[test]
    fn it_keeps_the_last_bytes_whatever_the_sizes() {
        for size in [1, 7, 4096, 10_000, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT + 5] {
            let mut ring = Ring::default();
            let mut all = Vec::new();
            for round in 0..(200_000 / size).clamp(3, 3_000) {
                let piece: Vec<u8> = (0..size).map(|at| (at * 31 + round * 7) as u8).collect();
                ring.push(&piece);
                all.extend_from_slice(&piece);
            }
            assert_eq!(ring.total(), all.len() as u64);
            assert_eq!(ring.oldest(), all.len().saturating_sub(KEPT) as u64);
            assert_eq!(tail(&ring, ring.oldest()), all[ring.oldest() as usize..]);
            let later = ring.oldest() + 100.min(all.len() as u64 - ring.oldest());
            assert_eq!(tail(&ring, later), all[later as usize..], "size {size}");
            assert_eq!(
                ring.from(later, 3).concat(),
                all[later as usize..].iter().copied().take(3).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn little_output_takes_little_memory() {
        let mut ring = Ring::default();
        ring.push(b"hi");
        assert_eq!(ring.bytes.capacity(), FIRST_SIZE);
    }
}
