//! A project of the one who runs hold, as a sandbox's workspace.

use super::client::{Client, Outcome};
use super::{Mode, World, id};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 5] = [
    ("README", "one\ntwo\nthree\n"),
    ("src/main.c", "int main;\n"),
    ("src/deep/leaf", "leaf\n"),
    ("gone", "gone\n"),
    ("tool", "#!/bin/sh\n"),
];

pub fn owner_of(world: &World) -> u32 {
    match world.mode {
        Mode::Root => 4711,
        Mode::Ordinary(uid) => uid,
    }
}

/// As it is at first, whatever has become of it.
pub fn project(world: &World) -> PathBuf {
    let base = world.base.join("project");
    let _ = fs::remove_dir_all(&base);
    fs::create_dir_all(base.join("src/deep")).unwrap();
    for (name, text) in FILES {
        fs::write(base.join(name), text).unwrap();
    }
    symlink("README", base.join("link")).unwrap();
    fs::set_permissions(base.join("README"), Permissions::from_mode(0o600)).unwrap();
    let owner = owner_of(world);
    for name in ["", "README", "src", "src/main.c", "src/deep", "src/deep/leaf", "gone", "tool"] {
        chown(base.join(name), Some(owner), Some(owner)).unwrap();
    }
    // So that what was just made is not taken for a change of the next moment.
    std::thread::sleep(std::time::Duration::from_millis(12));
    base
}

pub fn with_workspace(world: &World, name: &str, mode: &str) -> Client {
    let mut request = world.request(&id(name));
    request["root"]["workspace"] =
        json!({"source": project(world), "target": "/workspace", "mode": mode});
    request["limits"] = json!({"diskBytes": 64 << 20});
    world.create_with(request).unwrap()
}

pub fn changes(sandbox: &mut Client, detail: &str, paths: &[&str]) -> Vec<Value> {
    let asked = json!({"op": "changes", "detail": detail, "paths": paths});
    let outcome: Outcome = sandbox.ask(asked);
    assert!(outcome.fail.is_none(), "{:?}", outcome.fail);
    outcome.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn summary(changes: &[Value]) -> Vec<String> {
    let text = |change: &Value, name: &str| change[name].as_str().unwrap_or_default().to_string();
    changes.iter().map(|one| format!("{} {}", text(one, "change"), text(one, "path"))).collect()
}

pub const EDIT: &str = "cd /workspace && test $(id -u) = 1000 && sed -i s/two/zwei/ README && \
    echo new > src/new && rm gone && chmod +x src/main.c && rm -r src/deep && \
    ln -sf tool link && mkdir empty && mkfifo pipe && printf 'a\\0b' > blob && mkdir src/deep && \
    echo other > src/deep/other";

/// Everything that is in a folder: kind and mode, owner, content.
pub fn census(base: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut pending = vec![base.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if found.is_dir() {
                pending.push(path.clone());
                String::new()
            } else {
                format!("{:?}", fs::read(&path).unwrap())
            };
            let line = format!("{:o} {} {content}", found.mode(), found.uid());
            all.insert(path.strip_prefix(base).unwrap().to_owned(), line);
        }
    }
    all
}
