//! Processes that wait to become sandboxes.

mod support;

use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::{World, as_root, host, id, wait_until};

/// Whether groups keep the name they were made with.
fn are_unified() -> bool {
    Path::new("/sys/fs/cgroup/cgroup.controllers").exists()
}

/// Those that are ready: they see nothing but what every sandbox has.
fn waiting(world: &World) -> BTreeSet<i32> {
    let own = host::namespace(std::process::id() as i32, "pid");
    let living: Vec<i64> = world.boxes().iter().filter_map(|one| one["pid"].as_i64()).collect();
    let waits = |&pid: &i32| {
        fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|link| link.as_os_str() != &*own)
            && !living.contains(&i64::from(pid))
            && names_in(&format!("/proc/{pid}/root")) == ["dev", "proc"]
    };
    host::processes_from(&world.base).into_iter().filter(waits).collect()
}

fn names_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn wait_for_two(world: &World) -> BTreeSet<i32> {
    wait_until("two wait", || waiting(world).len() == 2);
    waiting(world)
}

fn groups_of(pid: i32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let place = |line: &str| line.rsplit(':').next().map(str::to_string);
    text.lines().filter_map(place).filter(|path| path.contains("sandboxer-")).collect()
}

#[test]
fn one_that_waits_has_nothing_of_the_host_and_becomes_one_sandbox() {
    as_root(|world| {
        for pid in wait_for_two(world) {
            let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
            let kinds: BTreeSet<&str> = mounts
                .lines()
                .filter_map(|line| line.split(" - ").nth(1)?.split(' ').next())
                .collect();
            let expected = BTreeSet::from(["devpts", "devtmpfs", "proc", "tmpfs"]);
            assert!(kinds.is_subset(&expected), "{mounts}");
            assert!(!groups_of(pid).is_empty(), "it is in groups of its own");
            let uid = host::status(pid, "Uid").split_whitespace().next().unwrap().parse::<u32>();
            assert!(uid.unwrap() >= 0x1000_0000, "it is nobody outside");
        }
        let mut used = BTreeSet::new();
        for name in ["first", "second"] {
            let ready = wait_for_two(world);
            let mut sandbox = world.create(&id(name));
            assert_eq!(sandbox.exec(&["id", "-u"]).text(), "1000\n");
            let pid = world.pid_of(&id(name));
            assert!(ready.contains(&pid), "{pid} waited");
            assert!(used.insert(pid), "none is used twice");
            for group in groups_of(pid) {
                let is_its_own = group.ends_with(&id(name));
                assert!(is_its_own || are_unified() && group.contains("/waiting-"), "{group}");
            }
        }
        let maps: BTreeSet<String> = used
            .union(&wait_for_two(world))
            .map(|pid| fs::read_to_string(format!("/proc/{pid}/uid_map")).unwrap())
            .collect();
        assert_eq!(maps.len(), 4, "each has ids of its own: {maps:?}");
    });
}

#[test]
fn they_end_with_hold_however_it_ends() {
    as_root(|world| {
        let mut ended = BTreeSet::new();
        for signal in [libc::SIGKILL, libc::SIGTERM] {
            let before = wait_for_two(world);
            let groups: Vec<String> = before.iter().flat_map(|&pid| groups_of(pid)).collect();
            assert!(!groups.is_empty());
            world.stop(signal);
            wait_until("they have ended", || before.iter().all(|&pid| !host::is_alive(pid)));
            assert!(world.start().success());
            ended.extend(before);
        }
        assert!(wait_for_two(world).is_disjoint(&ended));
        // Of those that were killed with hold, the next one has taken the groups away.
        for &pid in &waiting(world) {
            let name = groups_of(pid)[0].rsplit('/').next().unwrap().to_string();
            assert!(name.starts_with("waiting-"), "{name}");
        }
    });
}

#[test]
fn the_groups_of_one_that_became_a_sandbox_outlive_hold_with_it() {
    as_root(|world| {
        wait_for_two(world);
        world.create(&id("stays"));
        let pid = world.pid_of(&id("stays"));
        let groups = groups_of(pid);
        assert!(!groups.is_empty());
        world.stop(libc::SIGKILL);
        assert!(world.start().success());
        wait_for_two(world);
        assert_eq!(groups_of(pid), groups);
        assert!(world.destroy(&id("stays")));
        let name = groups[0].rsplit('/').next().unwrap();
        wait_until("its groups are gone", || host::groups_named(name).is_empty());
    });
}

#[test]
fn one_that_was_ended_is_not_taken_for_one_that_waits() {
    as_root(|world| {
        for pid in wait_for_two(world) {
            host::kill(pid, libc::SIGKILL);
            wait_until("it is dead", || !host::is_alive(pid));
        }
        let mut sandbox = world.create(&id("anyway"));
        assert_eq!(sandbox.exec(&["echo", "alive"]).text(), "alive\n");
        assert!(world.destroy(&id("anyway")));
    });
}

#[test]
fn what_is_asked_for_is_what_it_becomes() {
    as_root(|world| {
        let before = wait_for_two(world);
        let mut request = world.request(&id("asked"));
        request["hostname"] = json!("another");
        request["env"] = json!({"GREETING": "hello"});
        request["limits"] = json!({"pids": 40, "openFiles": 99, "diskBytes": 32 << 20});
        let mut sandbox = world.create_with(request).expect("a sandbox");
        assert!(before.contains(&world.pid_of(&id("asked"))));
        let told = sandbox.sh("cat /proc/sys/kernel/hostname; echo $GREETING; ulimit -n").text();
        assert_eq!(told, "another\nhello\n99\n");
        let pid = world.pid_of(&id("asked"));
        let name = groups_of(pid)[0].rsplit('/').next().unwrap().to_string();
        let limits: Vec<String> = host::groups_named(&name)
            .iter()
            .filter_map(|group| fs::read_to_string(group.join("pids.max")).ok())
            .collect();
        assert_eq!(limits, ["40\n"]);
        assert_eq!(host::status(pid, "NoNewPrivs"), "1");
    });
}
