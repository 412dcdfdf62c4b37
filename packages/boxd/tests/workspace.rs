//! A folder of the host in a sandbox: who may do what with it, and what was changed.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use support::project::{EDIT, census, changes, owner_of, project, summary, with_workspace};
use support::{Mode, id, in_every_mode};

#[test]
fn copy_on_write_tells_every_kind_of_change_and_leaves_the_host_alone() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "cow", "copy-on-write");
        let before = census(&world.base.join("project"));
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), [""; 0]);
        let edited = sandbox.sh(EDIT);
        assert_eq!(edited.exit()["code"], 0, "{}", String::from_utf8_lossy(&edited.stderr));
        let all = changes(&mut sandbox, "patch", &[]);
        assert_eq!(
            summary(&all),
            [
                "changed README",
                "added blob",
                "added empty",
                "deleted gone",
                "changed link",
                "added pipe",
                "deleted src/deep/leaf",
                "added src/deep/other",
                "changed src/main.c",
                "added src/new",
            ]
        );
        assert_eq!(all[0]["patch"], "@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n");
        assert_eq!(all[1]["binary"], true);
        assert_eq!((&all[4]["target"], &all[4]["oldTarget"]), (&json!("tool"), &json!("README")));
        assert_eq!((&all[8]["mode"], &all[8]["patch"]), (&json!(0o755), &Value::Null));
        let some = changes(&mut sandbox, "names", &["src/new", "gone"]);
        assert_eq!(summary(&some), ["deleted gone", "added src/new"]);
        assert_eq!(census(&world.base.join("project")), before);
        assert!(world.destroy(&id("cow")));
        assert_eq!(census(&world.base.join("project")), before, "FS-7");
    });
}

#[test]
fn rollback_takes_back_all_of_it_or_some() {
    in_every_mode(|world| {
        let mut sandbox = with_workspace(world, "rollback", "copy-on-write");
        assert_eq!(sandbox.sh(EDIT).exit()["code"], 0);
        let some = sandbox.ask(json!({"op": "rollback", "paths": ["gone", "src"]})).end();
        assert_eq!(some["restored"], 5);
        let left = ["changed README", "added blob", "added empty", "changed link", "added pipe"];
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), left);
        sandbox.ask(json!({"op": "rollback"})).end();
        assert_eq!(summary(&changes(&mut sandbox, "names", &[])), [""; 0]);
        let seen = sandbox
            .sh("cd /workspace; cat README src/deep/leaf link; ls -ln | tail -n +2; find -type p");
        let text = seen.text();
        assert!(text.starts_with("one\ntwo\nthree\nleaf\none\n"), "{text}");
        assert!(!text.contains("pipe"), "{text}");
        assert!(!text.contains(" 0 0 "), "somebody else's: {text}");
        assert_eq!(sandbox.sh("cd /workspace && echo again >> src/deep/leaf").exit()["code"], 0);
    });
}

#[test]
fn read_only_and_read_write_are_what_they_say() {
    in_every_mode(|world| {
        let mut reading = with_workspace(world, "reading", "read-only");
        assert_eq!(
            reading.sh("pwd; cat README; echo x > new || echo no").text(),
            "/workspace\none\ntwo\nthree\nno\n"
        );
        assert_eq!(reading.ask(json!({"op": "changes"})).code(), "invalid_request");
        let mut writing = with_workspace(world, "writing", "read-write");
        assert_eq!(writing.sh("echo x > new && stat -c %u new README").text(), "1000\n1000\n");
        let made = fs::metadata(world.base.join("project/new")).unwrap();
        assert_eq!((made.uid(), made.gid()), (owner_of(world), owner_of(world)));
        if world.mode == Mode::Root {
            // Root inside is nobody to the host: it can leave no file of another owner there.
            let root = writing.ask(json!({"op": "exec", "user": "root", "argv": ["/bin/sh", "-c", "echo x > /workspace/of-root"]}));
            assert_ne!(root.exit()["code"], 0);
            assert!(!world.base.join("project/of-root").exists());
        }
    });
}

#[test]
fn sensitive_folders_are_refused_under_every_name() {
    in_every_mode(|world| {
        let base = project(world);
        symlink(base.join("src"), world.base.join("alias")).unwrap();
        // One that nobody but its owner may enter says nothing against others.
        let forbidden = json!([base.join("src"), base.join("not-there"), "/root/.ssh"]);
        for (source, is_refused) in [
            (base.join("src"), true),
            (base.join("src/deep"), true),
            (base.clone(), true),
            (world.base.join("alias"), true),
            (world.base.join("alias/deep"), true),
            (world.base.join("skeleton/srv"), false),
        ] {
            let mut request = world.request(&id("sensitive"));
            request["root"]["workspace"] = json!({
                "source": source, "target": "/workspace", "mode": "read-only",
                "forbidden": forbidden, "tooWide": ["/", "/tmp"],
            });
            let outcome = world.create_with(request);
            assert_eq!(outcome.is_err(), is_refused, "{source:?}");
            match outcome {
                Err(failure) => assert_eq!(failure["code"], "permission_denied"),
                Ok(_) => assert!(world.destroy(&id("sensitive"))),
            }
        }
    });
}
