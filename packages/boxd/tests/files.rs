//! Files inside.

mod support;

use serde_json::{Value, json};
use support::client::{Answer, Client};
use support::{Mode, as_root, id, in_every_mode, wait_until};

fn entries(sandbox: &mut Client, path: &str, depth: u32) -> Vec<Value> {
    let listed = sandbox.ask(json!({"op": "list", "path": path, "depth": depth}));
    let lines: Vec<Value> =
        listed.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.end()["entries"], lines.len());
    lines
}

#[test]
fn what_is_listed_is_called_by_its_plain_path() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("plain"));
        sandbox.sh("echo x > c.py");
        for path in [".", "./.", "/home/./user", "/home//user/"] {
            let listed = entries(&mut sandbox, path, 1);
            assert!(listed.iter().any(|entry| entry["path"] == "/home/user/c.py"), "{listed:?}");
        }
    });
}

#[test]
fn five_mebibytes_go_in_and_come_out() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("roundtrip"));
        let content: Vec<u8> = (0..5 * 1024 * 1024u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let write = json!({"op": "write", "path": "a/b/big.bin", "parents": true});
        assert_eq!(sandbox.ask_with(write, &content).end(), json!({"bytes": content.len()}));
        let read = sandbox.ask(json!({"op": "read", "path": "/home/user/a/b/big.bin"}));
        assert!(read.stdout == content, "the content differs");
        assert_eq!(read.reply["size"], content.len());
        assert_eq!(read.reply["mode"], 0o644);
        let part = sandbox.ask(json!({
            "op": "read", "path": "a/b/big.bin", "offset": 1_000_000, "length": 12,
        }));
        assert_eq!(part.stdout, content[1_000_000..1_000_012]);
        assert_eq!(part.end()["bytes"], 12);
        let beyond =
            sandbox.ask(json!({"op": "read", "path": "a/b/big.bin", "offset": 1u64 << 40}));
        assert_eq!(beyond.end()["bytes"], 0);
        let sum = sandbox.sh("wc -c < a/b/big.bin; stat -c '%U %a' a/b/big.bin");
        assert_eq!(sum.text(), format!("{}\nuser 644\n", content.len()));
    });
}

#[test]
fn a_write_is_whole_or_not_there() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("whole"));
        sandbox.ask_with(json!({"op": "write", "path": "kept", "mode": 0o751}), b"old").end();
        let stream = sandbox.open(json!({"op": "write", "path": "kept"}));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        sandbox.data(stream, b"half of the n");
        assert_eq!(sandbox.exec(&["cat", "kept"]).text(), "old");
        sandbox.cancel(stream);
        assert_eq!(sandbox.sh("cat kept; ls -A").text(), "oldkept\n");
        sandbox.ask_with(json!({"op": "write", "path": "kept"}), b"new").end();
        assert_eq!(sandbox.sh("cat kept; stat -c %a kept; ls -A").text(), "new751\nkept\n");
        sandbox.ask_with(json!({"op": "write", "path": "kept", "append": true}), b"er").end();
        assert_eq!(sandbox.exec(&["cat", "kept"]).text(), "newer");
        // Half a write goes with its connection, too.
        let stream = sandbox.open(json!({"op": "write", "path": "lost"}));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        sandbox.data(stream, b"x");
        drop(sandbox);
        let mut sandbox = world.reconnect(&id("whole"));
        wait_until("it is gone", || sandbox.exec(&["ls", "-A"]).text() == "kept\n");
    });
}

#[test]
fn links_are_followed_as_a_shell_does_and_lead_nowhere_else() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("links"));
        sandbox.sh("mkdir d; echo old > d/file; ln -s d/file link; ln -s link link2; ln -s d/new dangling; ln -s loop loop").end();
        sandbox.ask_with(json!({"op": "write", "path": "link2"}), b"new\n").end();
        sandbox.ask_with(json!({"op": "write", "path": "dangling"}), b"made\n").end();
        assert_eq!(
            sandbox.sh("cat d/file d/new; readlink link link2").text(),
            "new\nmade\nd/file\nlink\n"
        );
        let code = |sandbox: &mut Client, request| sandbox.ask(request).code().to_string();
        for (path, expected) in [
            ("loop", "invalid_request"),
            ("/proc/self/exe", "invalid_request"),
            ("/proc/1/root/etc/passwd", "invalid_request"),
            ("/proc/self/fd/0", "invalid_request"),
            ("/dev/zero", "invalid_request"),
            ("/etc", "is_a_directory"),
            ("nowhere", "path_not_found"),
            ("/etc/passwd/x", "not_a_directory"),
            ("a\0b", "invalid_request"),
            ("", "invalid_request"),
        ] {
            assert_eq!(code(&mut sandbox, json!({"op": "read", "path": path})), expected, "{path}");
        }
        sandbox.sh("mkfifo fifo").end();
        assert_eq!(code(&mut sandbox, json!({"op": "read", "path": "fifo"})), "invalid_request");
        assert_eq!(
            code(&mut sandbox, json!({"op": "write", "path": "/dev/full"})),
            "invalid_request"
        );
        let stat = sandbox.ask(json!({"op": "stat", "path": "link", "follow": false})).end();
        assert_eq!(
            (&stat["entry"]["type"], &stat["entry"]["target"]),
            (&json!("symlink"), &json!("d/file"))
        );
        let stat = sandbox.ask(json!({"op": "stat", "path": "../user/link"})).end();
        assert_eq!((&stat["entry"]["type"], &stat["entry"]["size"]), (&json!("file"), &json!(4)));
        // The kernel's own files have no size and still an end.
        assert!(
            sandbox.ask(json!({"op": "read", "path": "/proc/version"})).text().starts_with("Linux")
        );
    });
}

#[test]
fn directories_are_made_listed_moved_and_removed() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("dirs"));
        let mkdir = |sandbox: &mut Client, path: &str, parents: bool| {
            sandbox.ask(json!({"op": "mkdir", "path": path, "parents": parents}))
        };
        assert_eq!(mkdir(&mut sandbox, "a/b/c", false).code(), "path_not_found");
        assert_eq!(mkdir(&mut sandbox, "a/b/c", true).end()["created"], true);
        assert_eq!(mkdir(&mut sandbox, "a/b/c", true).end()["created"], false);
        assert_eq!(mkdir(&mut sandbox, "a/b/c", false).code(), "path_exists");
        sandbox.sh("echo x > a/b/x; ln -s /etc a/b/l; printf y > \"a/$(printf '\\377')\"").end();
        let paths = |listed: Vec<Value>| {
            let mut paths: Vec<String> =
                listed.iter().map(|entry| entry["path"].as_str().unwrap().to_string()).collect();
            paths.sort();
            paths
        };
        assert_eq!(
            paths(entries(&mut sandbox, "a/b", 1)),
            ["/home/user/a/b/c", "/home/user/a/b/l", "/home/user/a/b/x"]
        );
        assert_eq!(entries(&mut sandbox, "/home", 9).len(), 7, "links are not entered");
        let lossy =
            entries(&mut sandbox, "a", 1).into_iter().find(|entry| entry["lossy"] == true).unwrap();
        assert_eq!(lossy["path"], "/home/user/a/\u{fffd}");
        sandbox.ask(json!({"op": "move", "from": "a", "to": "moved"})).end();
        // Onto another filesystem, and back.
        sandbox.ask(json!({"op": "move", "from": "moved", "to": "/tmp/far"})).end();
        sandbox.ask(json!({"op": "move", "from": "/tmp/far", "to": "near"})).end();
        assert_eq!(
            sandbox.sh("cat near/b/x; readlink near/b/l; ls -A . /tmp").text(),
            "x\n/etc\n.:\nnear\n\n/tmp:\n"
        );
        let remove = |sandbox: &mut Client, path: &str, recursive: bool| {
            sandbox.ask(json!({"op": "remove", "path": path, "recursive": recursive}))
        };
        assert_eq!(remove(&mut sandbox, "near", false).code(), "is_a_directory");
        assert_eq!(remove(&mut sandbox, "near", true).end(), json!({}));
        assert_eq!(remove(&mut sandbox, "near", true).code(), "path_not_found");
        assert_eq!(remove(&mut sandbox, "/usr/bin/env", false).code(), "permission_denied");
        assert_eq!(sandbox.exec(&["test", "-e", "/etc/passwd"]).exit()["code"], 0);
    });
}

#[test]
fn a_directory_of_a_lower_layer_can_be_moved() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("lower"));
        let user = if world.mode == Mode::Root { "root" } else { "user" };
        let moved = sandbox
            .ask(json!({"op": "move", "from": "/srv/data", "to": "/srv/moved", "user": user}));
        moved.end();
        assert_eq!(sandbox.sh("cat /srv/moved/deep/file; ls /srv").text(), "lower\nmoved\n");
    });
}

#[test]
fn a_long_listing_waits_for_its_reader() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("long"));
        sandbox.sh("mkdir many; cd many; seq 1 5000 | xargs touch").end();
        let stream = sandbox.open(json!({"op": "list", "path": "many"}));
        assert_eq!(sandbox.exec(&["echo", "hi"]).text(), "hi\n");
        let listed = sandbox.finish(stream);
        assert_eq!(listed.text().lines().count(), 5000);
        sandbox.ask(json!({"op": "remove", "path": "many", "recursive": true})).end();
        assert!(entries(&mut sandbox, ".", 1).is_empty());
    });
}

#[test]
fn files_are_touched_with_the_rights_of_the_user() {
    as_root(|world| {
        let mut sandbox = world.create(&id("rights"));
        let write = |user: &str, path: &str| json!({"op": "write", "path": path, "user": user});
        sandbox.ask_with(write("root", "/etc/secret"), b"s").end();
        sandbox
            .ask(json!({"op": "exec", "argv": ["chmod", "600", "/etc/secret"], "user": "root"}))
            .end();
        let code = |sandbox: &mut Client, request| sandbox.ask(request).code().to_string();
        assert_eq!(
            code(&mut sandbox, json!({"op": "read", "path": "/etc/secret"})),
            "permission_denied"
        );
        assert_eq!(code(&mut sandbox, write("user", "/etc/secret")), "permission_denied");
        assert_eq!(code(&mut sandbox, write("user", "/etc/new")), "permission_denied");
        assert_eq!(
            code(&mut sandbox, json!({"op": "mkdir", "path": "/etc/d"})),
            "permission_denied"
        );
        assert_eq!(
            code(&mut sandbox, json!({"op": "remove", "path": "/etc/secret"})),
            "permission_denied"
        );
        assert_eq!(code(&mut sandbox, json!({"op": "list", "path": "/proc/1/task"})), "");
        assert_eq!(
            sandbox.ask(json!({"op": "read", "path": "/etc/secret", "user": "root"})).text(),
            "s"
        );
        sandbox.ask_with(write("user", "mine"), b"m").end();
        // Root replaces what is in the file, not whose it is.
        sandbox.ask_with(write("root", "/home/user/mine"), b"n").end();
        assert_eq!(sandbox.exec(&["stat", "-c", "%U", "mine"]).text(), "user\n");
        assert_eq!(sandbox.exec(&["id", "-G"]).text(), "1000 44\n");
    });
}
