//! Running programs inside.

mod support;

use serde_json::json;
use std::time::{Duration, Instant};
use support::client::Answer;
use support::{host, id, in_every_mode, wait_until};

#[test]
fn a_program_says_its_words_and_its_exit() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("words"));
        let outcome = sandbox.sh("echo out; echo err >&2; exit 7");
        assert_eq!(outcome.text(), "out\n");
        assert_eq!(outcome.stderr, b"err\n");
        assert_eq!(outcome.reply["process"], "p1");
        let end = outcome.end();
        assert_eq!(end, json!({"exit": {"kind": "exited", "code": 7}, "stdout": 4, "stderr": 4}));
        let killed = sandbox.sh("kill -USR1 $$");
        assert_eq!(killed.exit(), json!({"kind": "signalled", "signal": "USR1"}));
    });
}

#[test]
fn input_environment_and_directory_arrive() {
    in_every_mode(|world| {
        let mut request = world.request(&id("input"));
        request["env"] = json!({"FROM_CREATE": "1", "BOTH": "create"});
        request["hostname"] = json!("berlin");
        let mut sandbox = world.create_with(request).unwrap();
        let text: String = (0..100_000).map(|line| format!("{line}\n")).collect();
        let cat = sandbox
            .ask_with(json!({"op": "exec", "argv": ["cat"], "stdin": true}), text.as_bytes());
        assert_eq!(cat.text(), text);
        let outcome = sandbox.ask(json!({
            "op": "exec",
            "argv": ["sh", "-c", "echo $FROM_CREATE $BOTH $HOME $USER; pwd; uname -n; umask; ulimit -c"],
            "env": {"BOTH": "exec"},
            "cwd": "/etc",
        }));
        assert_eq!(outcome.text(), "1 exec /home/user user\n/etc\nberlin\n0022\n0\n");
        assert_eq!(sandbox.exec(&["pwd"]).text(), "/home/user\n");
        // Without `stdin` there is nothing to read.
        assert_eq!(sandbox.exec(&["cat"]).text(), "");
    });
}

#[test]
fn what_cannot_run_is_named_exactly() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("cannot"));
        let code = |sandbox: &mut support::client::Client, request| {
            sandbox.ask(request).code().to_string()
        };
        let exec = |argv: &[&str]| json!({"op": "exec", "argv": argv});
        assert_eq!(code(&mut sandbox, exec(&["no-such-program"])), "command_not_found");
        assert_eq!(code(&mut sandbox, exec(&["/no/such/program"])), "command_not_found");
        assert_eq!(code(&mut sandbox, exec(&["/etc/passwd"])), "command_not_executable");
        assert_eq!(code(&mut sandbox, exec(&["/etc"])), "command_not_executable");
        assert_eq!(code(&mut sandbox, exec(&[])), "invalid_request");
        assert_eq!(code(&mut sandbox, exec(&["a\0b"])), "invalid_request");
        for (cwd, expected) in [
            ("/nowhere", "path_not_found"),
            ("/etc/passwd", "not_a_directory"),
            ("/proc/self/fd/0", "invalid_request"),
            ("/proc/1/root", "invalid_request"),
            ("/proc/self/cwd", "invalid_request"),
        ] {
            let request = json!({"op": "exec", "argv": ["pwd"], "cwd": cwd});
            assert_eq!(code(&mut sandbox, request), expected, "{cwd}");
        }
        for user in ["1", "1:", "0x0", "+0", " root", "root:", "", "4294967295", "99999999999"] {
            let request = json!({"op": "exec", "argv": ["id"], "user": user});
            assert_eq!(code(&mut sandbox, request), "no_such_user", "{user:?}");
        }
        assert_eq!(code(&mut sandbox, json!({"op": "dance"})), "invalid_request");
        assert_eq!(code(&mut sandbox, json!({"op": "exec", "argv": "ls"})), "invalid_request");
        assert_eq!(code(&mut sandbox, json!({"op": "attach", "process": "p99"})), "not_found");
    });
}

#[test]
fn a_client_that_comes_back_gets_the_rest() {
    in_every_mode(|world| {
        let id = id("resume");
        let mut sandbox = world.create(&id);
        let stream = sandbox.open(json!({
            "op": "exec",
            "argv": ["sh", "-c", "echo first; read line; echo second $line; echo oops >&2"],
            "stdin": true,
        }));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        assert!(matches!(sandbox.next_for(stream), Answer::Data(1, bytes) if bytes == b"first\n"));
        drop(sandbox);
        let mut sandbox = world.reconnect(&id);
        let stream = sandbox.open(json!({"op": "attach", "process": "p1", "stdout": 6}));
        let Answer::Reply(reply) = sandbox.next_for(stream) else { panic!("no reply") };
        assert_eq!((&reply["stdout"], &reply["stderr"]), (&json!(6), &json!(0)));
        sandbox.data(stream, b"again\n");
        let outcome = sandbox.finish(stream);
        assert_eq!(outcome.text(), "second again\n");
        assert_eq!(outcome.stderr, b"oops\n");
        // Once more from the start, now that it is over.
        let again = sandbox.ask(json!({"op": "attach", "process": "p1"}));
        assert_eq!(again.text(), "first\nsecond again\n");
        assert_eq!(again.end()["stdout"], 19);
    });
}

#[test]
fn a_reader_that_leaves_holds_nothing_up_and_lost_bytes_are_told() {
    in_every_mode(|world| {
        let id = id("leaves");
        let mut old = world.create(&id);
        let stream = old.open(json!({
            "op": "exec",
            "argv": ["sh", "-c", "sleep 0.2; head -c 300000 /dev/zero; sleep 30"],
        }));
        assert!(matches!(old.next_for(stream), Answer::Reply(_)));
        drop(old);
        let mut new = world.reconnect(&id);
        let mut offset = 0;
        wait_until("everything is written", || {
            let stream = new.open(json!({"op": "attach", "process": "p1"}));
            let Answer::Reply(reply) = new.next_for(stream) else { panic!("no reply") };
            new.cancel(stream);
            offset = reply["stdout"].as_u64().unwrap();
            offset == 300_000 - 65_536
        });
        let ended = new.ask(json!({"op": "signal", "process": "p1", "signal": "KILL"}));
        assert_eq!(ended.end(), json!({}));
        let rest = new.ask(json!({"op": "attach", "process": "p1"}));
        assert_eq!(rest.stdout.len(), 65_536);
        assert_eq!(rest.end()["stdout"], 300_000);
    });
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("timeout"));
        let start = Instant::now();
        let outcome = sandbox.ask(json!({
            "op": "exec",
            "argv": ["sh", "-c", "sleep 4242 & (setsid sh -c 'setsid sleep 4242 & sleep 4242' &) & (sleep 4242 &); wait; sleep 4242"],
            "timeoutMs": 400,
        }));
        assert_eq!(outcome.exit(), json!({"kind": "timeout"}));
        assert!(start.elapsed() >= Duration::from_millis(400));
        assert!(start.elapsed() < Duration::from_secs(5));
        let namespace = host::namespace(world.pid_of(&id("timeout")), "pid");
        wait_until("the sleepers are gone", || host::processes_in(&namespace).len() == 1);
    });
}

#[test]
fn a_child_that_keeps_the_pipe_holds_up_nobody_and_lives() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("keeps"));
        let start = Instant::now();
        let outcome = sandbox.sh(
            "sh -c 'trap \"\" HUP; i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done; echo done > /tmp/done; sleep 30' & echo hi",
        );
        assert!(start.elapsed() < Duration::from_secs(5), "the end waits for the child");
        assert!(outcome.text().contains("hi\n"));
        wait_until("the child has written without dying of it", || {
            sandbox.exec(&["cat", "/tmp/done"]).text() == "done\n"
        });
    });
}

#[test]
fn a_slow_reader_holds_up_its_process_and_nobody_else() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("slow"));
        let flood = sandbox.open(json!({"op": "exec", "argv": ["yes"]}));
        let mut arrived = 0;
        let mut wait_for_full_window = |sandbox: &mut support::client::Client| {
            while arrived < 262_144 {
                match sandbox.next_for(flood) {
                    Answer::Data(1, bytes) => arrived += bytes.len(),
                    Answer::Reply(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        wait_for_full_window(&mut sandbox);
        assert_eq!(sandbox.exec(&["echo", "still", "here"]).text(), "still here\n");
        assert_eq!(arrived, 262_144, "no byte beyond the credit");
        let processes = sandbox.ask(json!({"op": "processes"})).end();
        assert_eq!(processes["processes"][0]["argv"], json!(["yes"]));
        assert!(processes["processes"][0].get("exit").is_none());
        sandbox.ask(json!({"op": "signal", "process": "p1", "signal": "TERM"})).end();
        sandbox.window(flood, 1_000_000);
        assert_eq!(sandbox.finish(flood).exit(), json!({"kind": "signalled", "signal": "TERM"}));
    });
}

#[test]
fn a_terminal_is_one() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("terminal"));
        let stream = sandbox.open(json!({
            "op": "exec",
            "argv": ["sh", "-c", "tty; stty size; read go; stty size; echo $TERM"],
            "pty": {"cols": 101, "rows": 33},
        }));
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("33 101") {
            if let Answer::Data(1, bytes) = sandbox.next_for(stream) {
                seen.extend(bytes);
            }
        }
        sandbox.ask(json!({"op": "resize", "process": "p1", "cols": 80, "rows": 24})).end();
        sandbox.data(stream, b"go\n");
        let outcome = sandbox.finish(stream);
        assert!(String::from_utf8_lossy(&seen).starts_with("/dev/pts/0\r\n"));
        assert!(outcome.text().contains("24 80\r\nxterm-256color\r\n"), "{:?}", outcome.text());
        // Signals typed at it reach the program: ^C.
        let stream = sandbox.open(json!({
            "op": "exec", "argv": ["sleep", "30"], "pty": {"cols": 80, "rows": 24},
        }));
        assert!(matches!(sandbox.next_for(stream), Answer::Reply(_)));
        sandbox.data(stream, &[3]);
        assert_eq!(sandbox.finish(stream).exit(), json!({"kind": "signalled", "signal": "INT"}));
    });
}

#[test]
fn finished_processes_are_remembered_but_not_for_ever() {
    in_every_mode(|world| {
        let mut sandbox = world.create(&id("remember"));
        for number in 0..70 {
            assert_eq!(sandbox.exec(&["echo", &number.to_string()]).text(), format!("{number}\n"));
        }
        let processes = sandbox.ask(json!({"op": "processes"})).end();
        assert_eq!(processes["processes"].as_array().unwrap().len(), 64);
        assert_eq!(sandbox.ask(json!({"op": "attach", "process": "p6"})).code(), "not_found");
        assert_eq!(sandbox.ask(json!({"op": "attach", "process": "p7"})).text(), "6\n");
        // Descriptors do not pile up in the first process.
        if host::effective_uid() == 0 {
            let pid = world.pid_of(&id("remember"));
            let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
            assert!(open <= 12, "{open} descriptors");
        }
    });
}
