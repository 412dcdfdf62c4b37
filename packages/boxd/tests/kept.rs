//! Sandboxes whose disk stays when their processes end.

mod support;

use serde_json::{Value, json};
use std::fs;
use support::client::{Answer, Client};
use support::project::{EDIT, changes, project, summary};
use support::{Mode, World, host, id, in_every_mode, wait_until};

fn kept(world: &World, id: &str) -> Value {
    let mut request = world.request(id);
    request["keeps"] = json!({"keepMs": 600_000, "stopsAtEnd": true});
    // Where hold is root, a disk of its own.
    request["limits"] = json!({"diskBytes": 64 << 20});
    request
}

fn again(request: &Value) -> Value {
    let mut request = request.clone();
    request["op"] = json!("start");
    request
}

/// Its disk may be on its way back yet.
fn restart(world: &World, request: &Value) -> Client {
    loop {
        match world.create_with(again(request)) {
            Ok(sandbox) => break sandbox,
            Err(failure) => assert_eq!(failure["code"], "busy", "{failure}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn stop(world: &World, id: &str) -> Value {
    world.hold().ask(json!({"op": "stop", "id": id})).end()
}

fn only(world: &World) -> Value {
    let boxes = world.boxes();
    assert_eq!(boxes.len(), 1, "{boxes:?}");
    boxes[0].clone()
}

fn remember(sandbox: &mut Client, word: &str) {
    let script = format!("echo {word} >> ~/kept; chmod 640 ~/kept; echo gone > /tmp/gone");
    assert_eq!(sandbox.sh(&script).exit()["code"], 0);
}

#[test]
fn what_was_written_outlives_a_stop_and_a_start() {
    in_every_mode(|world| {
        let request = kept(world, &id("kept"));
        let mut sandbox = world.create_with(request.clone()).unwrap();
        remember(&mut sandbox, "one");
        sandbox.sh("setsid sleep 6161 & echo").end();
        stop(world, &id("kept"));
        assert!(host::processes_saying("sleep\x006161").is_empty(), "its processes are gone");
        let stopped = only(world);
        assert_eq!((&stopped["stopped"], &stopped["paused"]), (&json!(true), &json!(true)));
        assert_eq!(stop(world, &id("kept")), json!({"existed": true}), "of what is stopped");
        let refused = world.hold().ask(json!({"op": "metrics", "id": id("kept")})).fail.unwrap();
        assert_eq!(refused["code"], "invalid_request", "it is not lost");
        let refused = world.create_with(request.clone()).err().unwrap();
        assert_eq!(refused["code"], "already_exists");

        world.stop(libc::SIGTERM);
        assert!(world.start().success());
        assert_eq!(only(world)["stopped"], true, "the next hold knows it");
        let mut sandbox = world.create_with(again(&request)).unwrap();
        assert!(only(world).get("stopped").is_none());
        let seen = sandbox.sh("cat ~/kept; stat -c '%a %U' ~/kept; ls /tmp").text();
        assert_eq!(seen, "one\n640 user\n");
        remember(&mut sandbox, "two");
        stop(world, &id("kept"));
        let mut sandbox = world.create_with(again(&request)).unwrap();
        assert_eq!(sandbox.sh("cat ~/kept").text(), "one\ntwo\n");
        assert!(world.destroy(&id("kept")), "while it runs");
        wait_until("all of it is gone", || world.is_empty());
    });
}

#[test]
fn a_sandbox_of_one_life_cannot_be_stopped_and_what_runs_cannot_be_started() {
    in_every_mode(|world| {
        let _one = world.create(&id("brief"));
        let refused = world.hold().ask(json!({"op": "stop", "id": id("brief")})).fail.unwrap();
        assert_eq!(refused["code"], "unsupported");
        let refused = world.create_with(again(&world.request(&id("brief")))).err().unwrap();
        assert_eq!(refused["code"], "already_exists");
        let refused = world.create_with(again(&world.request(&id("none")))).err().unwrap();
        assert_eq!(refused["code"], "not_found");
    });
}

#[test]
fn a_machine_that_fails_leaves_what_was_kept_and_nothing_else() {
    in_every_mode(|world| {
        let request = kept(world, &id("kept"));
        let mut sandbox = world.create_with(request.clone()).unwrap();
        remember(&mut sandbox, "one");
        sandbox.sh("sync").end();
        let _brief = world.create(&id("brief"));
        let pids = [world.pid_of(&id("kept")), world.pid_of(&id("brief"))];
        world.stop(libc::SIGKILL);
        for pid in pids {
            host::kill(pid, libc::SIGKILL);
            wait_until("it is dead", || !host::is_alive(pid));
        }
        // As after a boot: the pid may be anybody's.
        let file = world.directory.join("boxes").join(id("kept")).join("box.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        record["bootId"] = json!("another boot");
        fs::write(&file, record.to_string()).unwrap();
        assert!(world.start().success());
        assert_eq!(only(world)["id"], id("kept"));
        let mut sandbox = restart(world, &request);
        assert_eq!(sandbox.sh("cat ~/kept").text(), "one\n");
        stop(world, &id("kept"));
        assert!(world.destroy(&id("kept")), "while it is stopped");
        wait_until("all of it is gone", || world.is_empty());
    });
}

#[test]
fn its_end_stops_it_where_it_says_so_and_its_keeping_ends() {
    in_every_mode(|world| {
        let mut request = kept(world, &id("timed"));
        request["ttlMs"] = json!(2_000);
        let _sandbox = world.create_with(request).unwrap();
        wait_until("its time is up", || only(world)["stopped"] == true);
        let extend = json!({"op": "extend", "id": id("timed"), "ttlMs": 200});
        assert!(world.hold().ask(extend).end()["expiresAtMs"].is_u64());
        wait_until("it was kept long enough", || world.boxes().is_empty());
        wait_until("all of it is gone", || world.is_empty());

        let mut request = kept(world, &id("ended"));
        request["ttlMs"] = json!(2_000);
        request["keeps"]["stopsAtEnd"] = json!(false);
        let _sandbox = world.create_with(request).unwrap();
        wait_until("control: it ends for good", || world.boxes().is_empty());
    });
}

#[test]
fn changes_of_a_workspace_stay_and_another_folder_is_refused() {
    in_every_mode(|world| {
        let folder = project(world);
        let mut request = kept(world, &id("works"));
        request["root"]["workspace"] =
            json!({"source": folder, "target": "/workspace", "mode": "copy-on-write"});
        let mut sandbox = world.create_with(request.clone()).unwrap();
        assert_eq!(sandbox.sh(EDIT).exit()["code"], 0);
        let before = summary(&changes(&mut sandbox, "names", &[]));
        assert!(!before.is_empty());
        stop(world, &id("works"));
        let mut sandbox = world.create_with(again(&request)).unwrap();
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), before);
        stop(world, &id("works"));
        let aside = folder.with_file_name("aside");
        fs::rename(&folder, &aside).unwrap();
        let copied = std::process::Command::new("cp").arg("-a").args([&aside, &folder]).status();
        assert!(copied.unwrap().success());
        let refused = world.create_with(again(&request)).err().unwrap();
        assert_eq!(refused["code"], "already_exists");
        assert_eq!(only(world)["stopped"], true, "and it is as it was");
    });
}

#[test]
fn one_that_is_read_is_stopped_to_everybody_else() {
    in_every_mode(|world| {
        let request = kept(world, &id("read"));
        let mut sandbox = world.create_with(request.clone()).unwrap();
        remember(&mut sandbox, "one");
        stop(world, &id("read"));
        let mut reader = world.hold();
        reader.ask(json!({"op": "tether", "id": id("read")})).end();
        let mut to_read = again(&request);
        to_read["reader"] = json!(true);
        to_read["tethered"] = json!(true);
        let until = only(world)["expiresAtMs"].clone();
        let mut sandbox = world.create_with(to_read).unwrap();
        assert_eq!(sandbox.sh("cat ~/kept").text(), "one\n");
        assert_eq!((&only(world)["stopped"], &only(world)["expiresAtMs"]), (&json!(true), &until));
        drop(reader);
        wait_until("it rests again", || only(world)["pid"] == 0);
        let mut sandbox = restart(world, &request);
        assert_eq!(sandbox.sh("cat ~/kept").text(), "one\n");
    });
}

/// Leads a hold that dies at `place` there.
fn dies_at(world: &World, place: &str, provoke: impl FnOnce()) {
    world.stop(libc::SIGTERM);
    assert!(world.start_with(&["--die-at", place]).success());
    let doomed = world.hold_pid();
    provoke();
    wait_until(&format!("hold has died at {place}"), || !host::is_alive(doomed));
    if ["folder", "process", "group", "record", "disk"].contains(&place) {
        let is_over = || host::processes_from(&world.base).is_empty();
        wait_until("what was half started is dead", is_over);
    }
    assert!(world.start().success());
}

#[test]
fn re_1_a_hold_that_dies_while_stopping_or_starting_leaves_the_one_or_the_other() {
    in_every_mode(|world| {
        let request = kept(world, &id("kept"));
        let mut sandbox = world.create_with(request.clone()).unwrap();
        remember(&mut sandbox, "one");
        let has_disk = world.mode == Mode::Root;
        for place in ["signalled", "buried", "rested", "sealed"] {
            if place == "sealed" && !has_disk {
                continue;
            }
            dies_at(world, place, || {
                world.hold().open(json!({"op": "stop", "id": id("kept")}));
            });
            wait_until("it is stopped", || only(world)["stopped"] == true);
            sandbox = restart(world, &request);
            assert_eq!(sandbox.sh("cat ~/kept").text(), "one\n", "{place}");
        }
        for place in ["folder", "process", "group", "record", "disk", "go", "started"] {
            if ["group", "disk"].contains(&place) && !has_disk {
                continue;
            }
            stop(world, &id("kept"));
            dies_at(world, place, || {
                let mut client = world.hold();
                let stream = client.open(again(&request));
                assert!(matches!(client.next_for(stream), Answer::Hello(_) | Answer::Closed));
            });
            if ["go", "started"].contains(&place) {
                assert_eq!(world.reconnect(&id("kept")).sh("cat ~/kept").text(), "one\n");
                continue;
            }
            let mut sandbox = restart(world, &request);
            assert_eq!(sandbox.sh("cat ~/kept").text(), "one\n", "{place}");
        }
        assert!(world.destroy(&id("kept")));
        wait_until("all of it is gone", || world.is_empty());
    });
}

#[test]
fn what_is_half_written_is_gone_before_a_stop() {
    in_every_mode(|world| {
        let request = kept(world, &id("settle"));
        let mut writing = world.create_with(request.clone()).unwrap();
        let file = writing.open(json!({"op": "write", "path": "half"}));
        let archive = writing.open(json!({"op": "unpack", "path": "/home/user"}));
        let entry = tar_header("part", 4096);
        for (stream, bytes) in [(file, &b"some"[..]), (archive, &entry[..]), (archive, b"some")] {
            writing.data(stream, bytes);
        }
        let mut stopping = world.reconnect(&id("settle"));
        let listed = "ls -A ~";
        wait_until("both have begun", || stopping.sh(listed).text().lines().count() == 2);
        stopping.ask(json!({"op": "settle"})).end();
        for stream in [file, archive] {
            assert_eq!(writing.finish(stream).code(), "busy");
        }
        assert_eq!(stopping.sh(listed).text(), "");
        assert_eq!(writing.ask(json!({"op": "write", "path": "more"})).code(), "busy");
        // It was not stopped after all.
        drop(stopping);
        wait_until("it takes files again", || {
            writing.ask_with(json!({"op": "write", "path": "more"}), b"more").code() == ""
        });
        assert_eq!(writing.sh("cat ~/more").text(), "more");
    });
}

/// Of a file that is to come.
fn tar_header(name: &str, size: usize) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\0");
    put(263, "00");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}
