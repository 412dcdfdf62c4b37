//! A sandbox whose processes stand still for the moment in which its disk is copied. The kernel
//! stops them far sooner than it stops a filesystem, for which it waits three times for everybody.
//!
//! A mark says so, and is locked by who stopped them. So the next hold takes it neither for paused
//! nor leaves it to one who died.

use super::folder::Folder;
use super::record::Record;
use crate::cgroup::Group;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MARK: &str = "still";
/// Who takes longer than this goes on, and its filesystem is stopped instead.
const PATIENCE: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_micros(100);

pub struct Standstill<'a> {
    group: &'a Group,
    mark: PathBuf,
    _lock: File,
}

impl Standstill<'_> {
    /// None where a process does not stop at once.
    pub fn of<'a>(group: &'a Group, place: &Path) -> io::Result<Option<Standstill<'a>>> {
        let mark = place.join(MARK);
        let lock = File::create_new(&mark)?;
        lock.try_lock().map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        let still = Standstill { group, mark, _lock: lock };
        let is_still = group.freeze().is_ok() && stops(group);
        if !is_still {
            still.end()?;
            return Ok(None);
        }
        Ok(Some(still))
    }

    /// Whether nobody let it go before.
    pub fn end(self) -> io::Result<bool> {
        let was_still = self.group.is_frozen();
        self.group.thaw()?;
        fs::remove_file(&self.mark)?;
        Ok(was_still)
    }
}

fn stops(group: &Group) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !group.is_frozen() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Waits for those who are still at work, and lets go what the dead left.
pub fn end_all(folder: &Folder) {
    let Ok(entries) = fs::read_dir(folder.layers()) else {
        return;
    };
    for place in entries.flatten().map(|entry| entry.path()) {
        let mark = place.join(MARK);
        let is_left = File::open(&mark).is_ok_and(|file| file.lock().is_ok() && mark.exists());
        let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let (true, Some((id, _))) = (is_left, name.split_once('-')) {
            let group = Record::read(&folder.of_box(id)).ok().and_then(|record| record.group);
            // One that is gone meanwhile has none.
            let _ = group.map(|group| group.thaw());
            let _ = fs::remove_file(mark);
        }
    }
}
