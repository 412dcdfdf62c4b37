//! Folders for the sandboxes to come, made while nobody waits. A file system that has just lost
//! many files is slow to make new ones, so the folders of the dead are used again.

use super::draft;
use super::folder::Folder;
use super::log;
use super::trash::Trash;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SOCKET: &str = "box.sock";

/// As many are made anew, so that the next who comes finds one.
const ENOUGH: usize = 2;
/// As many of ended sandboxes are kept for when many come at once.
const MOST: usize = 8;
/// Stays out of the way of whoever asks next.
const DELAY: Duration = Duration::from_millis(3);

#[derive(Default)]
pub struct Spares {
    ready: Vec<(PathBuf, UnixListener)>,
    /// Of sandboxes that have ended, with what they left.
    used: Vec<PathBuf>,
    count: u64,
    due: Option<Instant>,
}

impl Spares {
    /// What an earlier hold kept is not kept on: nobody knows who has its sockets.
    pub fn start(folder: &Folder, trash: &mut Trash) -> io::Result<Spares> {
        for entry in fs::read_dir(folder.spares())? {
            trash.take(folder, &entry?.path());
        }
        Ok(Spares { due: Some(Instant::now() + DELAY), ..Spares::default() })
    }

    /// Makes one of them the folder of a sandbox, if there is one.
    pub fn give(&mut self, path: &Path) -> io::Result<Option<UnixListener>> {
        self.due.get_or_insert(Instant::now() + DELAY);
        let Some((spare, listener)) = self.ready.pop() else {
            return Ok(None);
        };
        match fs::rename(&spare, path) {
            Ok(()) => Ok(Some(listener)),
            Err(error) => {
                self.ready.push((spare, listener));
                Err(error)
            }
        }
    }

    /// Takes the folder of a sandbox whose disk was elsewhere; nothing lives in it any more.
    pub fn take(&mut self, folder: &Folder, path: &Path) -> bool {
        if self.ready.len() + self.used.len() >= MOST {
            return false;
        }
        let to = self.next(folder);
        let is_taken = fs::rename(path, &to).is_ok();
        if is_taken {
            self.used.push(to);
            self.due.get_or_insert(Instant::now() + DELAY);
        }
        is_taken
    }

    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Makes one, and comes back for the next: requests go first.
    pub fn refill_when_due(&mut self, folder: &Folder, trash: &mut Trash) {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.due = None;
        if !self.is_wanting() {
            return;
        }
        let used = self.used.pop();
        let is_new = used.is_none();
        let path = used.unwrap_or_else(|| self.next(folder));
        let emptied = if is_new { make(&path) } else { clear(&path) };
        match emptied.and_then(|()| furnish(&path)) {
            Ok(listener) => {
                self.ready.push((path, listener));
                self.due = self.is_wanting().then(|| Instant::now() + DELAY);
            }
            // Whoever needs a folder makes it, and is told what is wrong.
            Err(error) => {
                log::note(format_args!("cannot keep {}: {error}", path.display()));
                trash.take(folder, &path);
            }
        }
    }

    fn is_wanting(&self) -> bool {
        !self.used.is_empty() || self.ready.len() < ENOUGH
    }

    /// Nothing of them is left behind.
    pub fn leave(&mut self) {
        let ready = self.ready.drain(..).map(|(path, _)| path);
        for path in ready.chain(self.used.drain(..)) {
            let _ = fs::remove_dir_all(path);
        }
    }

    fn next(&mut self, folder: &Folder) -> PathBuf {
        self.count += 1;
        folder.spares().join(self.count.to_string())
    }
}

/// The sandbox may pass through it but not look around.
pub fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o711).create(path)
}

/// Fails where anything but what hold put there is in it.
fn clear(path: &Path) -> io::Result<()> {
    fs::remove_file(path.join(SOCKET))?;
    draft::take_back(path)?;
    match fs::read_dir(path)?.count() {
        1 => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty)),
    }
}

fn furnish(path: &Path) -> io::Result<UnixListener> {
    draft::make_blank(path)?;
    listen(path)
}

/// Where a sandbox listens in its folder.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path.join(SOCKET))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
