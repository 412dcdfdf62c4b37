//! Sandboxes that are made ahead and claimed later.

mod support;

use serde_json::{Value, json};
use support::client::Answer;
use support::{World, host, id, in_every_mode, wait_until};

fn made_ahead(world: &World, pooled: &str) -> support::client::Client {
    let mut request = world.request(pooled);
    request["pooled"] = json!(true);
    request["ttlMs"] = json!(600_000);
    world.create_with(request).expect("a sandbox")
}

fn claim(pooled: &str, id: &str) -> Value {
    json!({"op": "claim", "pooled": pooled, "id": id, "ttlMs": 90_000, "labels": {"who": "me"}})
}

#[test]
fn a_claim_gives_it_an_id_a_time_and_variables() {
    in_every_mode(|world| {
        let (pooled, own) = (id("pooled"), id("own"));
        let mut sandbox = made_ahead(world, &pooled);
        assert_eq!(world.boxes()[0]["pooled"], true);
        world.hold().ask(claim(&pooled, &own)).end();
        sandbox.ask(json!({"op": "claim", "id": own, "env": {"MINE": "yes"}})).end();
        let said = sandbox.exec(&["sh", "-c", "echo $MINE; echo $HOME"]);
        assert_eq!(said.text(), "yes\n/home/user\n");
        let boxes = world.boxes();
        assert_eq!(boxes.len(), 1);
        assert_eq!((&boxes[0]["id"], &boxes[0]["labels"]), (&json!(own), &json!({"who": "me"})));
        assert_eq!(boxes[0].get("pooled"), None);
        let lasts =
            boxes[0]["expiresAtMs"].as_u64().unwrap() - boxes[0]["createdAtMs"].as_u64().unwrap();
        // Two clocks, each in whole milliseconds.
        assert!(lasts.abs_diff(90_000) <= 2, "{lasts}");
        // Everything goes by the new id from now on, for a later hold too.
        assert_eq!(world.reconnect(&own).exec(&["sh", "-c", "echo $MINE"]).text(), "yes\n");
        world.stop(libc::SIGKILL);
        assert!(world.start().success());
        assert_eq!(world.reconnect(&own).exec(&["echo", "ok"]).text(), "ok\n");
        assert!(world.destroy(&own));
        wait_until("the folder is removed", || world.is_empty());
    });
}

/// XS-9: whoever claims it finds nothing of anybody, because nobody could do anything in it.
#[test]
fn xs_9_nothing_is_done_in_it_before_it_is_claimed() {
    in_every_mode(|world| {
        let pooled = id("untouched");
        let mut sandbox = made_ahead(world, &pooled);
        assert_eq!(sandbox.exec(&["true"]).code(), "invalid_request");
        let write = json!({"op": "write", "path": "/tmp/left", "user": "user"});
        assert_eq!(sandbox.ask(write).code(), "invalid_request");
        assert_eq!(sandbox.ask(json!({"op": "processes"})).code(), "invalid_request");
        let namespace = host::namespace(world.pid_of(&pooled), "pid");
        assert_eq!(host::processes_in(&namespace).len(), 1, "only its first process");
        assert!(world.destroy(&pooled));
    });
}

/// XS-9: one owner, once.
#[test]
fn xs_9_it_is_claimed_once_and_an_ordinary_one_never() {
    in_every_mode(|world| {
        let (pooled, first, second) = (id("once"), id("first"), id("second"));
        let mut sandbox = made_ahead(world, &pooled);
        world.hold().ask(claim(&pooled, &first)).end();
        assert_eq!(world.hold().ask(claim(&pooled, &second)).code(), "not_found");
        assert_eq!(world.hold().ask(claim(&first, &second)).code(), "invalid_request");
        sandbox.ask(json!({"op": "claim", "id": first})).end();
        let again = json!({"op": "claim", "id": second, "env": {"MINE": "no"}});
        assert_eq!(sandbox.ask(again).code(), "invalid_request");

        let mut ordinary = world.create(&second);
        assert_eq!(world.hold().ask(claim(&second, &id("third"))).code(), "invalid_request");
        assert_eq!(ordinary.ask(json!({"op": "claim", "id": first})).code(), "invalid_request");
        let other = id("other");
        made_ahead(world, &other);
        assert_eq!(world.hold().ask(claim(&other, &second)).code(), "already_exists");
        assert_eq!(world.hold().ask(claim(&other, "../../etc")).code(), "invalid_request");
        for one in [&first, &second, &other] {
            assert!(world.destroy(one));
        }
    });
}

#[test]
fn one_that_nobody_claims_ends_by_itself() {
    in_every_mode(|world| {
        let mut request = world.request(&id("expires"));
        request["pooled"] = json!(true);
        request["ttlMs"] = json!(200);
        world.create_with(request).expect("a sandbox");
        wait_until("it is over", || world.boxes().is_empty());
    });
}

#[test]
fn a_hold_that_dies_within_a_claim_has_made_it() {
    in_every_mode(|world| {
        let (pooled, own) = (id("half"), id("whole"));
        world.stop(libc::SIGTERM);
        assert!(world.start_with(&["--die-at", "claim"]).success());
        let mut sandbox = made_ahead(world, &pooled);
        let hold = world.hold_pid();
        let mut client = world.hold();
        let stream = client.open(claim(&pooled, &own));
        assert!(matches!(client.next_for(stream), Answer::Closed));
        wait_until("hold is dead", || !host::is_alive(hold));
        assert!(world.start().success());
        assert_eq!(world.boxes()[0]["id"], json!(own));
        sandbox.ask(json!({"op": "claim", "id": own})).end();
        assert_eq!(world.reconnect(&own).exec(&["echo", "ok"]).text(), "ok\n");
        assert!(world.destroy(&own));
        wait_until("the folder is removed", || world.is_empty());
    });
}

/// RE-4: whoever made it ahead is gone with hold, and nobody else knows of it.
#[test]
fn re_4_one_that_nobody_comes_back_for_ends_soon_after_hold_has() {
    in_every_mode(|world| {
        let (wanted, left) = (id("wanted"), id("left"));
        let _connections = [made_ahead(world, &wanted), made_ahead(world, &left)];
        world.stop(libc::SIGKILL);
        assert!(world.start().success());
        let mut client = world.hold();
        client.ask(json!({"op": "tether", "id": wanted})).end();
        wait_until("one has ended", || world.boxes().len() == 1);
        assert_eq!(world.boxes()[0]["id"], json!(wanted));
        assert!(world.destroy(&wanted));
        wait_until("the folders are removed", || world.is_empty());
    });
}
