//! What hold adds to every image: a layer with boxd in it under the name of `sudo`. As a layer and
//! not as a mount, so that it tells nothing of where boxd lies on the host, and packages and
//! snapshots find no mount in their way.

use crate::sys::path::{self, IN_ROOT, NO_SYMLINKS};
use crate::wire::VERSION;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The first folder of every program's PATH.
const OURS: &str = "run/boxd/bin";
/// Where login shells look.
const USUAL: &str = "usr/bin";

pub struct Tools {
    /// `sudo` in our folder alone, and in the usual one, too.
    ours: PathBuf,
    both: PathBuf,
}

impl Tools {
    /// Made once for each boxd, aside, and then put in its place: nobody sees half of it. Those of
    /// others are removed where no sandbox can be using them.
    pub fn make(folder: &Path, are_others_used: bool) -> io::Result<Tools> {
        let mut binary = File::open("/proc/self/exe")?;
        let found = binary.metadata()?;
        let name = format!("{VERSION}-{}-{}-{}", found.size(), found.mtime(), found.mtime_nsec());
        let place = folder.join(&name);
        if !place.exists() {
            let aside = folder.join(format!("new-{}", std::process::id()));
            // Somebody with our pid may have died over it.
            let _ = fs::remove_dir_all(&aside);
            let first = put(&aside.join("ours"), OURS)?;
            io::copy(&mut binary, &mut File::create(&first)?)?;
            fs::set_permissions(&first, PermissionsExt::from_mode(0o755))?;
            for folder in [OURS, USUAL] {
                fs::hard_link(&first, put(&aside.join("both"), folder)?)?;
            }
            fs::rename(aside, &place)?;
        }
        if !are_others_used {
            remove_others(folder, &name)?;
        }
        Ok(Tools { ours: place.join("ours"), both: place.join("both") })
    }

    /// The one that hides nothing of the image: where its /usr/bin is a link, or not there, ours
    /// would take its place.
    pub fn layer_over(&self, lowers: &[String]) -> &Path {
        let has_usual = |lower: &String| {
            let root = path::open_directory(path::HERE, lower, 0).ok()?;
            let resolve = IN_ROOT | NO_SYMLINKS;
            match path::open_directory(root.as_fd(), USUAL, resolve) {
                Ok(_) => Some(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => Some(false),
            }
        };
        match lowers.iter().find_map(has_usual) {
            Some(true) => &self.both,
            _ => &self.ours,
        }
    }
}

/// Where `sudo` goes in a folder of a layer, which is made.
fn put(layer: &Path, folder: &str) -> io::Result<PathBuf> {
    let folder = layer.join(folder);
    DirBuilder::new().recursive(true).mode(0o755).create(&folder)?;
    Ok(folder.join("sudo"))
}

fn remove_others(folder: &Path, name: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != name {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_hides_nothing_of_an_image() {
        let place = std::env::temp_dir().join(format!("boxd-tools-{}", std::process::id()));
        let folder = place.join("tools");
        fs::create_dir_all(folder.join("old")).unwrap();
        Tools::make(&folder, true).unwrap();
        assert!(folder.join("old").exists(), "somebody may be using it");
        let tools = Tools::make(&folder, false).unwrap();
        assert!(!folder.join("old").exists());
        for sudo in [tools.ours.join(OURS), tools.both.join(OURS), tools.both.join(USUAL)] {
            let mode = fs::metadata(sudo.join("sudo")).unwrap().mode();
            assert_eq!(mode & 0o7777, 0o755);
        }
        assert!(!tools.ours.join("usr").exists());
        let image = |name: &str| place.join(name).to_str().unwrap().to_string();
        fs::create_dir_all(place.join("usual/usr/bin")).unwrap();
        fs::create_dir_all(place.join("linked/usr")).unwrap();
        std::os::unix::fs::symlink("../bin", place.join("linked/usr/bin")).unwrap();
        fs::create_dir_all(place.join("empty")).unwrap();
        assert_eq!(tools.layer_over(&[image("empty"), image("usual")]), tools.both);
        assert_eq!(tools.layer_over(&[image("linked"), image("usual")]), tools.ours);
        assert_eq!(tools.layer_over(&[image("empty")]), tools.ours);
        fs::remove_dir_all(place).unwrap();
    }
}
