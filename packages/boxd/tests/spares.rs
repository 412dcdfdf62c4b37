//! Folders that are kept for the sandboxes to come.

mod support;

use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use support::{World, as_root, id, in_every_mode, wait_until};

fn spares(world: &World) -> Vec<PathBuf> {
    let found = fs::read_dir(world.directory.join("spares")).unwrap();
    found.map(|entry| entry.unwrap().path()).collect()
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let found = fs::read_dir(folder).unwrap();
    found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn is_ready(folder: &Path) -> bool {
    let expected = ["box.json.new", "box.sock"].map(str::to_string);
    names_in(folder) == BTreeSet::from(expected)
        && fs::metadata(folder.join("box.json.new")).is_ok_and(|file| file.len() <= 1)
}

fn all_are_ready(world: &World) -> bool {
    let spares = spares(world);
    spares.len() >= 2 && spares.iter().all(|folder| is_ready(folder))
}

fn create_with_disk(world: &World, id: &str) -> u64 {
    let mut request = world.request(id);
    request["limits"] = json!({"diskBytes": 32 << 20});
    world.create_with(request).expect("a sandbox").exec(&["true"]).end();
    fs::metadata(world.directory.join("boxes").join(id)).unwrap().ino()
}

#[test]
fn a_folder_is_used_again_and_nothing_of_the_one_before_is_in_it() {
    as_root(|world| {
        let first = create_with_disk(world, &id("first"));
        wait_until("folders lie ready", || all_are_ready(world));
        let second = create_with_disk(world, &id("second"));
        assert!(world.destroy(&id("second")));
        wait_until("it lies ready", || all_are_ready(world));
        let kept = spares(world).iter().any(|path| fs::metadata(path).unwrap().ino() == second);
        assert!(kept, "the folder of the second, not of the first, which lives");
        assert_ne!(first, second);
        assert!(world.destroy(&id("first")));
    });
}

#[test]
fn a_folder_with_anything_else_in_it_is_cleared_away() {
    as_root(|world| {
        wait_until("folders lie ready", || all_are_ready(world));
        let inode = create_with_disk(world, &id("odd"));
        fs::write(world.directory.join("boxes").join(id("odd")).join("more"), "x").unwrap();
        assert!(world.destroy(&id("odd")));
        wait_until("it is gone", || world.is_empty() && all_are_ready(world));
        let kept = spares(world).iter().any(|path| fs::metadata(path).unwrap().ino() == inode);
        let has_more = spares(world).iter().any(|path| path.join("more").exists());
        assert!(!has_more, "kept: {kept}");
    });
}

#[test]
fn none_outlives_its_hold() {
    in_every_mode(|world| {
        wait_until("folders lie ready", || all_are_ready(world));
        let before: BTreeSet<u64> = spares(world)
            .iter()
            .map(|path| fs::metadata(path.join("box.sock")).unwrap().ino())
            .collect();
        world.stop(libc::SIGKILL);
        assert_eq!(before.len(), spares(world).len());
        assert!(world.start().success());
        wait_until("the next hold has its own", || all_are_ready(world) && world.is_empty());
        world.stop(libc::SIGTERM);
        assert_eq!(spares(world), Vec::<PathBuf>::new(), "one that leaves takes them with it");
        assert!(world.start().success());
    });
}
