//! What a sandbox may use of the machine, on whichever version of control groups there is.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::client::{Answer, Client};
use support::{World, as_root, host, id, in_every_mode, wait_until};

const MIB: u64 = 1 << 20;

fn limits() -> Value {
    json!({
        "cpuMillis": 500,
        "memoryBytes": 64 * MIB,
        "pids": 32,
        "openFiles": 128,
        "diskBytes": 32 * MIB,
        "diskInodes": 1000,
    })
}

fn limited(world: &World, id: &str, limits: Value) -> Result<Client, Value> {
    let mut request = world.request(id);
    request["limits"] = limits;
    world.create_with(request)
}

fn lacking(world: &World) -> Value {
    world.hold().ask(json!({"op": "ping"})).end()["lacking"].clone()
}

fn metrics(world: &World, id: &str) -> Value {
    world.hold().ask(json!({"op": "metrics", "id": id})).end()
}

fn groups(world: &World, id: &str) -> Vec<PathBuf> {
    let record = fs::read(world.directory.join("boxes").join(id).join("box.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let places = record["groups"].as_object().cloned().unwrap_or_default();
    places.values().map(|path| PathBuf::from(path.as_str().unwrap())).collect()
}

#[test]
fn every_process_is_in_the_groups_of_its_sandbox_and_sees_none_of_them() {
    as_root(|world| {
        let id = id("grouped");
        let mut sandbox = limited(world, &id, limits()).unwrap();
        let pid = world.pid_of(&id);
        for folder in groups(world, &id) {
            let name = folder.file_name().unwrap().to_string_lossy();
            assert!(name == *id || name.starts_with("waiting-"), "{folder:?}");
            let inside = fs::read_to_string(folder.join("cgroup.procs")).unwrap();
            assert!(inside.lines().any(|line| line == pid.to_string()), "{folder:?}: {inside}");
        }
        let own = std::process::id() as i32;
        assert_ne!(host::namespace(pid, "cgroup"), host::namespace(own, "cgroup"));
        let seen = sandbox.sh("cat /proc/self/cgroup").text();
        assert!(!seen.contains(&id) && !seen.contains("waiting-"), "{seen}");
        let places = groups(world, &id);
        assert!(!places.is_empty());
        world.destroy(&id);
        wait_until("its groups are gone", || places.iter().all(|folder| !folder.exists()));
    });
}

#[test]
fn limits_hold_and_leave_the_first_process_alone() {
    as_root(|world| {
        let id = id("held");
        let mut sandbox = limited(world, &id, limits()).unwrap();
        let hog = sandbox.sh("python3 -c 'x = bytearray(256 << 20)' 2>/dev/null || head -c 256M /dev/zero | tail -c 200M >/dev/null");
        assert_ne!(hog.exit(), json!({"kind": "exited", "code": 0}), "{:?}", hog.end);
        assert!(metrics(world, &id)["oomKills"].as_u64().unwrap() > 0);
        let forks = sandbox.sh("for i in $(seq 64); do sleep 0.3 & done; wait").stderr;
        assert!(String::from_utf8_lossy(&forks).contains("fork"), "the bomb was not stopped");
        wait_until("the bomb has burnt out", || {
            sandbox.sh("true | true").exit() == json!({"kind": "exited", "code": 0})
        });
        let files = sandbox.sh("ulimit -n; ulimit -Hn").text();
        assert_eq!(files, "128\n128\n");
        let filled = sandbox.sh("head -c 64M /dev/zero > ~/x; stat -c %s ~/x; rm ~/x").text();
        assert!(filled.trim().parse::<u64>().unwrap() < 32 * MIB, "{filled}");
        let inodes = sandbox.sh("mkdir ~/d; for i in $(seq 2000); do : > ~/d/$i || exit 3; done");
        assert_eq!(inodes.exit(), json!({"kind": "exited", "code": 2}), "{:?}", inodes.stderr);
        assert_eq!(sandbox.sh("echo alive").text(), "alive\n");
        let figures = metrics(world, &id);
        assert_eq!(figures["memoryLimitBytes"], 64 * MIB);
        assert!(figures["memoryPeakBytes"].as_u64().unwrap() <= 64 * MIB);
        assert!(figures["diskBytes"].as_u64().is_some());
        assert!(figures["cpuTimeMs"].as_u64().unwrap() > 0);
    });
}

#[test]
fn a_pause_stops_everything_and_a_resume_goes_on() {
    as_root(|world| {
        let id = id("paused");
        let mut sandbox = limited(world, &id, limits()).unwrap();
        let stream = sandbox.open(json!({"op": "exec", "argv": ["sh", "-c",
            "i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.01; done"]}));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        let cpu = || metrics(world, &id)["cpuTimeMs"].as_u64().unwrap();
        wait_until("it counts", || cpu() > 10);
        world.hold().ask(json!({"op": "pause", "id": id})).end();
        assert_eq!(world.boxes()[0]["paused"], true);
        let before = cpu();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(cpu(), before, "it still runs");
        world.hold().ask(json!({"op": "pause", "id": id})).end();
        world.hold().ask(json!({"op": "resume", "id": id})).end();
        assert_eq!(world.boxes()[0]["paused"], false);
        wait_until("it goes on", || cpu() > before + 10);
        assert_eq!(sandbox.sh("echo alive").text(), "alive\n");
        assert_eq!(world.hold().ask(json!({"op": "pause", "id": "absent"})).code(), "not_found");
    });
}

#[test]
fn a_paused_sandbox_can_be_ended_at_once_and_by_its_clock() {
    as_root(|world| {
        for ttl in [None, Some(1500)] {
            let id = id("frozen");
            let mut request = world.request(&id);
            request["limits"] = limits();
            request["ttlMs"] = json!(ttl);
            let _sandbox = world.create_with(request).unwrap();
            let namespace = host::namespace(world.pid_of(&id), "pid");
            world.hold().ask(json!({"op": "pause", "id": id})).end();
            let start = Instant::now();
            if ttl.is_none() {
                assert!(world.destroy(&id));
            }
            wait_until("it is over", || host::processes_in(&namespace).is_empty());
            assert!(start.elapsed() < Duration::from_secs(5));
            wait_until("it is cleared away", || world.is_empty());
        }
    });
}

#[test]
fn a_killed_hold_leaves_groups_that_the_next_one_knows() {
    as_root(|world| {
        let (lives, dies) = (id("lives"), id("dies"));
        let _kept = limited(world, &lives, limits()).unwrap();
        let _lost = limited(world, &dies, limits()).unwrap();
        world.hold().ask(json!({"op": "pause", "id": lives})).end();
        let (kept, lost) = (groups(world, &lives), groups(world, &dies));
        let doomed = world.pid_of(&dies);
        world.stop(libc::SIGKILL);
        host::kill(doomed, libc::SIGKILL);
        wait_until("it is dead", || !host::is_alive(doomed));
        assert!(lost.iter().all(|folder| folder.exists()), "control: nobody removed them");
        assert!(world.start().success());
        wait_until("the lost are gone", || lost.iter().all(|folder| !folder.exists()));
        assert!(kept.iter().all(|folder| folder.exists()));
        assert_eq!(world.boxes()[0]["paused"], true);
        assert!(world.destroy(&lives));
        wait_until("the kept are gone", || kept.iter().all(|folder| !folder.exists()));
    });
}

#[test]
fn what_is_not_in_force_is_said_and_refused_where_it_is_required() {
    in_every_mode(|world| {
        let lacking = lacking(world);
        let missing: Vec<&String> = lacking.as_object().unwrap().keys().collect();
        println!("lacking: {missing:?}");
        let id = id("honest");
        let _sandbox = limited(world, &id, limits()).unwrap();
        let told = world.boxes()[0]["notInForce"].clone();
        let told: Vec<&String> = told.as_object().unwrap().keys().collect();
        let asked: Vec<&String> = missing.iter().copied().filter(|name| *name != "pause").collect();
        assert_eq!(told, asked);
        world.destroy(&id);
        let mut required = limits();
        required["required"] = json!(true);
        match limited(world, &id, required) {
            Ok(_) => assert!(asked.is_empty(), "not refused, though {asked:?} are missing"),
            Err(failure) => {
                assert_eq!(failure["code"], "unavailable", "{failure}");
                assert!(failure["message"].as_str().unwrap().contains(asked[0]), "{failure}");
            }
        }
        if missing.iter().any(|name| *name == "pause") {
            let _sandbox = limited(world, &id, limits()).unwrap();
            let refused = world.hold().ask(json!({"op": "pause", "id": id}));
            assert_eq!(refused.code(), "unavailable");
            assert!(metrics(world, &id)["memoryBytes"].as_u64().unwrap() > 0);
        }
    });
}

#[test]
fn impossible_limits_are_refused() {
    as_root(|world| {
        for wrong in [json!({"pids": 0}), json!({"memoryBytes": 1}), json!({"diskInodes": 5})] {
            let failure = limited(world, &id("impossible"), wrong.clone()).err().unwrap();
            assert_eq!(failure["code"], "invalid_request", "{wrong}");
        }
    });
}

#[test]
fn a_sandbox_is_known_to_hold_as_soon_as_to_its_client() {
    in_every_mode(|world| {
        let mut hold = world.hold();
        for round in 0..100 {
            let id = id(&format!("known{round}x"));
            let _sandbox = world.create(&id);
            let asked = hold.ask(json!({"op": "metrics", "id": id}));
            assert_eq!(asked.code(), "", "{:?}", asked.fail);
            hold.ask(json!({"op": "destroy", "id": id})).end();
        }
    });
}

#[test]
fn a_pause_catches_who_is_between_vfork_and_exec() {
    as_root(|world| {
        let id = id("forking");
        let mut sandbox = limited(world, &id, json!({"pids": 256})).unwrap();
        for _ in 0..4 {
            let argv = json!(["sh", "-c", "while :; do /usr/bin/true; done"]);
            let stream = sandbox.open(json!({"op": "exec", "argv": argv}));
            assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        }
        let mut hold = world.hold();
        for _ in 0..100 {
            hold.ask(json!({"op": "pause", "id": id})).end();
            hold.ask(json!({"op": "resume", "id": id})).end();
        }
    });
}
