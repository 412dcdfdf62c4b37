//! Programs that ask an SSH agent. Their words go to the guard, which has the keys.

use super::Relay;
use super::newcomers::MOST_TUNNELS;
use super::tunnel::Tunnel;
use crate::sys::unix_socket;
use serde_json::json;
use std::fs;
use std::os::fd::OwnedFd;

impl Relay {
    pub fn welcome_agent(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(&number) else {
            return;
        };
        let Some(Ok((socket, _))) = place.agent.as_ref().map(|agent| agent.accept()) else {
            return;
        };
        let is_ready = socket.set_nonblocking(true).is_ok() && place.tunnels < MOST_TUNNELS;
        let (Some(uid), true) = (uid_inside(&socket), is_ready) else {
            return;
        };
        place.tunnels += 1;
        self.last_tunnel = self.last_tunnel.wrapping_add(1);
        let tunnel = Tunnel::new(number, Some(uid), None, OwnedFd::from(socket), None);
        let open = json!({
            "event": "open", "tunnel": self.last_tunnel, "sandbox": place.sandbox,
            "host": "", "port": 0, "via": "ssh-agent", "uid": uid,
        });
        self.tunnels.insert(self.last_tunnel, tunnel);
        self.reports.say(&open);
        self.watch(self.last_tunnel);
    }
}

/// Whose it is, as the sandbox counts users. Nobody's is nobody's to decide about.
fn uid_inside(socket: &std::os::unix::net::UnixStream) -> Option<u32> {
    let peer = unix_socket::peer(socket).ok()?;
    let map = fs::read_to_string(format!("/proc/{}/uid_map", peer.pid)).ok()?;
    inside(&map, peer.uid)
}

/// Each line of a map says: first inside, first outside, how many.
fn inside(map: &str, outside: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (first, from, count) =
            (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        let offset = outside.checked_sub(from).filter(|&offset| offset < count)?;
        first.checked_add(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn ids_are_counted_as_the_sandbox_counts_them() {
        let map = "         0     100000       1000\n      1000       1000          1\n";
        assert_eq!(inside(map, 100_042), Some(42));
        assert_eq!(inside(map, 1000), Some(1000));
        assert_eq!(inside(map, 101_000), None);
        assert_eq!(inside(map, 0), None);
        assert_eq!(inside("0 0 4294967295", 7), Some(7));
    }
}
