//! All that was written, at one moment.

mod support;

use serde_json::json;
use support::client::{Answer, Client};
use support::project::{EDIT, changes, summary, with_workspace};
use support::{id, in_every_mode, wait_until};

fn capture(sandbox: &mut Client) -> Vec<u8> {
    let outcome = sandbox.ask(json!({"op": "capture"}));
    assert!(outcome.fail.is_none(), "{:?}", outcome.fail);
    outcome.stdout
}

fn restore(sandbox: &mut Client, path: &str, layer: &[u8]) {
    let request = json!({"op": "unpack", "path": path, "layer": true, "owner": true});
    let outcome = sandbox.ask_with(request, layer);
    assert!(outcome.fail.is_none(), "{:?}", outcome.fail);
}

#[test]
fn what_was_written_and_removed_is_the_same_in_another() {
    in_every_mode(|world| {
        let mut first = world.create(&id("first"));
        let script = "echo a > ~/a; mkdir -p ~/d/e; ln -s a ~/l; chmod 700 ~/d; rm -r /srv/data/deep; \
            mkdir /srv/data/deep; echo new > /srv/data/deep/new; echo secret > /tmp/t; printf x > ~/.wh.odd";
        let root = json!({"op": "exec", "user": "root", "argv": ["/bin/sh", "-c", "chmod 777 /srv /srv/data; chown user /srv /srv/data /srv/data/deep"]});
        let _ = first.ask(root);
        assert_eq!(first.sh(script).exit()["code"], 0);
        let layer = capture(&mut first);
        let mut second = world.create(&id("second"));
        restore(&mut second, "/", &layer);
        let look = "cd ~ && find . /srv | sort && cat a l && stat -c '%a %U' d && cat /tmp/t";
        let seen = second.sh(look);
        let expected = ".\n./a\n./d\n./d/e\n./l\n/srv\n/srv/data\n/srv/data/deep\n/srv/data/deep/new\n\
            a\na\n700 user\n";
        assert_eq!(seen.text(), expected);
    });
}

#[test]
fn changes_of_a_workspace_travel_with_it() {
    in_every_mode(|world| {
        let mut first = with_workspace(world, "first", "copy-on-write");
        assert_eq!(first.sh(EDIT).exit()["code"], 0);
        let before = summary(&changes(&mut first, "names", &[]));
        let layer = first.ask(json!({"op": "layer"})).stdout;
        let mut request = world.request(&id("second"));
        request["root"]["workspace"] = json!({
            "source": world.base.join("project"), "target": "/workspace", "mode": "copy-on-write",
        });
        let mut second = world.create_with(request).unwrap();
        restore(&mut second, "/workspace", &layer);
        let after = summary(&changes(&mut second, "names", &[]));
        assert_eq!(after, before.into_iter().filter(|one| one != "added pipe").collect::<Vec<_>>());
    });
}

/// RE-3: nobody is left standing still, however the reader goes.
#[test]
fn everybody_stands_still_while_it_is_read_and_no_longer() {
    in_every_mode(|world| {
        let name = id("still");
        let mut sandbox = world.create(&name);
        sandbox.sh("head -c 3000000 /dev/urandom > ~/large");
        let count =
            "i=0; while :; do i=$((i+1)); echo $i > ~/next; mv ~/next ~/count; sleep 0.01; done";
        sandbox.open(json!({"op": "exec", "argv": ["sh", "-c", count]}));
        let mut other = world.reconnect(&name);
        let mut read = move || {
            let read = other.ask(json!({"op": "read", "path": "count"}));
            read.text().trim().parse::<u64>().unwrap_or(0)
        };
        wait_until("it counts", || read() > 3);
        let mut reader = world.reconnect(&name);
        let stream = reader.open(json!({"op": "capture"}));
        assert!(matches!(reader.next_for(stream), Answer::Reply(_)));
        // Nothing more is read: the window is full before the large file is.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let stopped = read();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(read(), stopped, "it goes on counting");
        drop(reader);
        wait_until("it goes on", || read() > stopped);
    });
}
