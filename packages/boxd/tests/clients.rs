//! Several clients of one sandbox.

mod support;

use serde_json::json;
use std::time::Duration;
use support::client::{Answer, Client};
use support::{id, in_every_mode};

/// How many clients a sandbox has at most.
const MOST: usize = 16;

fn is_there(client: &mut Client) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let stream = client.open(json!({"op": "processes"}));
    matches!(client.next_for(stream), Answer::End(_))
}

#[test]
fn clients_have_streams_of_their_own_and_share_the_processes() {
    in_every_mode(|world| {
        let id = id("share");
        let mut one = world.create(&id);
        let mut two = world.reconnect(&id);
        let cat = json!({"op": "exec", "argv": ["cat"], "stdin": true});
        let (first, second) = (one.open(cat.clone()), two.open(cat));
        assert_eq!(second, 1, "numbers of streams are each client's own");
        for (client, stream, words) in [(&mut one, first, "one"), (&mut two, second, "two")] {
            assert!(matches!(client.next_for(stream), Answer::Reply(_)));
            client.data(stream, words.as_bytes());
            assert!(
                matches!(client.next_for(stream), Answer::Data(1, said) if said == words.as_bytes())
            );
        }
        one.eof(first);
        assert_eq!(one.finish(first).exit(), json!({"kind": "exited", "code": 0}));
        // Both follow the same process, and either can feed it.
        let again = one.open(json!({"op": "attach", "process": "p2", "stdout": 3}));
        assert!(matches!(one.next_for(again), Answer::Reply(_)));
        one.data(again, b"!");
        assert!(matches!(one.next_for(again), Answer::Data(1, said) if said == b"!"));
        assert!(matches!(two.next_for(second), Answer::Data(1, said) if said == b"!"));
        drop(one);
        two.eof(second);
        assert_eq!(two.finish(second).exit(), json!({"kind": "exited", "code": 0}));
    });
}

#[test]
fn a_client_that_takes_nothing_stalls_only_itself() {
    in_every_mode(|world| {
        let id = id("stall");
        let mut stalled = world.create(&id);
        // More streams than the socket holds, and nobody reads the socket.
        for _ in 0..16 {
            let stream = stalled.open(json!({"op": "exec", "argv": ["yes"]}));
            stalled.window(stream, u32::MAX);
        }
        let mut other = world.reconnect(&id);
        assert_eq!(other.exec(&["echo", "still", "here"]).text(), "still here\n");
        assert_eq!(other.ask(json!({"op": "read", "path": "/etc/group"})).code(), "");
    });
}

#[test]
fn the_longest_silent_idle_client_makes_room() {
    in_every_mode(|world| {
        let id = id("room");
        let mut busy = world.create(&id);
        let stream = busy.open(json!({"op": "exec", "argv": ["cat"], "stdin": true}));
        assert!(matches!(busy.next_for(stream), Answer::Reply(_)));
        let mut idle: Vec<Client> = (1..MOST).map(|_| world.reconnect(&id)).collect();
        // The first of the idle ones speaks, so it is not the longest silent any more.
        assert!(is_there(&mut idle[0]));
        let mut one_more = world.reconnect(&id);
        assert!(is_there(&mut one_more));
        assert!(matches!(idle[1].next_for(0), Answer::Closed), "the longest silent goes");
        assert!(is_there(&mut idle[0]));
        for other in &mut idle[2..] {
            assert!(is_there(other));
        }
        busy.data(stream, b"kept");
        assert!(matches!(busy.next_for(stream), Answer::Data(1, said) if said == b"kept"));
    });
}

#[test]
fn nobody_is_kept_out_by_busy_clients() {
    in_every_mode(|world| {
        let id = id("full");
        let mut first = world.create(&id);
        let mut rest: Vec<Client> = (1..MOST).map(|_| world.reconnect(&id)).collect();
        for client in std::iter::once(&mut first).chain(&mut rest) {
            let stream = client.open(json!({"op": "exec", "argv": ["cat"], "stdin": true}));
            assert!(matches!(client.next_for(stream), Answer::Reply(_)));
        }
        let mut one_more = world.reconnect(&id);
        assert!(matches!(first.next_for(1), Answer::Closed));
        let all = one_more.ask(json!({"op": "processes"})).end();
        assert_eq!(all["processes"].as_array().unwrap().len(), MOST, "what it ran goes on");
    });
}
