//! One address for each name a sandbox has asked for. The address means nothing anywhere else.

use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;

/// Beyond this many names, the one asked for first is forgotten.
const MOST: usize = 16_384;
const FIRST: u32 = u32::from_be_bytes([198, 19, 0, 0]);

pub struct Names {
    by_name: HashMap<String, Ipv4Addr>,
    by_address: HashMap<Ipv4Addr, String>,
    order: VecDeque<Ipv4Addr>,
    next: u16,
}

impl Names {
    /// Two runs begin elsewhere, so that an address from an earlier one means nothing rather than
    /// another name.
    pub fn starting_at(next: u16) -> Names {
        Names { by_name: HashMap::new(), by_address: HashMap::new(), order: VecDeque::new(), next }
    }

    pub fn address_of(&mut self, name: &str) -> Ipv4Addr {
        if let Some(&address) = self.by_name.get(name) {
            return address;
        }
        if self.order.len() >= MOST
            && let Some(oldest) = self.order.pop_front()
            && let Some(forgotten) = self.by_address.remove(&oldest)
        {
            self.by_name.remove(&forgotten);
        }
        // There are four times as many addresses as names, so the next one is always free.
        let address = Ipv4Addr::from(FIRST + u32::from(self.next));
        self.next = self.next.wrapping_add(1);
        self.order.push_back(address);
        self.by_name.insert(name.to_string(), address);
        self.by_address.insert(address, name.to_string());
        address
    }

    pub fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        self.by_address.get(&address).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_address_and_an_address_its_name() {
        let mut names = Names::starting_at(u16::MAX);
        let first = names.address_of("a.test");
        let second = names.address_of("b.test");
        assert_eq!(first, Ipv4Addr::new(198, 19, 255, 255));
        assert_eq!(second, Ipv4Addr::new(198, 19, 0, 0));
        assert_eq!(names.address_of("a.test"), first);
        assert_eq!(names.name_of(first), Some("a.test"));
        assert_eq!(names.name_of(Ipv4Addr::new(198, 19, 0, 9)), None);
    }

    #[test]
    fn the_oldest_is_forgotten_and_no_two_names_share_an_address() {
        let mut names = Names::starting_at(60_000);
        let oldest = names.address_of("0.test");
        for number in 1..=MOST * 5 {
            let name = format!("{number}.test");
            let address = names.address_of(&name);
            assert_eq!(names.name_of(address), Some(name.as_str()));
        }
        assert!(names.name_of(oldest).is_none_or(|name| name != "0.test"));
        assert_eq!((names.by_name.len(), names.by_address.len()), (MOST, MOST));
    }
}
