//! What a sandbox changed, on the host: all of it or nothing.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::client::Client;
use support::project::{EDIT, census, changes, project, summary, with_workspace};
use support::{World, id, in_every_mode};

fn layer(sandbox: &mut Client, paths: &[&str]) -> Vec<u8> {
    let outcome = sandbox.ask(json!({"op": "layer", "paths": paths}));
    assert!(outcome.fail.is_none(), "{:?}", outcome.fail);
    outcome.stdout
}

fn apply(world: &World, name: &str, sandbox: &mut Client, header: Value) -> Value {
    let paths: Vec<&str> = match header["paths"].as_array() {
        Some(paths) => paths.iter().map(|path| path.as_str().unwrap()).collect(),
        None => Vec::new(),
    };
    let layer = layer(sandbox, &paths);
    world.apply(&["--box", &folder(world, name)], &header, &layer).expect("an answer")
}

fn folder(world: &World, name: &str) -> String {
    world.directory.join("boxes").join(id(name)).display().to_string()
}

type Edit = fn(&Path);

fn is_clean(base: &Path) -> bool {
    let names = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().file_name());
    names.into_iter().all(|name| !name.to_string_lossy().starts_with(".sandboxer"))
}

#[test]
fn the_host_gets_what_the_sandbox_has_and_can_go_on() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "apply", "copy-on-write");
        let base = world.base.join("project");
        assert_eq!(sandbox.sh(EDIT).exit()["code"], 0);
        let some = apply(world, "apply", &mut sandbox, json!({"paths": ["src/new", "gone"]}));
        assert_eq!((&some["applied"], &some["paths"]), (&json!(2), &json!(["gone", "src/new"])));
        assert!(!base.join("gone").exists() && base.join("README").exists());
        let rest = apply(world, "apply", &mut sandbox, json!({}));
        assert_eq!(rest["conflicts"], json!([]), "{rest}");
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), ["added pipe"]);
        assert!(is_clean(&base));
        assert_eq!(fs::read_to_string(base.join("README")).unwrap(), "one\nzwei\nthree\n");
        assert_eq!(fs::read_link(base.join("link")).unwrap(), Path::new("tool"));
        let owners: Vec<_> = census(&base).into_values().collect();
        let owner = format!(" {} ", support::project::owner_of(world));
        assert!(owners.iter().all(|line| line.contains(&owner) || line.starts_with("120")));
        // What we wrote ourselves is no change of the host's.
        assert_eq!(sandbox.sh("echo more >> README; echo more >> src/new").exit()["code"], 0);
        let again = apply(world, "apply", &mut sandbox, json!({}));
        assert_eq!((&again["applied"], &again["conflicts"]), (&json!(2), &json!([])), "{again}");
        assert_eq!(apply(world, "apply", &mut sandbox, json!({}))["applied"], 0);
    });
}

#[test]
fn what_the_host_changed_meanwhile_is_a_conflict_and_nothing_is_written() {
    in_every_mode(|world| {
        let edits: [(&str, Edit); 7] = [
            ("README", |base| fs::write(base.join("README"), "mine\n").unwrap()),
            ("gone", |base| fs::write(base.join("gone"), "mine\n").unwrap()),
            ("src/new", |base| fs::write(base.join("src/new"), "mine\n").unwrap()),
            ("src/deep/leaf", |base| fs::write(base.join("src/deep/leaf"), "mine\n").unwrap()),
            ("src", |base| fs::remove_dir_all(base.join("src")).unwrap()),
            ("src/main.c", |base| fs::remove_file(base.join("src/main.c")).unwrap()),
            ("src", |base| {
                fs::rename(base.join("src"), base.join("real")).unwrap();
                symlink("real", base.join("src")).unwrap();
            }),
        ];
        for (path, edit) in edits {
            let mut sandbox = with_workspace(world, "conflict", "copy-on-write");
            let base = world.base.join("project");
            assert_eq!(sandbox.sh(EDIT).exit()["code"], 0);
            edit(&base);
            let before = census(&base);
            let outcome = apply(world, "conflict", &mut sandbox, json!({}));
            let conflicts = outcome["conflicts"].as_array().unwrap();
            assert!(conflicts.iter().any(|one| one["path"] == path), "{path}: {outcome}");
            assert_eq!(census(&base), before);
            assert!(world.destroy(&id("conflict")));
        }
        let mut sandbox = with_workspace(world, "conflict", "copy-on-write");
        sandbox.sh(EDIT);
        fs::write(world.base.join("project/README"), "mine\n").unwrap();
        let forced = apply(world, "conflict", &mut sandbox, json!({"force": true}));
        assert_eq!(forced["conflicts"], json!([]));
        let text = fs::read_to_string(world.base.join("project/README")).unwrap();
        assert_eq!(text, "one\nzwei\nthree\n");
    });
}

/// A file that was moved or linked is a copy of something below, and was never where it is now.
#[test]
fn what_the_sandbox_moved_is_no_deletion_of_the_hosts() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "moved", "copy-on-write");
        let base = world.base.join("project");
        let moves = "cd /workspace && mv README READ && echo more >> READ && \
            mv src/main.c src/start.c && ln gone twin";
        assert_eq!(sandbox.sh(moves).exit()["code"], 0);
        let outcome = apply(world, "moved", &mut sandbox, json!({}));
        assert_eq!(outcome["conflicts"], json!([]), "{outcome}");
        assert!(base.join("READ").exists() && !base.join("README").exists());
        assert!(base.join("src/start.c").exists() && base.join("twin").exists());
        // Folders that only we have changed are as they were.
        assert_eq!(sandbox.sh("cd /workspace && mv src/start.c src/go.c").exit()["code"], 0);
        let again = apply(world, "moved", &mut sandbox, json!({}));
        assert_eq!(again["conflicts"], json!([]), "{again}");
        // Where the host has made or deleted something meanwhile, nobody can tell.
        assert_eq!(sandbox.sh("cd /workspace && mv src/go.c src/gone.c").exit()["code"], 0);
        fs::write(base.join("src/mine"), "mine\n").unwrap();
        let outcome = apply(world, "moved", &mut sandbox, json!({}));
        assert_eq!(outcome["conflicts"][0]["path"], "src/gone.c", "{outcome}");
    });
}

/// Dies at every place there is, one after the other.
#[test]
fn a_crash_at_any_step_leaves_the_old_or_the_new() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "crash", "copy-on-write");
        assert_eq!(sandbox.sh(EDIT).exit()["code"], 0);
        let base = world.base.join("project");
        let edited = layer(&mut sandbox, &[]);
        assert_eq!(sandbox.sh("cd /workspace && echo more >> README").exit()["code"], 0);
        let later = layer(&mut sandbox, &["README"]);
        let (place, home) = (folder(world, "crash"), world.directory.display().to_string());
        let old = census(&base);
        let mut outcomes = Vec::new();
        for step in 0.. {
            assert!(step < 200, "it never ends");
            project(world);
            // The folder is another one each time; the record knows the first.
            let facts = fs::metadata(&base).unwrap();
            rewrite_record(&place, std::os::unix::fs::MetadataExt::ino(&facts));
            assert_eq!(census(&base), old);
            let die = step.to_string();
            let options = ["--box", place.as_str(), "--die-after", die.as_str()];
            let header = json!({"force": true, "ticket": format!("t{step}")});
            let answer = world.apply(&options, &header, &edited);
            if answer.is_none() {
                world.apply(&["--recover", &home], &json!({}), &[]).expect("a recovery");
            }
            assert!(is_clean(&base), "step {step}");
            outcomes.push(census(&base));
            // What was done is told, whoever did it, and is no change of the host's.
            let told = fs::read(world.directory.join(format!("applied/t{step}"))).ok();
            let told: Option<Value> = told.map(|bytes| serde_json::from_slice(&bytes).unwrap());
            let told =
                told.map(|told| (assert_eq!(told["id"], id("crash")), told["answer"].clone()).1);
            assert_eq!(told.is_some(), *outcomes.last().unwrap() != old, "step {step}");
            if let Some(told) = &told {
                assert_eq!(
                    (&told["conflicts"], answer.as_ref().unwrap_or(told)),
                    (&json!([]), told)
                );
                let header = json!({"paths": ["README"]});
                let more = world.apply(&["--box", &place], &header, &later).unwrap();
                assert_eq!(
                    (&more["applied"], &more["conflicts"]),
                    (&json!(1), &json!([])),
                    "{step}"
                );
            }
            if answer.is_some() {
                break;
            }
        }
        let new = outcomes.last().unwrap().clone();
        assert_ne!(old, new);
        assert!(outcomes.iter().all(|one| *one == old || *one == new));
        let turned = outcomes.iter().position(|one| *one == new).unwrap();
        assert!(turned > 5 && outcomes.len() - turned > 5, "{turned} of {}", outcomes.len());
        assert!(outcomes[turned..].iter().all(|one| *one == new));
        assert!(fs::read_dir(world.directory.join("applies")).unwrap().next().is_none());
    });
}

fn rewrite_record(place: &str, inode: u64) {
    let path = Path::new(place).join("box.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["workspace"]["inode"] = json!(inode);
    fs::write(path, record.to_string()).unwrap();
}

#[test]
fn what_git_would_run_and_links_that_lead_away_have_to_be_named() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "held", "copy-on-write");
        let base = world.base.join("project");
        let plant = "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit && echo x > .git/index && \
            ln -s /etc/passwd away && ln -s ../.. up && chmod 4755 tool && echo fine > fine";
        assert_eq!(sandbox.sh(plant).exit()["code"], 0);
        let outcome = apply(world, "held", &mut sandbox, json!({}));
        let held: Vec<&str> = outcome["heldBack"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["path"].as_str().unwrap())
            .collect();
        assert_eq!(held, [".git/hooks", ".git/hooks/pre-commit", "away", "up"]);
        assert!(base.join(".git/index").exists() && base.join("fine").exists());
        assert!(fs::symlink_metadata(base.join("away")).is_err());
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(base.join("tool")).unwrap());
        assert_eq!(mode & 0o7000, 0);
        let named = json!({"paths": [".git/hooks", "away"]});
        assert_eq!(apply(world, "held", &mut sandbox, named)["applied"], 3);
        assert!(base.join(".git/hooks/pre-commit").exists());
    });
}

#[test]
fn hostile_layers_reach_nothing() {
    in_every_mode(|world| {
        let _sandbox = with_workspace(world, "hostile", "copy-on-write");
        let base = world.base.join("project");
        let outside = world.base.join("outside");
        fs::create_dir_all(&outside).unwrap();
        let before = (census(&base), census(&outside));
        let place = folder(world, "hostile");
        for names in [
            vec![("../outside/x", b'0')],
            vec![("/tmp/boxd-hostile", b'0')],
            vec![("a/../../outside/x", b'0')],
            vec![(".wh...", b'0')],
            vec![(".wh.", b'0')],
            vec![("src/.wh..", b'0')],
            vec![("", b'5')],
        ] {
            let bytes = archive(&names);
            let outcome = world.apply(&["--box", &place], &json!({}), &bytes).unwrap();
            assert_eq!(outcome["failure"]["code"], "invalid_request", "{names:?}: {outcome}");
        }
        let whole = archive(&[("fine", b'0')]);
        for length in [0, 100, 512, 700] {
            let outcome = world.apply(&["--box", &place], &json!({}), &whole[..length]).unwrap();
            assert_eq!(outcome["failure"]["code"], "invalid_request", "{length}");
        }
        // Devices are none of its business, and a link is no folder.
        let devices = archive(&[("null", b'3'), ("hard", b'1'), ("fifo", b'6')]);
        let outcome = world.apply(&["--box", &place], &json!({}), &devices).unwrap();
        assert_eq!((&outcome["applied"], &outcome["skipped"]), (&json!(0), &json!(3)));
        let through = archive(&[("way", b'2'), ("way/x", b'0')]);
        let outcome = world.apply(&["--box", &place], &json!({}), &through).unwrap();
        assert_eq!(outcome["applied"], 0, "{outcome}");
        assert_eq!((census(&base), census(&outside)), before);
        assert!(!Path::new("/tmp/boxd-hostile").exists());
        // The same, honest, goes through.
        let outcome = world.apply(&["--box", &place], &json!({}), &whole).unwrap();
        assert_eq!(outcome["applied"], 1, "{outcome}");
    });
}

/// Entries without content; links lead out.
fn archive(entries: &[(&str, u8)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind) in entries {
        let mut block = [0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        for field in [108, 116] {
            block[field..field + 7].copy_from_slice(b"0000000");
        }
        for field in [124, 136] {
            block[field..field + 11].copy_from_slice(b"00000000000");
        }
        block[156] = *kind;
        if *kind == b'2' {
            block[157..167].copy_from_slice(b"../outside");
        }
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend(block);
    }
    bytes.extend([0; 1024]);
    bytes
}
