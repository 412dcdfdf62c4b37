//! Where the hierarchies are mounted, and where in them this process is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct System {
    mounts: Vec<Mount>,
    /// (controllers, path) as /proc/self/cgroup gives them; version 2 has no controllers there.
    own: Vec<(Vec<String>, String)>,
}

struct Mount {
    /// The part of the hierarchy that is visible here.
    root: String,
    point: PathBuf,
    /// None for version 2.
    controllers: Option<Vec<String>>,
}

pub fn read() -> io::Result<System> {
    Ok(System {
        mounts: parse_mounts(&fs::read_to_string("/proc/self/mountinfo")?),
        own: parse_own(&fs::read_to_string("/proc/self/cgroup")?),
    })
}

impl System {
    pub fn has_version_1_memory(&self) -> bool {
        self.own_folder("memory").is_some()
    }

    /// This process's folder in a controller's hierarchy of version 1.
    pub fn own_folder(&self, controller: &str) -> Option<PathBuf> {
        let has = |names: &[String]| names.iter().any(|name| name == controller);
        let (_, path) = self.own.iter().find(|(names, _)| has(names))?;
        let is_that = |mount: &&Mount| mount.controllers.as_deref().is_some_and(has);
        self.mounts.iter().filter(is_that).find_map(|mount| mount.folder(path))
    }

    /// The top of version 2 and this process's folder in it.
    pub fn unified(&self) -> Option<(&Path, PathBuf)> {
        let (_, path) = self.own.iter().find(|(names, _)| names.is_empty())?;
        let mut mounts = self.mounts.iter().filter(|mount| mount.controllers.is_none());
        mounts.find_map(|mount| Some((mount.point.as_path(), mount.folder(path)?)))
    }
}

impl Mount {
    fn folder(&self, path: &str) -> Option<PathBuf> {
        let below = Path::new(path).strip_prefix(&self.root).ok()?;
        let folder = self.point.join(below);
        folder.is_dir().then_some(folder)
    }
}

fn parse_mounts(table: &str) -> Vec<Mount> {
    let parse = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        let place: Vec<&str> = place.split(' ').collect();
        let kind: Vec<&str> = kind.split(' ').collect();
        let options = kind.get(2)?;
        let controllers = match *kind.first()? {
            "cgroup" => Some(options.split(',').map(str::to_string).collect()),
            "cgroup2" => None,
            _ => return None,
        };
        Some(Mount {
            root: place.get(3)?.to_string(),
            point: PathBuf::from(*place.get(4)?),
            controllers,
        })
    };
    table.lines().filter_map(parse).collect()
}

fn parse_own(table: &str) -> Vec<(Vec<String>, String)> {
    let parse = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let names = controllers.split(',').filter(|name| !name.is_empty());
        Some((names.map(str::to_string).collect(), path.to_string()))
    };
    table.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_understood() {
        let own = parse_own("4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/c\n");
        assert_eq!(own[0], (vec!["memory".to_string()], "/a/b".to_string()));
        assert_eq!(own[1].0, ["cpu", "cpuacct"]);
        assert_eq!(own[3], (Vec::new(), "/c".to_string()));
        let mounts = parse_mounts(
            "30 20 0:26 /docker/x /sys/fs/cgroup/cpu ro,nosuid shared:9 - cgroup cgroup rw,cpu\n\
             31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             32 20 0:28 / / rw - ext4 /dev/vda rw\n",
        );
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].root, "/docker/x");
        assert!(mounts[0].controllers.as_ref().unwrap().contains(&"cpu".to_string()));
        assert!(mounts[1].controllers.is_none());
    }
}
