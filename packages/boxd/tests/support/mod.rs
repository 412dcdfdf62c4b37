//! A hold of its own for every test, in a folder of its own, and what to ask of it.
#![allow(dead_code)]

pub mod client;
pub mod host;
pub mod project;

use client::{Answer, Client};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;
static COUNT: AtomicU32 = AtomicU32::new(0);

/// With whose rights hold runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    Root,
    Ordinary(u32),
}

/// Runs `test` with every kind of hold that can be had here.
pub fn in_every_mode(test: impl Fn(&World)) {
    let modes = match host::effective_uid() {
        0 => vec![Mode::Root, Mode::Ordinary(NOBODY)],
        uid => vec![Mode::Ordinary(uid)],
    };
    for mode in modes {
        println!("mode: {mode:?}");
        test(&World::new(mode));
    }
}

/// For what needs a hold that is root; false says why nothing was tested.
pub fn as_root(test: impl Fn(&World)) {
    if host::effective_uid() == 0 {
        test(&World::new(Mode::Root));
    } else {
        println!("not root: nothing to test");
    }
}

pub struct World {
    pub mode: Mode,
    pub base: PathBuf,
    pub directory: PathBuf,
    pub skeleton: PathBuf,
    binary: PathBuf,
}

impl World {
    pub fn new(mode: Mode) -> World {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = PathBuf::from(format!("/tmp/boxd-test-{}-{number}", std::process::id()));
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, Permissions::from_mode(0o777)).unwrap();
        let binary = base.join("boxd");
        fs::copy(env!("CARGO_BIN_EXE_boxd"), &binary).unwrap();
        let world = World {
            mode,
            directory: base.join("hold"),
            skeleton: base.join("skeleton"),
            binary,
            base,
        };
        world.make_skeleton();
        assert!(world.start().success());
        world
    }

    /// What the TypeScript side lays under every sandbox.
    fn make_skeleton(&self) {
        let owner = match self.mode {
            Mode::Root => 0,
            Mode::Ordinary(uid) => uid,
        };
        for name in ["etc", "usr", "proc", "dev", "tmp", "root", "home/user", "srv/data/deep"] {
            fs::create_dir_all(self.skeleton.join(name)).unwrap();
        }
        for name in ["bin", "lib", "lib64", "sbin"] {
            symlink(format!("usr/{name}"), self.skeleton.join(name)).unwrap();
        }
        fs::write(self.skeleton.join("srv/data/deep/file"), "lower\n").unwrap();
        let passwd = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n";
        fs::write(self.skeleton.join("etc/passwd"), passwd).unwrap();
        fs::write(self.skeleton.join("etc/group"), "root:x:0:\nuser:x:1000:\nmore:x:44:user\n")
            .unwrap();
        if host::effective_uid() == 0 {
            for name in
                ["", "etc", "etc/passwd", "etc/group", "home", "srv", "srv/data", "srv/data/deep"]
            {
                chown(self.skeleton.join(name), Some(owner), Some(owner)).unwrap();
            }
            let user = if owner == 0 { 1000 } else { owner };
            chown(self.skeleton.join("home/user"), Some(user), Some(user)).unwrap();
        }
    }

    pub fn start(&self) -> ExitStatus {
        self.start_with(&[])
    }

    pub fn start_with(&self, options: &[&str]) -> ExitStatus {
        let mut command = Command::new(&self.binary);
        command.arg("hold").arg("--dir").arg(&self.directory).args(options);
        if let (Mode::Ordinary(uid), 0) = (self.mode, host::effective_uid()) {
            command.uid(uid).gid(uid);
        }
        loop {
            match command.status() {
                // Another test forked while our copy of the binary was open for writing.
                Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                outcome => return outcome.unwrap(),
            }
        }
    }

    /// What hold says of a command line that it does not take.
    pub fn complaint(&self, options: &[&str]) -> String {
        let output =
            Command::new(&self.binary).arg("hold").args(options).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Runs `boxd apply` as the one who runs hold. None where it died on the way.
    pub fn apply(&self, options: &[&str], header: &Value, layer: &[u8]) -> Option<Value> {
        let mut command = Command::new(&self.binary);
        command.arg("apply").args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let (Mode::Ordinary(uid), 0) = (self.mode, host::effective_uid()) {
            command.uid(uid).gid(uid);
        }
        let mut child = command.spawn().unwrap();
        let header = header.to_string();
        let mut input = child.stdin.take().unwrap();
        let bytes = [&(header.len() as u32).to_be_bytes(), header.as_bytes(), layer].concat();
        // It may die before it has read all of it.
        let _ = input.write_all(&bytes);
        drop(input);
        let output = child.wait_with_output().unwrap();
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    pub fn hold(&self) -> Client {
        Client::connect(&self.directory.join("hold.sock"))
    }

    pub fn hold_pid(&self) -> i32 {
        self.hold().ask(json!({"op": "ping"})).end()["pid"].as_i64().unwrap() as i32
    }

    /// Asks the running hold to go, and waits until it has.
    pub fn stop(&self, signal: i32) {
        let pid = self.hold_pid();
        host::kill(pid, signal);
        wait_until("hold is gone", || !host::is_alive(pid));
    }

    pub fn request(&self, id: &str) -> Value {
        json!({
            "op": "create",
            "id": id,
            "installation": "tests",
            "root": {
                "lowers": [self.skeleton],
                "mounts": [{"source": "/usr", "target": "/usr", "readOnly": true}],
                "tmpfs": ["/tmp"],
            },
        })
    }

    pub fn create(&self, id: &str) -> Client {
        self.create_with(self.request(id)).expect("a sandbox")
    }

    pub fn create_with(&self, request: Value) -> Result<Client, Value> {
        let mut client = self.hold();
        let stream = client.open(request.clone());
        match client.next_for(stream) {
            Answer::Hello(hello) => {
                assert_eq!(hello["id"], request["id"]);
                Ok(client)
            }
            Answer::Fail(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    pub fn reconnect(&self, id: &str) -> Client {
        let mut client = Client::connect(&self.directory.join("boxes").join(id).join("box.sock"));
        assert!(matches!(client.next_for(0), Answer::Hello(hello) if hello["id"] == id));
        client
    }

    pub fn destroy(&self, id: &str) -> bool {
        self.hold().ask(json!({"op": "destroy", "id": id})).end()["existed"].as_bool().unwrap()
    }

    pub fn boxes(&self) -> Vec<Value> {
        self.hold().ask(json!({"op": "list"})).end()["boxes"].as_array().unwrap().clone()
    }

    pub fn pid_of(&self, id: &str) -> i32 {
        let boxes = self.boxes();
        let found = boxes.iter().find(|one| one["id"] == id).expect("it is listed");
        found["pid"].as_i64().unwrap() as i32
    }

    pub fn is_empty(&self) -> bool {
        ["boxes", "trash"]
            .iter()
            .all(|room| fs::read_dir(self.directory.join(room)).unwrap().next().is_none())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Also after a failed test, whose sandboxes must not outlive it.
        let cleared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for one in self.boxes() {
                self.destroy(one["id"].as_str().unwrap());
            }
            wait_until("everything is cleared away", || self.is_empty());
            self.stop(libc::SIGTERM);
        }));
        let _ = fs::remove_dir_all(&self.base);
        assert!(cleared.is_ok() || std::thread::panicking(), "hold cannot be cleared away");
    }
}

/// A valid id that tells which test it belongs to.
pub fn id(name: &str) -> String {
    format!("{name:0<20}")
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
