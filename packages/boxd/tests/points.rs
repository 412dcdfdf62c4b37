//! Points of a copy-on-write workspace: before each run, and the way back.

mod support;

use serde_json::{Value, json};
use std::path::PathBuf;
use std::{fs, thread, time::Duration};
use support::client::{Answer, Client};
use support::project::{EDIT, changes, project, summary, with_workspace};
use support::{Mode, World, host, id, in_every_mode, wait_until};

/// Runs something as the gateway does: with a point before it.
fn run(sandbox: &mut Client, script: &str) {
    run_keeping(sandbox, script, 32);
}

fn run_keeping(sandbox: &mut Client, script: &str, points: u64) {
    let script = format!("cd /workspace && {{ {script}; }}");
    let argv = json!(["sh", "-c", script]);
    let ran = sandbox.ask(json!({"op": "exec", "argv": argv, "points": points}));
    assert_eq!(ran.exit()["code"], 0, "{script}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn points(sandbox: &mut Client) -> Vec<Value> {
    let told = sandbox.ask(json!({"op": "points"})).end();
    told["points"].as_array().unwrap().clone()
}

fn numbers(sandbox: &mut Client) -> Vec<u64> {
    points(sandbox).iter().map(|point| point["point"].as_u64().unwrap()).collect()
}

/// Everything in the workspace as it is seen inside: kinds, modes, owners, times and contents.
fn seen(sandbox: &mut Client) -> String {
    let script = "cd /workspace; { find . -type f -printf '%p f %m %U %T@\\n'; \
        find . ! -type f ! -type d -printf '%p %y %T@ %l\\n'; \
        find . -type d -printf '%p d %m %U\\n'; } | sort; find . -type f | sort | xargs cat";
    sandbox.sh(script).text()
}

#[test]
fn a_rollback_goes_to_before_any_run() {
    in_every_mode(|world| goes_to_before_any_run(world, "any", |_| {}));
}

/// Whose stamps have settled is not listed again unless something came or went there.
#[test]
fn a_rollback_goes_to_before_any_run_in_folders_that_are_known() {
    in_every_mode(|world| {
        goes_to_before_any_run(world, "known", |sandbox| {
            thread::sleep(Duration::from_millis(60));
            run(sandbox, "true");
            run(sandbox, "true");
        });
    });
}

fn goes_to_before_any_run(world: &World, name: &str, between: fn(&mut Client)) {
    let mut sandbox = with_workspace(world, name, "copy-on-write");
    let runs = [
        "echo one > one; sed -i s/two/zwei/ README",
        EDIT,
        "rm one; mv blob moved; rm -r src; mkdir src; echo s > src/s; chmod 700 empty; ln -sf x link",
        "rm -r src empty; echo file > src; mkdir README2; echo back > gone; chmod 600 moved",
        "rm src; mkdir -p src/deep; echo again > src/deep/leaf; echo longer >> moved; rm pipe",
    ];
    let mut before = Vec::new();
    for script in runs {
        between(&mut sandbox);
        before.push(seen(&mut sandbox));
        run(&mut sandbox, script);
    }
    assert_eq!(numbers(&mut sandbox), [1, 2, 3, 4, 5]);
    let after = seen(&mut sandbox);
    let mut undone = Vec::new();
    for to in (1..=5).rev() {
        let back = sandbox.ask(json!({"op": "rollback-to", "to": to})).end();
        undone.push(back["restored"].as_u64().unwrap());
        // A pipe that is gone does not come back.
        let without_pipe = |text: &str| {
            text.lines().filter(|line| !line.starts_with("./pipe ")).collect::<Vec<_>>().join("\n")
        };
        let now = seen(&mut sandbox);
        assert_eq!(without_pipe(&now), without_pipe(&before[to - 1]), "before run {to}");
        assert_eq!(numbers(&mut sandbox), (1..to as u64).collect::<Vec<_>>());
    }
    assert!(undone.iter().all(|&count| count > 0), "{undone:?}");
    assert_eq!(summary(&changes(&mut sandbox, "names", &[])), [""; 0]);
    assert_ne!(after, before[4]);
}

#[test]
fn far_back_at_once_is_the_same_as_step_by_step_and_last_is_the_last_run() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "far", "copy-on-write");
        run(&mut sandbox, "echo 1 > a; mkdir d; echo 1 > d/x");
        let wanted = seen(&mut sandbox);
        run(&mut sandbox, "echo 2 > a; rm -r d; rm -r src");
        run(&mut sandbox, "rm a; echo file > d; echo 3 > b; mkdir src");
        let before_last = seen(&mut sandbox);
        run(&mut sandbox, "echo 4 > b");
        assert_eq!(sandbox.ask(json!({"op": "rollback-to", "to": "last"})).end()["restored"], 1);
        assert_eq!(seen(&mut sandbox), before_last);
        // Runs that only look are none to take back.
        run(&mut sandbox, "cat b");
        run(&mut sandbox, "ls");
        sandbox.ask(json!({"op": "rollback-to", "to": "last"})).end();
        sandbox.ask(json!({"op": "rollback-to", "to": "last"})).end();
        assert_eq!(seen(&mut sandbox), wanted);
        assert_eq!(numbers(&mut sandbox), [1]);
        run(&mut sandbox, "rm -r d src; echo 2 > b");
        run(&mut sandbox, "echo 3 > b; rm a; echo 1 > d");
        sandbox.ask(json!({"op": "rollback-to", "to": 6})).end();
        assert_eq!(seen(&mut sandbox), wanted);
        // What is named alone goes back, and the points stay.
        run(&mut sandbox, "echo 9 > a; echo 9 > d/x; rm src/main.c");
        sandbox.ask(json!({"op": "rollback-to", "to": "last", "paths": ["d/x", "src"]})).end();
        assert_eq!(
            sandbox.sh("cat /workspace/a /workspace/d/x; ls /workspace/src").text(),
            "9\n1\ndeep\nmain.c\n"
        );
        assert_eq!(numbers(&mut sandbox), [1, 8]);
        sandbox.ask(json!({"op": "rollback"})).end();
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), [""; 0]);
        assert_eq!(numbers(&mut sandbox), [0u64; 0]);
    });
}

#[test]
fn a_point_says_which_run_it_is_before_and_what_that_changed() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "told", "copy-on-write");
        run(&mut sandbox, "echo 1 > a; echo 2 > b");
        run(&mut sandbox, "cat a");
        run(&mut sandbox, "true");
        // What changes nothing shares its point with the next.
        run(&mut sandbox, "echo 3 > c");
        let told = points(&mut sandbox);
        assert_eq!(
            told.iter().map(|one| &one["point"]).collect::<Vec<_>>(),
            [&json!(1), &json!(2)]
        );
        assert_eq!(told[0]["changed"], 2);
        assert_eq!(told[1]["changed"], 1);
        assert_eq!(told[1]["argv"][2], "cd /workspace && { echo 3 > c; }");
        assert_eq!((&told[0]["bytes"], &told[1]["bytes"]), (&json!(0), &json!(4)));
        assert!(told[0].get("alongside").is_none());
        // What is written in the same tick of the kernel's clock is seen nevertheless.
        for number in 0..30 {
            run(&mut sandbox, &format!("echo {} > a", number % 10));
        }
        assert_eq!(points(&mut sandbox).len(), 32);
        for number in (1..30).rev() {
            sandbox.ask(json!({"op": "rollback-to", "to": "last"})).end();
            let read = sandbox.sh("cat /workspace/a").text();
            assert_eq!(read, format!("{}\n", (number - 1) % 10));
        }
    });
}

#[test]
fn points_are_bounded_in_number_and_bytes_and_a_run_without_one_says_why() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "bounded", "copy-on-write");
        for number in 0..6 {
            run_keeping(&mut sandbox, &format!("echo {number} > a; echo {number} > b{number}"), 3);
        }
        assert_eq!(numbers(&mut sandbox), [4, 5, 6]);
        let told = sandbox.ask(json!({"op": "points"})).end();
        // Of each point's `a`, and of every b before the newest one.
        assert_eq!(told["bytes"], 2 * (3 + 5));
        sandbox.ask(json!({"op": "rollback-to", "to": 4})).end();
        assert_eq!(
            sandbox.sh("cd /workspace; cat a b*; ls | grep -c ^b").text(),
            "2\n0\n1\n2\n3\n"
        );
        assert_eq!(sandbox.ask(json!({"op": "rollback-to", "to": 5})).code(), "not_found");
        assert_eq!(sandbox.ask(json!({"op": "rollback-to", "to": 1})).code(), "not_found");
        if world.mode != Mode::Root {
            return;
        }
        // An eighth of its disk of 64 MiB, and no more.
        run(&mut sandbox, "head -c 5000000 /dev/zero > big");
        run(&mut sandbox, "head -c 5000000 /dev/urandom > big");
        run(&mut sandbox, "head -c 5000001 /dev/urandom > big");
        let told = sandbox.ask(json!({"op": "points"})).end();
        assert!(told["bytes"].as_u64().unwrap() < 8 << 20, "{told}");
        let kept = told["points"].as_array().unwrap();
        assert_eq!(kept.iter().filter(|one| one.get("missing").is_none()).count(), 1, "{told}");
        run(&mut sandbox, "head -c 20000000 /dev/zero > big");
        run(&mut sandbox, "echo more > a");
        let refused = sandbox.ask(json!({"op": "rollback-to", "to": "last"}));
        assert_eq!(refused.code(), "not_found");
        assert!(refused.fail.unwrap()["message"].as_str().unwrap().contains("more room"));
        assert!(points(&mut sandbox).last().unwrap()["missing"].is_string());
        sandbox.ask(json!({"op": "rollback"})).end();
        assert_eq!(sandbox.ask(json!({"op": "points"})).end(), json!({"points": [], "bytes": 0}));
    });
}

#[test]
fn who_asks_wrongly_is_told_and_nothing_changes() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "wrong", "copy-on-write");
        assert_eq!(sandbox.ask(json!({"op": "rollback-to", "to": "last"})).code(), "not_found");
        run(&mut sandbox, "echo 1 > a");
        for to in [json!("first"), json!(-1), json!([1])] {
            assert_eq!(
                sandbox.ask(json!({"op": "rollback-to", "to": to})).code(),
                "invalid_request"
            );
        }
        let going = sandbox.open(json!({"op": "exec", "argv": ["sleep", "600"], "points": 32}));
        assert!(matches!(sandbox.next_for(going), Answer::Reply(_)));
        let refused = sandbox.ask(json!({"op": "rollback-to", "to": 1}));
        assert_eq!(refused.code(), "busy");
        run(&mut sandbox, "echo 2 > a");
        assert_eq!(points(&mut sandbox).last().unwrap()["alongside"], true);
        let process =
            sandbox.ask(json!({"op": "processes"})).end()["processes"][1]["process"].clone();
        sandbox.ask(json!({"op": "signal", "process": process, "signal": "KILL"})).end();
        sandbox.finish(going);
        sandbox.ask(json!({"op": "rollback-to", "to": "last"})).end();
        assert_eq!(sandbox.sh("cat /workspace/a").text(), "1\n");
        let mut plain = with_workspace(world, "plain", "read-write");
        run(&mut plain, "true");
        assert_eq!(plain.ask(json!({"op": "points"})).code(), "invalid_request");
        assert_eq!(plain.ask(json!({"op": "rollback-to", "to": 1})).code(), "invalid_request");
    });
}

fn kept(world: &World, name: &str) -> Value {
    let mut request = world.request(&id(name));
    request["keeps"] = json!({"keepMs": 600_000, "stopsAtEnd": true});
    request["limits"] = json!({"diskBytes": 64 << 20});
    request["root"]["workspace"] =
        json!({"source": project(world), "target": "/workspace", "mode": "copy-on-write"});
    request
}

fn start(world: &World, request: &Value) -> Client {
    let mut request = request.clone();
    request["op"] = json!("start");
    loop {
        match world.create_with(request.clone()) {
            Ok(sandbox) => break sandbox,
            Err(failure) => assert_eq!(failure["code"], "busy", "{failure}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn points_outlive_a_stop_and_go_with_the_sandbox() {
    in_every_mode(|world| {
        let request = kept(world, "outlive");
        let mut sandbox = world.create_with(request.clone()).unwrap();
        run(&mut sandbox, "echo 1 > a; rm gone");
        let before = seen(&mut sandbox);
        run(&mut sandbox, "echo 2 > a; rm -r src");
        let told = points(&mut sandbox);
        world.hold().ask(json!({"op": "stop", "id": id("outlive")})).end();
        let mut sandbox = start(world, &request);
        assert_eq!(points(&mut sandbox), told);
        sandbox.ask(json!({"op": "rollback-to", "to": 2})).end();
        assert_eq!(seen(&mut sandbox), before);
        assert!(world.destroy(&id("outlive")));
        wait_until("all of it is gone", || world.is_empty());
    });
}

/// Where, and whether what was being done is done afterwards.
const PLACES: [(&str, bool); 5] =
    [("copied", false), ("pointed", true), ("undoing", true), ("cleared", true), ("undone", true)];

#[test]
fn re_1_a_first_process_that_dies_leaves_the_old_or_the_new() {
    in_every_mode(|world| {
        for (place, is_done) in PLACES {
            world.stop(libc::SIGTERM);
            assert!(world.start().success());
            let request = kept(world, place);
            let mut sandbox = world.create_with(request.clone()).unwrap();
            run(&mut sandbox, "echo 1 > a; mkdir d; echo 1 > d/x; rm gone");
            let before = seen(&mut sandbox);
            run(&mut sandbox, "echo 2 > a; rm -r d; echo 2 > b; rm -r src; echo new > gone");
            let (after, told) = (seen(&mut sandbox), points(&mut sandbox));
            world.hold().ask(json!({"op": "stop", "id": id(place)})).end();
            world.stop(libc::SIGTERM);
            assert!(world.start_with(&["--die-at", place]).success());
            let mut sandbox = start(world, &request);
            let pid = world.pid_of(&id(place));
            let asked = match place {
                "copied" | "pointed" => json!({"op": "exec", "argv": ["true"], "points": 32}),
                _ => json!({"op": "rollback-to", "to": 2}),
            };
            let stream = sandbox.open(asked);
            assert!(matches!(sandbox.next_for(stream), Answer::Closed), "{place}");
            wait_until("it is dead", || !host::is_alive(pid));
            world.stop(libc::SIGTERM);
            assert!(world.start().success());
            let mut sandbox = start(world, &request);
            let now = points(&mut sandbox);
            if place == "copied" || place == "pointed" {
                assert_eq!(seen(&mut sandbox), after, "{place}");
                assert_eq!(now.len(), told.len() + usize::from(is_done), "{place}");
                sandbox.ask(json!({"op": "rollback-to", "to": 2})).end();
            }
            assert_eq!(seen(&mut sandbox), before, "{place}");
            assert_eq!(numbers(&mut sandbox), [1], "{place}");
            assert_eq!(sandbox.sh("ls -A /workspace | grep -c boxd").text(), "0\n");
            assert_eq!(leftovers(world, place), ["index", "s1"].map(PathBuf::from), "{place}");
            assert!(world.destroy(&id(place)));
        }
    });
}

/// What lies beside a layer that is a folder of the host.
fn leftovers(world: &World, name: &str) -> Vec<PathBuf> {
    if world.mode == Mode::Root {
        return ["index", "s1"].map(PathBuf::from).to_vec();
    }
    let folder = world.directory.join("boxes").join(id(name)).join("workspace/points");
    let listed = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut names: Vec<PathBuf> =
        listed.map(|entry| PathBuf::from(entry.unwrap().file_name())).collect();
    names.sort();
    names
}

#[test]
fn re_1_a_client_that_is_gone_leaves_a_rollback_that_is_completed() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "client", "copy-on-write");
        run(&mut sandbox, "for i in $(seq 500); do echo $i > f$i; done");
        let before = seen(&mut sandbox);
        run(&mut sandbox, "for i in $(seq 500); do echo x > f$i; done; rm -r src");
        sandbox.open(json!({"op": "rollback-to", "to": "last"}));
        drop(sandbox);
        let mut sandbox = world.reconnect(&id("client"));
        loop {
            let asked = sandbox.ask(json!({"op": "points"}));
            if asked.code() != "busy" && asked.end()["points"].as_array().unwrap().len() == 1 {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(seen(&mut sandbox), before);
    });
}
