//! What the host sees of a sandbox, and what a sandbox sees of the host.

mod support;

use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use support::client::Answer;
use support::{Mode, World, host, id, in_every_mode, wait_until};

const NO_CAPABILITIES: &str = "0000000000000000";

/// The host's pid of a program that the sandbox runs, by what it says on its command line.
fn running(world: &World, id: &str, argv: &[&str]) -> (support::client::Client, i32) {
    let mut sandbox = world.reconnect(id);
    let stream = sandbox.open(json!({"op": "exec", "argv": argv}));
    assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
    let namespace = host::namespace(world.pid_of(id), "pid");
    let mut found = Vec::new();
    wait_until("the program runs", || {
        let inside = host::processes_in(&namespace);
        found = host::processes_saying(argv[1])
            .into_iter()
            .filter(|pid| inside.contains(pid))
            .collect();
        !found.is_empty()
    });
    (sandbox, found[0])
}

#[test]
fn sn_2_no_two_sandboxes_tell_by_their_boot_that_they_are_neighbours() {
    in_every_mode(|world| {
        let file = "/proc/sys/kernel/random/boot_id";
        let mut boots = vec![fs::read_to_string(file).unwrap()];
        for name in ["one", "two"] {
            let mut sandbox = world.create(&id(name));
            let seen = sandbox.sh(&format!("cat {file}")).text();
            assert_eq!(seen.len(), boots[0].len(), "control: {seen:?} looks as the machine's does");
            assert_eq!(sandbox.sh(&format!("cat {file}")).text(), seen, "as long as it lives");
            boots.push(seen);
        }
        boots.sort_unstable();
        boots.dedup();
        assert_eq!(boots.len(), 3, "{boots:?}");
    });
}

#[test]
fn programs_have_namespaces_of_their_own_and_no_right_at_all() {
    in_every_mode(|world| {
        let id = id("posture");
        drop(world.create(&id));
        let (_sandbox, pid) = running(world, &id, &["sleep", "6160"]);
        let init = world.pid_of(&id);
        let own = std::process::id() as i32;
        for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
            assert_ne!(host::namespace(pid, kind), host::namespace(own, kind), "{kind}");
            assert_eq!(host::namespace(pid, kind), host::namespace(init, kind), "{kind}");
        }
        for (key, expected) in [
            ("NoNewPrivs", "1"),
            ("CapInh", NO_CAPABILITIES),
            ("CapPrm", NO_CAPABILITIES),
            ("CapEff", NO_CAPABILITIES),
            ("CapBnd", NO_CAPABILITIES),
            ("CapAmb", NO_CAPABILITIES),
        ] {
            assert_eq!(host::status(pid, key), expected, "{key}");
        }
        assert_eq!(host::status(init, "NoNewPrivs"), "1");
        let uids = host::status(pid, "Uid");
        assert!(uids.split_whitespace().all(|uid| uid != "0"), "{uids}");
        match world.mode {
            Mode::Root => {
                let uid: u32 = uids.split_whitespace().next().unwrap().parse().unwrap();
                assert!(uid >= 0x1000_0000 && uid % 65_536 == 1000, "{uids}");
            }
            Mode::Ordinary(uid) => assert!(uids.starts_with(&format!("{uid}\t")), "{uids}"),
        }
        let own_uid = host::effective_uid();
        for file in ["uid_map", "gid_map"] {
            for line in fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap().lines() {
                let numbers: Vec<u64> =
                    line.split_whitespace().map(|number| number.parse().unwrap()).collect();
                assert!(numbers[1] > 0 || own_uid != 0, "{file} maps the host's root: {line}");
            }
        }
        let groups = host::status(pid, "Groups");
        assert!(groups.split_whitespace().all(|gid| gid != "0"), "{groups}");
    });
}

#[test]
fn programs_have_three_descriptors_and_a_clean_environment() {
    in_every_mode(|world| {
        let id = id("fds");
        let mut sandbox = world.create(&id);
        for _ in 0..20 {
            sandbox.exec(&["true"]).end();
        }
        // `ls` itself opens the directory it lists.
        let listed = sandbox.sh("ls /proc/self/fd; env -i sh -c 'ls -l /proc/$$/fd' | grep -c /");
        assert!(listed.text().starts_with("0\n1\n2\n3\n"), "{}", listed.text());
        let (_sandbox, pid) = running(world, &id, &["sleep", "6161"]);
        // While it starts, it has its own libraries open.
        wait_until("only three descriptors are left", || {
            let mut open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
                .unwrap()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect();
            open.sort();
            open == ["0", "1", "2"]
        });
        let environ = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        assert!(!environ.contains("CARGO"), "the host's environment is inside");
        let signals = host::status(pid, "SigIgn");
        assert_eq!(
            (signals.as_str(), host::status(pid, "SigBlk").as_str()),
            (NO_CAPABILITIES, NO_CAPABILITIES)
        );
    });
}

#[test]
fn the_host_is_out_of_sight() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("sight"));
        let base = world.base.to_str().unwrap();
        let mounts = sandbox.exec(&["cat", "/proc/self/mountinfo"]).text();
        assert!(!mounts.contains(base), "{mounts}");
        assert!(!mounts.contains("shared:") && !mounts.contains("master:"), "{mounts}");
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let (place, flags) = (fields[4], fields[5]);
            assert!(flags.contains("nosuid"), "{line}");
            let is_device = place.starts_with("/dev") || place.starts_with("/proc/");
            assert!(flags.contains("nodev") || is_device, "{line}");
        }
        let roots: Vec<&str> = mounts.lines().filter(|line| line.contains(" / / ")).collect();
        assert_eq!(
            roots.iter().filter(|line| line.split(' ').nth(4) == Some("/")).count(),
            1,
            "{mounts}"
        );
        assert_eq!(sandbox.sh("cd /..; cd ..; ls").text(), sandbox.sh("ls /").text());
        let hidden = sandbox.sh(
            "cat /proc/keys /proc/interrupts /proc/timer_list 2>/dev/null | wc -c; \
             ls /proc/acpi /proc/scsi 2>/dev/null | grep -v : | grep .; \
             for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /usr/x /dev/x; do echo x > $f; done; \
             cat /proc/1/environ /proc/1/maps; ls /proc/1/root /proc/1/fd; \
             mount -t tmpfs x /tmp; umount /usr; mknod /tmp/d b 8 0; \
             unshare -m true; chroot / true; hostname other",
        );
        assert_eq!(hidden.text(), "0\n", "something could be read");
        let devices = sandbox.exec(&["ls", "/dev"]).text();
        assert_eq!(
            devices.split_whitespace().collect::<Vec<_>>(),
            [
                "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
                "tty", "urandom", "zero"
            ]
        );
        let network = sandbox.exec(&["cat", "/proc/net/dev"]).text();
        assert_eq!(network.lines().count(), 3, "more than loopback: {network}");
        assert!(
            sandbox.sh("ls /proc | grep -c '^[0-9]'").text().trim().parse::<u32>().unwrap() < 8
        );
    });
}

#[test]
fn the_sandboxes_own_root_has_a_short_list_of_rights() {
    support::as_root(|world| {
        let mut sandbox = world.create(&id("rootcaps"));
        let caps = sandbox.ask(json!({
            "op": "exec", "user": "root",
            "argv": ["sh", "-c", "id -u; grep -h Cap /proc/self/status; touch /f; chown 1000 /f; stat -c %u /f"],
        }));
        let allowed = "00000000000004fb";
        assert_eq!(
            caps.text().split_whitespace().collect::<Vec<_>>().join(" "),
            format!(
                "0 CapInh: {NO_CAPABILITIES} CapPrm: {allowed} CapEff: {allowed} CapBnd: {allowed} CapAmb: {NO_CAPABILITIES} 1000"
            )
        );
        let refused = sandbox.ask(json!({
            "op": "exec", "user": "root",
            "argv": ["sh", "-c", "mount -t tmpfs x /tmp; umount /proc/sys; echo 1 > /proc/sys/kernel/panic; hostname x; echo x > /usr/x; unshare -m true || echo all refused"],
        }));
        assert_eq!(refused.text(), "all refused\n");
        let upper = world.directory.join("boxes").join(id("rootcaps")).join("upper/f");
        let found = fs::metadata(upper).unwrap();
        assert!(std::os::unix::fs::MetadataExt::uid(&found) >= 0x1000_0000, "a real uid owns it");
    });
}

#[test]
fn a_hostile_layer_leads_nowhere() {
    in_every_mode(|world| {
        let canary = world.base.join("canary");
        fs::create_dir(&canary).unwrap();
        fs::set_permissions(&canary, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let layer = world.base.join("hostile");
        fs::create_dir(&layer).unwrap();
        symlink(&canary, layer.join("out")).unwrap();
        symlink("../../../../../../../..", layer.join("up")).unwrap();
        let mut request = world.request(&id("hostile"));
        request["root"]["lowers"] = json!([layer, world.skeleton]);
        request["root"]["mounts"] = json!([
            {"source": "/usr", "target": "/usr", "readOnly": true},
            {"source": canary, "target": "/up/work", "readOnly": false},
        ]);
        request["root"]["tmpfs"] = json!(["/out/deep"]);
        let outcome = world.create_with(request.clone());
        if let Ok(mut sandbox) = outcome {
            assert_eq!(sandbox.sh("ls -d /work").text(), "/work\n", "inside, where it belongs");
        }
        assert_eq!(fs::read_dir(&canary).unwrap().count(), 0);
        // boxd's own mount points must be what they seem.
        for name in ["proc", "dev"] {
            let layer = world.base.join(format!("fake-{name}"));
            fs::create_dir(&layer).unwrap();
            symlink(&canary, layer.join(name)).unwrap();
            request["id"] = json!(id(name));
            request["root"] = json!({"lowers": [layer, world.skeleton]});
            let refusal = world.create_with(request.clone()).err().expect("a refusal");
            assert_eq!(refusal["code"], "invalid_request", "{refusal}");
        }
        assert_eq!(fs::read_dir(&canary).unwrap().count(), 0);
    });
}

#[test]
fn ports_inside_can_be_dialled() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("dial"));
        assert_eq!(sandbox.ask(json!({"op": "dial", "port": 4000})).code(), "refused");
        let script = "use IO::Socket::INET; my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', LocalPort => 4000, ReuseAddr => 1) or die; $| = 1; print qq(up\\n); my $c = $l->accept; local $/; my $d = <$c>; print $c scalar reverse $d; close $c;";
        let server = sandbox.open(json!({"op": "exec", "argv": ["perl", "-e", script]}));
        loop {
            match sandbox.next_for(server) {
                Answer::Data(1, bytes) if bytes == b"up\n" => break,
                Answer::Fail(failure) => return println!("no perl here: {failure}"),
                Answer::End(end) => panic!("{end}"),
                _ => {}
            }
        }
        let sent: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
        let outcome = sandbox.ask_with(json!({"op": "dial", "port": 4000}), &sent);
        assert_eq!(outcome.stdout, sent.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(outcome.end(), json!({}));
        assert_eq!(sandbox.finish(server).exit()["code"], 0);
    });
}

#[test]
fn serve_works_without_hold() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_boxd"))
        .args(["serve", "--id", "abcdefghij0123456789", "--stdio"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let request =
        json!({"op": "exec", "argv": ["echo", "plain"], "user": "root", "cwd": "/"}).to_string();
    let mut frame = (request.len() as u32).to_be_bytes().to_vec();
    frame.extend([2, 0, 0, 0, 1]);
    frame.extend(request.as_bytes());
    stdin.write_all(&frame).unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    let text = loop {
        let count = stdout.read(&mut buffer).unwrap();
        assert!(count > 0, "it left: {:?}", String::from_utf8_lossy(&seen));
        seen.extend(&buffer[..count]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        if text.contains("\"exit\"") || text.contains("\"code\"") {
            break text;
        }
    };
    assert!(text.contains("abcdefghij0123456789"));
    if host::effective_uid() == 0 {
        assert!(text.contains("plain\n"), "{text}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_first_process_tells_nothing_of_the_host() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("tells"));
        let line = sandbox.ask(json!({"op": "read", "path": "/proc/1/cmdline"}));
        let told = line.text();
        assert_eq!(told.trim_end_matches('\0'), "boxd serve");
    });
}
