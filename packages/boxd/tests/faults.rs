//! hold dies, its folder goes, its clients vanish, the clock is put right: nothing is left behind.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::time::Duration;
use support::client::Answer;
use support::{World, as_root, host, id, in_every_mode, wait_until};

/// Starts a hold that dies at `place`, and waits for that while `provoke` leads it there.
fn dies_at(world: &World, place: &str, provoke: impl FnOnce(&World)) {
    world.stop(libc::SIGTERM);
    assert!(world.start_with(&["--die-at", place]).success());
    let doomed = world.hold_pid();
    provoke(world);
    wait_until(&format!("hold has died at {place}"), || !host::is_alive(doomed));
}

#[test]
fn every_place_to_die_at_is_known_and_tested() {
    in_every_mode(|world| {
        let refusal = world.complaint(&["--die-at", "?"]);
        let mut known: Vec<&str> =
            refusal.trim().rsplit_once("knows ").unwrap().1.split(' ').collect();
        let mut tested = MAKING.map(|(place, _)| place).to_vec();
        tested.extend(ENDING);
        tested.extend(LIMITING.iter().chain(&PAUSING));
        // A claim is tested with the pool, what is kept with what is kept.
        tested.extend(["extended", "adopted", "claim", "rested", "sealed", "named"]);
        tested.extend(["freezing", "moved", "layered"]);
        // Of a sandbox's first process: tests/points.
        tested.extend(["copied", "pointed", "undoing", "cleared", "undone"]);
        // Only where the store shares blocks: tests/faults/block-store.
        tested.extend(["sharing", "still", "shared"]);
        known.sort_unstable();
        tested.sort_unstable();
        assert_eq!(known, tested);
    });
}

/// Each with whether the sandbox lives on.
const MAKING: [(&str, bool); 5] =
    [("folder", false), ("process", false), ("record", false), ("go", true), ("started", true)];
const ENDING: [&str; 3] = ["signalled", "buried", "swept"];
/// Passed only where control groups can be had.
const LIMITING: [&str; 2] = ["group", "disk"];
const PAUSING: [&str; 2] = ["frozen", "thawed"];

#[test]
fn a_hold_that_dies_while_making_a_sandbox_leaves_nothing() {
    in_every_mode(|world| {
        for (place, survives) in MAKING {
            let id = id(place);
            dies_at(world, place, |world| {
                let mut client = world.hold();
                let stream = client.open(world.request(&id));
                let answer = client.next_for(stream);
                assert_eq!(matches!(answer, Answer::Hello(_)), survives, "{place}: {answer:?}");
            });
            if !survives {
                wait_until("its half-made sandbox is dead", || {
                    host::processes_from(&world.base).is_empty()
                });
            }
            assert!(world.start().success());
            assert_eq!(world.boxes().len(), usize::from(survives), "{place}");
            if survives {
                assert_eq!(world.reconnect(&id).exec(&["echo", "ok"]).text(), "ok\n");
                assert!(world.destroy(&id));
            }
            wait_until("its folder is cleared away", || world.is_empty());
        }
    });
}

#[test]
fn a_hold_that_dies_while_ending_a_sandbox_leaves_nothing() {
    in_every_mode(|world| {
        for place in ENDING {
            let id = id(place);
            dies_at(world, place, |world| {
                let mut sandbox = world.create(&id);
                sandbox.sh("setsid sleep 5151 & echo").end();
                let mut client = world.hold();
                client.open(json!({"op": "destroy", "id": id}));
            });
            assert!(world.start().success());
            wait_until("it is not listed", || world.boxes().is_empty());
            wait_until("its folder is cleared away", || world.is_empty());
            let left = host::processes_saying("sleep\x005151");
            assert_eq!(left, Vec::<i32>::new(), "{place}");
        }
    });
}

#[test]
fn a_hold_that_dies_while_extending_or_adopting_loses_no_sandbox() {
    in_every_mode(|world| {
        let (one, two) = (id("one"), id("two"));
        dies_at(world, "extended", |world| {
            let _one = world.create(&one);
            let _two = world.create(&two);
            world.hold().open(json!({"op": "extend", "id": one, "ttlMs": 60_000}));
        });
        // Died with one of the two adopted.
        assert!(!world.start_with(&["--die-at", "adopted"]).success());
        assert!(world.start().success());
        let boxes = world.boxes();
        assert_eq!(boxes.len(), 2);
        let extended = boxes.iter().find(|found| found["id"] == one.as_str()).unwrap();
        assert!(extended["expiresAtMs"].is_u64(), "what was written before it died stands");
        for id in [one, two] {
            assert!(world.destroy(&id));
        }
    });
}

fn limited(world: &World, id: &str) -> Value {
    let mut request = world.request(id);
    request["limits"] = json!({"pids": 32, "memoryBytes": 64 << 20, "diskBytes": 32 << 20});
    request
}

#[test]
fn a_hold_that_dies_while_limiting_a_sandbox_leaves_no_group_and_no_disk() {
    as_root(|world| {
        for place in LIMITING {
            let id = id(place);
            dies_at(world, place, |world| {
                let mut client = world.hold();
                let stream = client.open(limited(world, &id));
                assert!(matches!(client.next_for(stream), Answer::Closed), "{place}");
            });
            assert!(!host::groups_named(&id).is_empty(), "control: {place} left one");
            assert!(world.start().success());
            wait_until("its folder is cleared away", || world.is_empty());
            wait_until("its groups are gone", || host::groups_named(&id).is_empty());
            assert_eq!(host::mounts_below(&world.directory), Vec::<String>::new());
        }
    });
}

#[test]
fn a_hold_that_dies_while_pausing_or_resuming_leaves_a_sandbox_that_can_do_both() {
    as_root(|world| {
        for place in PAUSING {
            let id = id(place);
            dies_at(world, place, |world| {
                world.create_with(limited(world, &id)).unwrap();
                world.hold().open(json!({"op": "pause", "id": id}));
                // At the other place nobody is there any more to be asked.
                if place == "thawed" {
                    world.hold().open(json!({"op": "resume", "id": id}));
                }
            });
            assert!(world.start().success());
            let mut hold = world.hold();
            for (op, paused) in [("pause", true), ("resume", false)] {
                hold.ask(json!({"op": op, "id": id})).end();
                assert_eq!(world.boxes()[0]["paused"], paused, "{place} {op}");
            }
            assert_eq!(world.reconnect(&id).exec(&["echo", "ok"]).text(), "ok\n");
            assert!(world.destroy(&id));
            wait_until("its groups are gone", || host::groups_named(&id).is_empty());
        }
    });
}

#[test]
fn a_hold_whose_folder_was_replaced_leaves_the_next_ones_socket_alone() {
    in_every_mode(|world| {
        let first = world.hold_pid();
        let aside = world.base.join("aside");
        fs::rename(&world.directory, &aside).unwrap();
        assert!(world.start().success());
        let second = world.hold_pid();
        assert_ne!(first, second);
        host::kill(first, libc::SIGTERM);
        wait_until("the first has left", || !host::is_alive(first));
        assert_eq!(world.hold_pid(), second, "the second still answers");
        assert!(aside.join("hold.sock").exists(), "the first did not find its own any more");
    });
}

#[test]
fn a_tethered_sandbox_ends_with_its_client_and_is_not_made_without_one() {
    in_every_mode(|world| {
        let id = id("tethered");
        let mut request = world.request(&id);
        request["tethered"] = json!(true);
        let refused = world.create_with(request.clone()).err().expect("nobody holds it");
        assert_eq!(refused["code"], "invalid_request");

        let mut owner = world.hold();
        owner.ask(json!({"op": "tether", "id": id})).end();
        let sandbox = world.create_with(request.clone()).unwrap();
        drop(sandbox);
        assert_eq!(world.reconnect(&id).exec(&["echo", "on"]).text(), "on\n");
        assert_eq!(owner.ask(json!({"op": "list"})).end()["boxes"].as_array().unwrap().len(), 1);
        let pid = world.pid_of(&id);
        drop(owner);
        wait_until("it ended with its client", || !host::is_alive(pid) && world.is_empty());

        // Control: without a tether it stays.
        let other = support::id("free");
        drop(world.create(&other));
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(world.boxes().len(), 1);
        assert!(world.destroy(&other));
    });
}

#[test]
fn re_10_a_wall_clock_that_is_put_right_ends_nothing_early_and_nothing_never() {
    in_every_mode(|world| {
        for wrong_by_ms in [-86_400_000_i64, 86_400_000] {
            let id = id("clock");
            let mut request = world.request(&id);
            request["ttlMs"] = json!(1_500);
            let _sandbox = world.create_with(request).unwrap();
            world.stop(libc::SIGKILL);
            // What a hold would find that was down while the clock was set.
            let file = world.directory.join("boxes").join(&id).join("box.json");
            let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            for field in ["createdAtMs", "expiresAtMs"] {
                record[field] = json!(record[field].as_i64().unwrap() + wrong_by_ms);
            }
            fs::write(&file, record.to_string()).unwrap();
            assert!(world.start().success());
            assert_eq!(world.boxes().len(), 1, "no early end");
            wait_until("its time is up", || world.boxes().is_empty());
        }
    });
}
