//! What a sandbox wrote, shared by its copies.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use support::client::Client;
use support::{Mode, World, as_root, host, id, in_every_mode, wait_until};

fn kept(world: &World, id: &str, layers: &Value) -> Value {
    let mut request = world.request(id);
    request["keeps"] = json!({"keepMs": 600_000, "stopsAtEnd": true});
    request["limits"] = json!({"diskBytes": 64 << 20});
    request["layers"] = layers.clone();
    request
}

fn restart(world: &World, id: &str) -> Client {
    let mut request = kept(world, id, &json!([]));
    request["op"] = json!("start");
    loop {
        match world.create_with(request.clone()) {
            Ok(sandbox) => break sandbox,
            Err(failure) => assert_eq!(failure["code"], "busy", "{failure}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn stop(world: &World, id: &str) {
    world.hold().ask(json!({"op": "stop", "id": id})).end();
}

fn freeze(world: &World, id: &str) -> Value {
    world.hold().ask(json!({"op": "freeze", "id": id})).end()["layers"].clone()
}

fn layers(world: &World) -> usize {
    fs::read_dir(world.directory.join("layers")).map_or(0, Iterator::count)
}

/// Of one that runs: its disk is copied, and the copy waits for who asked for it.
fn live_layers(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.directory.join("layers")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("-live-")).collect()
}

const WRITE: &str = "echo one > ~/one; chmod 640 ~/one; mkdir ~/d; echo x > ~/d/x; ln -s one ~/l";
const LOOK: &str = "cd ~ && ls && cat one && stat -c '%a %U' one d";
const SEEN: &str = "d\nl\none\none\n640 user\n755 user\n";

#[test]
fn copies_begin_as_it_was_and_go_their_own_ways() {
    in_every_mode(|world| {
        let parent = id("parent");
        let mut sandbox = world.create_with(kept(world, &parent, &json!([]))).unwrap();
        assert_eq!(sandbox.sh(WRITE).exit()["code"], 0);
        stop(world, &parent);
        let shared = freeze(world, &parent);
        assert_eq!(shared.as_array().unwrap().len(), 1);
        assert_eq!(freeze(world, &parent), shared, "nothing was written since");
        let mut one = world.create_with(kept(world, &id("one"), &shared)).unwrap();
        let mut two = world.create_with(kept(world, &id("two"), &shared)).unwrap();
        for copy in [&mut one, &mut two] {
            assert_eq!(copy.sh(LOOK).text(), SEEN);
        }
        assert_eq!(
            one.sh("rm -r ~/d; echo two >> ~/one; cat ~/one; ls ~").text(),
            "one\ntwo\nl\none\n"
        );
        assert_eq!(two.sh(LOOK).text(), SEEN, "the other is as it was");
        let mut sandbox = restart(world, &parent);
        assert_eq!(sandbox.sh(LOOK).text(), SEEN, "and so is the first");

        // The copy of a copy, with what it deleted.
        stop(world, &id("one"));
        let deeper = freeze(world, &id("one"));
        assert_eq!(deeper.as_array().unwrap().len(), 2);
        assert_eq!(deeper[1], shared[0]);
        let mut three = world.create_with(kept(world, &id("three"), &deeper)).unwrap();
        assert_eq!(three.sh("cat ~/one; ls ~").text(), "one\ntwo\nl\none\n");
        let mut below = |at: u64| three.ask(json!({"op": "capture", "below": at})).stdout;
        let sizes = [below(0).len(), below(1).len(), below(2).len()];
        assert!(sizes[1] > sizes[0] && sizes[2] > sizes[0], "each layer can be read: {sizes:?}");

        // What somebody lies on stays, and nothing else.
        assert!(world.destroy(&parent));
        assert!(world.destroy(&id("one")));
        wait_until("they are gone", || world.boxes().len() == 2);
        assert_eq!(layers(world), 2);
        world.stop(libc::SIGTERM);
        assert!(world.start().success());
        assert_eq!(layers(world), 2);
        assert!(world.destroy(&id("three")));
        wait_until("one layer is left", || layers(world) == 1);
        assert_eq!(world.reconnect(&id("two")).sh(LOOK).text(), SEEN);
        assert!(world.destroy(&id("two")));
        wait_until("none is left", || layers(world) == 0 && world.is_empty());
    });
}

#[test]
fn sn_1_a_copy_has_no_identity_of_another() {
    // Only who has a root inside can plant these.
    as_root(|world| {
        let parent = id("parent");
        let mut sandbox = world.create_with(kept(world, &parent, &json!([]))).unwrap();
        let plant = "mkdir -p /etc/ssh /run/app /etc/sandboxer && echo a > /etc/machine-id && \
            echo b > /etc/ssh/ssh_host_rsa_key && echo c > /run/app/pid && echo d > /etc/sandboxer/ca.pem && \
            echo e > /etc/ssh/sshd_config";
        let argv = json!({"op": "exec", "user": "root", "argv": ["/bin/sh", "-c", plant]});
        assert_eq!(sandbox.ask(argv).exit()["code"], 0);
        let look = "cat /etc/machine-id /etc/ssh/ssh_host_rsa_key /run/app/pid /etc/sandboxer/ca.pem \
            /etc/ssh/sshd_config 2>/dev/null";
        assert_eq!(sandbox.sh(look).text(), "a\nb\nc\nd\ne\n", "control: they are planted");
        stop(world, &parent);
        let shared = freeze(world, &parent);
        let mut copy = world.create_with(kept(world, &id("copy"), &shared)).unwrap();
        assert_eq!(copy.sh(look).text(), "e\n");
        let mut sandbox = restart(world, &parent);
        assert_eq!(sandbox.sh(look).text(), "a\nb\nc\nd\ne\n", "control: its own are its own");
    });
}

#[test]
fn re_1_a_hold_that_dies_while_it_freezes_leaves_the_one_or_the_other() {
    in_every_mode(|world| {
        let parent = id("parent");
        let mut sandbox = world.create_with(kept(world, &parent, &json!([]))).unwrap();
        assert_eq!(sandbox.sh(WRITE).exit()["code"], 0);
        for place in ["freezing", "moved", "layered"] {
            sandbox.sh("date +%N > ~/.again").end();
            stop(world, &parent);
            world.stop(libc::SIGTERM);
            assert!(world.start_with(&["--die-at", place]).success());
            let doomed = world.hold_pid();
            world.hold().open(json!({"op": "freeze", "id": parent}));
            wait_until("hold has died", || !host::is_alive(doomed));
            assert!(world.start().success());
            let shared = freeze(world, &parent);
            let mut copy = world.create_with(kept(world, &id("copy"), &shared)).unwrap();
            assert_eq!(copy.sh(LOOK).text(), SEEN, "{place}");
            assert!(world.destroy(&id("copy")));
            sandbox = restart(world, &parent);
            assert_eq!(sandbox.sh(LOOK).text(), SEEN, "{place}");
        }
        assert!(world.destroy(&parent));
        wait_until("none is left", || layers(world) == 0 && world.is_empty());
    });
}

#[test]
fn re_1_a_sandbox_that_stood_still_for_one_who_died_goes_on() {
    // Only who has a control group can be stopped.
    as_root(|world| {
        let parent = id("parent");
        for (is_marked, is_paused) in [(false, true), (true, false)] {
            world.create(&parent);
            world.hold().ask(json!({"op": "pause", "id": parent})).end();
            let doomed = world.hold_pid();
            world.stop(libc::SIGKILL);
            wait_until("hold has died", || !host::is_alive(doomed));
            let place = world.directory.join("layers").join(format!("{parent}-live-1"));
            fs::create_dir_all(&place).unwrap();
            if is_marked {
                fs::write(place.join("still"), "").unwrap();
            }
            assert!(world.start().success());
            let boxes = world.hold().ask(json!({"op": "list", "id": parent})).end();
            assert_eq!(boxes["boxes"][0]["paused"], is_paused, "marked: {is_marked}");
            assert!(world.destroy(&parent));
            wait_until("none is left", || layers(world) == 0 && world.is_empty());
        }
    });
}

#[test]
fn sn_6_a_copy_of_one_that_runs_is_as_it_was_and_each_goes_its_own_way() {
    in_every_mode(|world| {
        let parent = id("parent");
        let mut own = world.request(&parent);
        own["limits"] = json!({"diskBytes": 64 << 20});
        for request in [own, kept(world, &parent, &json!([]))] {
            let mut sandbox = world.create_with(request).unwrap();
            // What was deleted does not go along, and what stays is more than one piece.
            let large = "head -c 20M /dev/urandom > ~/large; rm ~/large";
            assert_eq!(sandbox.sh(&format!("{WRITE}; {large}")).exit()["code"], 0);
            for is_paused in [false, true] {
                if is_paused {
                    world.hold().ask(json!({"op": "pause", "id": parent}));
                }
                let answer = world.hold().ask(json!({"op": "freeze", "id": parent}));
                if world.mode != Mode::Root {
                    assert_eq!(answer.fail.unwrap()["code"], "unsupported");
                    continue;
                }
                let shared = answer.end()["layers"].clone();
                assert_eq!(live_layers(world).len(), 1);
                let listed = world.hold().ask(json!({"op": "list", "id": parent})).end();
                assert_eq!(listed["boxes"][0]["paused"], is_paused, "as it was before");
                world.hold().ask(json!({"op": "resume", "id": parent})).end();
                assert_eq!(sandbox.sh("echo more >> ~/one").exit()["code"], 0);
                let image = world.directory.join("layers").join(shared[0].as_str().unwrap());
                let written = fs::metadata(image.join("disk.ext4")).unwrap().blocks() * 512;
                assert!(written < 16 << 20, "{written} bytes of it were copied");
                let mut copy = world.create_with(kept(world, &id("copy"), &shared)).unwrap();
                assert_eq!(copy.sh(LOOK).text(), SEEN);
                assert_eq!(copy.sh("echo two >> ~/one; cat ~/one").text(), "one\ntwo\n");
                assert_eq!(sandbox.sh("cat ~/one; echo one > ~/one").text(), "one\nmore\n");
                assert!(world.destroy(&id("copy")));
                wait_until("no layer is left", || layers(world) == 0);
            }
            assert!(world.destroy(&parent));
            wait_until("nothing is left", || world.is_empty());
        }
    });
}

/// Begins to copy it, and says when the copy is about to be written.
fn begin_to_copy(world: &World, id: &str) -> (Client, u32) {
    let mut client = world.hold();
    let stream = client.open(json!({"op": "freeze", "id": id}));
    wait_until("it is being copied", || !live_layers(world).is_empty());
    (client, stream)
}

#[test]
fn re_1_what_is_half_copied_when_hold_is_killed_or_the_sandbox_ended_is_taken_back() {
    as_root(|world| {
        let parent = id("parent");
        let mut request = kept(world, &parent, &json!([]));
        request["limits"] = json!({"diskBytes": 512 << 20});
        let mut sandbox = world.create_with(request.clone()).unwrap();
        let large = "head -c 200M /dev/urandom > ~/large; cksum < ~/large > ~/sum";
        assert_eq!(sandbox.sh(large).exit()["code"], 0);
        for (is_paused, end) in
            [(false, "kill"), (true, "kill"), (false, "stop"), (true, "stop"), (true, "destroy")]
        {
            if is_paused {
                world.hold().ask(json!({"op": "pause", "id": parent})).end();
            }
            let (mut asked, stream) = begin_to_copy(world, &parent);
            match end {
                "kill" => {
                    let doomed = world.hold_pid();
                    world.stop(libc::SIGKILL);
                    wait_until("hold has died", || !host::is_alive(doomed));
                    assert!(world.start().success());
                }
                "stop" => stop(world, &parent),
                _ => assert!(world.destroy(&parent)),
            }
            if end != "kill" {
                // It may have been done before; then it is somebody's or goes with who asked.
                let answer = asked.finish(stream);
                if answer.fail.is_none() {
                    let shared = answer.end()["layers"].clone();
                    drop(world.create_with(kept(world, &id("copy"), &shared)).unwrap());
                    assert!(world.destroy(&id("copy")));
                }
            }
            wait_until("nothing of it is left", || live_layers(world).is_empty());
            if end == "kill" {
                let listed = world.hold().ask(json!({"op": "list", "id": parent})).end();
                assert_eq!(listed["boxes"][0]["paused"], is_paused, "as it was before");
                world.hold().ask(json!({"op": "resume", "id": parent})).end();
                sandbox = world.reconnect(&parent);
                assert_eq!(sandbox.sh("cksum < ~/large | cmp - ~/sum").exit()["code"], 0);
                // The next hold has its disk only from the next life on.
                stop(world, &parent);
            }
            if end != "destroy" {
                sandbox = restart(world, &parent);
                assert_eq!(sandbox.sh("cksum < ~/large | cmp - ~/sum").exit()["code"], 0);
            }
        }
        wait_until("nothing is left", || layers(world) == 0 && world.is_empty());
    });
}
