//! The life of sandboxes and of hold itself.

mod support;

use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};
use support::client::Answer;
use support::{host, id, in_every_mode, wait_until};

#[test]
fn destroy_leaves_no_process_no_mount_and_no_folder() {
    in_every_mode(|world| {
        let id = id("destroy");
        let mut sandbox = world.create(&id);
        // A daemon that has left its session, its group and its parent.
        sandbox.sh("setsid sh -c 'setsid sleep 5150 & setsid sleep 5150 &' & wait").end();
        let namespace = host::namespace(world.pid_of(&id), "pid");
        wait_until("the daemons run", || host::processes_in(&namespace).len() >= 3);
        assert!(world.destroy(&id));
        assert_eq!(host::processes_in(&namespace), Vec::<i32>::new());
        assert!(!world.directory.join("boxes").join(&id).exists());
        assert!(world.boxes().is_empty());
        assert!(!world.destroy(&id), "it is gone already");
        wait_until("the folder is removed", || world.is_empty());
        assert_eq!(host::mounts_below(&world.directory), Vec::<String>::new());
        // The same id can live again.
        world.create(&id).exec(&["true"]).end();
    });
}

#[test]
fn a_grace_lets_programs_say_goodbye() {
    in_every_mode(|world| {
        let id = id("grace");
        let mut sandbox = world.create(&id);
        let stream = sandbox.open(json!({
            "op": "exec",
            "argv": ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"],
        }));
        while !matches!(sandbox.next_for(stream), Answer::Data(1, _)) {}
        let start = Instant::now();
        let gone = world.hold().ask(json!({"op": "destroy", "id": id, "graceMs": 5000}));
        assert_eq!(gone.end()["existed"], true);
        assert!(start.elapsed() < Duration::from_secs(4), "it does not wait out the grace");
        assert_eq!(sandbox.finish_until_closed(stream), "bye\n");
        // Who does not listen is killed at the end of the grace.
        let mut sandbox = world.create(&id);
        let stream = sandbox.open(json!({"op": "exec", "argv": ["sh", "-c", "trap '' TERM; echo; while :; do sleep 1; done"]}));
        while !matches!(sandbox.next_for(stream), Answer::Data(1, _)) {}
        let start = Instant::now();
        world.hold().ask(json!({"op": "destroy", "id": id, "graceMs": 300})).end();
        assert!((300..3000).contains(&start.elapsed().as_millis()));
    });
}

#[test]
fn nobody_inside_can_end_the_sandbox_by_a_signal() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("immortal"));
        sandbox.sh("for s in TERM INT KILL STOP HUP CHLD; do kill -$s 1; done 2>/dev/null").end();
        assert_eq!(sandbox.exec(&["echo", "alive"]).text(), "alive\n");
    });
}

#[test]
fn time_runs_out_and_can_be_extended() {
    in_every_mode(|world| {
        let (short, long) = (id("short"), id("long"));
        let mut request = world.request(&short);
        request["ttlMs"] = json!(2_000);
        request["labels"] = json!({"who": "me"});
        let _short = world.create_with(request.clone()).unwrap();
        request["id"] = json!(long);
        let _long = world.create_with(request).unwrap();
        let listed = world.boxes();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[0]["labels"], json!({"who": "me"}));
        assert!(listed[0]["expiresAtMs"].as_u64() > listed[0]["createdAtMs"].as_u64());
        let extended = world.hold().ask(json!({"op": "extend", "id": long, "ttlMs": 60_000})).end();
        assert!(extended["expiresAtMs"].as_u64() > listed[0]["expiresAtMs"].as_u64());
        wait_until("the short one is over", || world.boxes().len() == 1);
        assert_eq!(world.boxes()[0]["id"], long.as_str());
        let missing = world.hold().ask(json!({"op": "extend", "id": short, "ttlMs": 1}));
        assert_eq!(missing.code(), "not_found");
    });
}

#[test]
fn sandboxes_outlive_hold_and_the_next_one_adopts_them() {
    in_every_mode(|world| {
        let (living, dead) = (id("living"), id("dead"));
        let mut sandbox = world.create(&living);
        let _dead = world.create(&dead);
        let doomed = world.pid_of(&dead);
        world.stop(libc::SIGKILL);
        assert_eq!(sandbox.exec(&["echo", "without", "hold"]).text(), "without hold\n");
        host::kill(doomed, libc::SIGKILL);
        wait_until("it is dead", || !host::is_alive(doomed));
        assert!(world.start().success());
        let boxes = world.boxes();
        assert_eq!(boxes.len(), 1);
        assert_eq!(boxes[0]["id"], living.as_str());
        assert_eq!(boxes[0]["installation"], "tests");
        assert!(!world.directory.join("boxes").join(&dead).exists());
        assert_eq!(
            world.create_with(world.request(&living)).err().unwrap()["code"],
            "already_exists"
        );
        assert_eq!(world.reconnect(&living).exec(&["echo", "back"]).text(), "back\n");
        assert!(world.destroy(&living));
        // An adopted one that dies by itself is noticed, too.
        let _again = world.create(&living);
        let pid = world.pid_of(&living);
        world.stop(libc::SIGTERM);
        assert!(world.start().success());
        host::kill(pid, libc::SIGKILL);
        wait_until("it is not listed any more", || world.boxes().is_empty());
    });
}

#[test]
fn one_folder_has_one_hold_which_leaves_when_idle() {
    in_every_mode(|world| {
        assert_eq!(world.start().code(), Some(3), "the second is refused");
        world.stop(libc::SIGTERM);
        assert!(world.start_with(&["--idle-exit-ms", "200"]).success());
        let sandbox = world.create(&id("busy"));
        let pid = world.hold_pid();
        std::thread::sleep(Duration::from_millis(400));
        assert!(host::is_alive(pid), "a sandbox keeps it");
        world.destroy(&id("busy"));
        drop(sandbox);
        wait_until("it has left", || !host::is_alive(pid));
        assert!(!world.directory.join("hold.sock").exists());
        assert!(world.start().success());
    });
}

#[test]
fn a_sandbox_that_cannot_be_made_leaves_nothing_and_says_why() {
    in_every_mode(|world| {
        let id = id("broken");
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut request = world.request(&id);
            change(&mut request);
            world.create_with(request).err().expect("a refusal")["code"]
                .as_str()
                .unwrap()
                .to_string()
        };
        assert_eq!(refused(&|it| it["id"] = json!("../../etc")), "invalid_request");
        assert_eq!(refused(&|it| it["root"]["lowers"] = json!([])), "invalid_request");
        assert_eq!(
            refused(&|it| it["root"]["lowers"] = json!(["/no/such/layer"])),
            "path_not_found"
        );
        assert_eq!(
            refused(&|it| it["root"]["mounts"][0]["target"] = json!("/a/../..")),
            "invalid_request"
        );
        assert_eq!(refused(&|it| it["root"]["tmpfs"] = json!(["/proc"])), "invalid_request");
        assert_eq!(refused(&|it| it["env"] = json!({"A=B": "c"})), "invalid_request");
        assert_eq!(refused(&|it| it["hostname"] = json!("a/b")), "invalid_request");
        // A layer that is a file cannot be a root.
        let file = world.base.join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(refused(&|it| it["root"]["lowers"] = json!([file])), "unavailable");
        // The connection stays with hold and works on.
        let mut client = world.hold();
        let stream = client.open(json!({"op": "create", "id": id}));
        assert!(matches!(client.next_for(stream), Answer::Fail(_)));
        assert_eq!(client.ask(json!({"op": "ping"})).end()["boxes"], 0);
        wait_until("nothing is left", || world.is_empty());
    });
}

#[test]
fn requests_are_answered_in_order_and_nonsense_ends_the_connection() {
    in_every_mode(|world| {
        let id = id("order");
        let _sandbox = world.create(&id);
        let mut client = world.hold();
        let (destroy, list, ping) = (
            client.open(json!({"op": "destroy", "id": id})),
            client.open(json!({"op": "list"})),
            client.open(json!({"op": "ping"})),
        );
        assert!(matches!(client.next_for(destroy), Answer::End(end) if end["existed"] == true));
        assert!(matches!(client.next_for(list), Answer::End(end) if end["boxes"] == json!([])));
        assert!(matches!(client.next_for(ping), Answer::End(_)));
        // Requests behind a create reach the sandbox it makes.
        client.open(world.request(&id));
        let exec = client.open(json!({"op": "exec", "argv": ["echo", "early"]}));
        assert!(matches!(client.next_for(0), Answer::Hello(_)));
        assert_eq!(client.finish(exec).text(), "early\n");
        client.frame(10, 0, b"12345678");
        assert!(matches!(client.next_for(0), Answer::Pong(echo) if echo == b"12345678"));
        for (kind, stream, payload) in
            [(12, 1, &b""[..]), (7, 1, b"{}"), (2, 1, b"{}"), (2, 9, b"nonsense"), (4, 9, b"\x03x")]
        {
            let mut bad = world.reconnect(&id);
            if kind == 2 && stream == 1 {
                bad.open(json!({"op": "processes"}));
            }
            bad.frame(kind, stream, payload);
            while !matches!(bad.next_for(1), Answer::Closed) {}
        }
        assert_eq!(world.reconnect(&id).exec(&["echo", "fine"]).text(), "fine\n");
    });
}
