//! Sandboxes that were made to go with their processes, and are kept after all.

mod support;

use serde_json::{Value, json};
use std::fs;
use support::client::Client;
use support::{Mode, World, as_root, host, id, in_every_mode, wait_until};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

fn brief(world: &World) -> Value {
    let mut request = world.request(&id("brief"));
    // Where hold is root, a disk of its own.
    request["limits"] = json!({"diskBytes": 64 << 20});
    request
}

fn stop(world: &World) -> Value {
    world.hold().ask(json!({"op": "stop", "id": id("brief"), "keepMs": 600_000})).end()
}

/// Its disk may be on its way back yet.
fn restart(world: &World) -> Client {
    let mut request = brief(world);
    request["op"] = json!("start");
    loop {
        match world.create_with(request.clone()) {
            Ok(sandbox) => break sandbox,
            Err(failure) => assert_eq!(failure["code"], "busy", "{failure}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn boot_id(sandbox: &mut Client) -> String {
    sandbox.sh(&format!("cat {BOOT_ID}")).text()
}

fn only(world: &World) -> Value {
    let boxes = world.boxes();
    assert_eq!(boxes.len(), 1, "{boxes:?}");
    boxes[0].clone()
}

#[test]
fn what_was_written_outlives_a_stop_that_says_for_how_long() {
    in_every_mode(|world| {
        let mut sandbox = world.create_with(brief(world)).unwrap();
        let mut boots = vec![fs::read_to_string(BOOT_ID).unwrap(), boot_id(&mut sandbox)];
        for word in ["one", "two"] {
            let script = format!("echo {word} >> ~/kept; setsid sleep 6262 & echo");
            sandbox.sh(&script).end();
            stop(world);
            assert!(host::processes_saying("sleep\x006262").is_empty(), "its processes are gone");
            assert_eq!(only(world)["stopped"], true);
            world.stop(libc::SIGTERM);
            assert!(world.start().success());
            assert_eq!(only(world)["stopped"], true, "the next hold knows it");
            sandbox = restart(world);
            assert!(only(world).get("stopped").is_none());
            boots.push(boot_id(&mut sandbox));
        }
        assert_eq!(sandbox.sh("cat ~/kept").text(), "one\ntwo\n");
        boots.sort_unstable();
        boots.dedup();
        assert_eq!(boots.len(), 4, "each life has an id of its own: {boots:?}");
        assert!(world.destroy(&id("brief")));
        wait_until("all of it is gone", || world.is_empty());
    });
}

#[test]
fn a_machine_that_fails_takes_along_what_was_not_put_away() {
    in_every_mode(|world| {
        let _sandbox = world.create_with(brief(world)).unwrap();
        stop(world);
        for is_running in [false, true] {
            let pid = is_running.then(|| {
                restart(world);
                world.pid_of(&id("brief"))
            });
            world.stop(libc::SIGKILL);
            if let Some(pid) = pid {
                host::kill(pid, libc::SIGKILL);
                wait_until("it is dead", || !host::is_alive(pid));
            }
            let file = world.directory.join("boxes").join(id("brief")).join("box.json");
            let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            record["bootId"] = json!("another boot");
            fs::write(&file, record.to_string()).unwrap();
            assert!(world.start().success());
            let is_kept = !is_running && world.mode == Mode::Root;
            assert_eq!(!world.boxes().is_empty(), is_kept, "running: {is_running}");
            if !is_kept {
                return wait_until("all of it is gone", || world.is_empty());
            }
        }
    });
}

#[test]
fn re_1_a_hold_that_dies_between_a_disk_and_its_record_leaves_a_sandbox_of_one_life() {
    as_root(|world| {
        world.stop(libc::SIGTERM);
        assert!(world.start_with(&["--die-at", "named"]).success());
        let doomed = world.hold_pid();
        let _sandbox = world.create_with(brief(world)).unwrap();
        let asked = json!({"op": "stop", "id": id("brief"), "keepMs": 600_000});
        world.hold().open(asked.clone());
        wait_until("hold has died", || !host::is_alive(doomed));
        assert!(world.start().success());
        assert_eq!(world.reconnect(&id("brief")).sh("echo on").text(), "on\n");
        let refused = world.hold().ask(asked).fail.unwrap();
        assert_eq!(refused["code"], "unsupported", "its disk is not this hold's to name");
        assert!(world.destroy(&id("brief")));
        wait_until("all of it is gone", || world.is_empty());
    });
}
