//! Archives and watches, where their bounds are.

mod support;

use serde_json::{Value, json};
use support::client::{Answer, Client};
use support::{id, in_every_mode, wait_until};

fn pack(sandbox: &mut Client, path: &str) -> Vec<u8> {
    let packed = sandbox.ask(json!({"op": "pack", "path": path}));
    assert!(packed.fail.is_none(), "{:?}", packed.fail);
    packed.stdout
}

#[test]
fn an_archive_larger_than_every_window_comes_back_the_same() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("large"));
        sandbox.sh("mkdir t && head -c 3000000 /dev/urandom > t/blob && mkdir t/d && : > t/d/e");
        let archive = pack(&mut sandbox, "t");
        let request = json!({"op": "unpack", "path": "u", "parents": true});
        let end = sandbox.ask_with(request, &archive).end();
        assert_eq!(end, json!({"entries": 4, "bytes": 3_000_000, "skipped": 0}));
        assert_eq!(sandbox.sh("diff -r t u && echo same").text(), "same\n");
    });
}

#[test]
fn a_bomb_stops_at_its_caps() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("bomb"));
        sandbox.sh("mkdir -p t/1/2/3/4 && for i in 1 2 3 4 5 6 7 8; do head -c 1000 /dev/zero > t/$i.f; done");
        let archive = pack(&mut sandbox, "t");
        for (limits, code) in [
            (json!({"entries": 5}), "storage_full"),
            (json!({"bytes": 4000}), "storage_full"),
            (json!({"depth": 3}), "invalid_request"),
            (json!({}), ""),
        ] {
            let request = json!({"op": "unpack", "path": "u", "parents": true, "limits": limits});
            assert_eq!(sandbox.ask_with(request, &archive).code(), code, "{limits}");
        }
    });
}

/// The kinds of change on a stream, up to the first overflow.
fn until_overflow(sandbox: &mut Client, stream: u32) -> Vec<Value> {
    let (mut lines, mut text) = (Vec::new(), String::new());
    while !lines.iter().any(|line: &Value| line["type"] == "overflow") {
        let Answer::Data(1, bytes) = sandbox.next_for(stream) else { continue };
        sandbox.window(stream, bytes.len() as u32);
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        while let Some(end) = text.find('\n') {
            lines.push(serde_json::from_str(&text[..end]).unwrap());
            text.drain(..=end);
        }
    }
    lines
}

#[test]
fn a_watcher_that_does_not_read_is_told_that_it_missed_something() {
    in_every_mode(|world| {
        let id = id("missed");
        let mut sandbox = world.create(&id);
        sandbox.sh("mkdir w");
        let stream = sandbox.open(json!({"op": "watch", "path": "w", "recursive": true}));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        let mut other = world.reconnect(&id);
        let script = "cd w && seq -f $(printf x%.0s $(seq 200))%g 3000 | xargs touch";
        assert_eq!(other.sh(script).exit(), json!({"kind": "exited", "code": 0}));
        let lines = until_overflow(&mut sandbox, stream);
        assert!(lines.len() < 40_000, "{} were kept", lines.len());
        // It goes on hearing what happens now.
        other.sh(": > w/now");
        let mut said = Vec::new();
        wait_until("it hears of the last one", || {
            if let Answer::Data(1, bytes) = sandbox.next_for(stream) {
                sandbox.window(stream, bytes.len() as u32);
                said.extend(bytes);
            }
            String::from_utf8_lossy(&said).contains("w/now")
        });
    });
}

#[test]
fn watches_go_with_their_client() {
    in_every_mode(|world| {
        let id = id("gone");
        let mut sandbox = world.create(&id);
        sandbox.sh("mkdir w");
        for _ in 0..3 {
            let mut other = world.reconnect(&id);
            for _ in 0..20 {
                let stream = other.open(json!({"op": "watch", "path": "w"}));
                assert!(matches!(other.next_for(stream), Answer::Reply(_)));
            }
        }
        // The instances of three clients would be too many if the first ones were still held.
        wait_until("another can be had", || {
            let stream = sandbox.open(json!({"op": "watch", "path": "w"}));
            matches!(sandbox.next_for(stream), Answer::Reply(_))
        });
    });
}
