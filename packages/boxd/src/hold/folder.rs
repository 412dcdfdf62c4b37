//! The folder that hold keeps everything in, and the lock that makes it hold's alone.

use super::StartError;
use super::spares::{self, Spares};
use crate::setup::workspace::LAYER;
use crate::sys::{credentials, poll, process, unix_socket};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest path that a unix socket's address can hold.
const MOST_SOCKET_PATH: usize = 107;
const LONGEST_ENDING: usize = "/boxes/aaaaaaaaaaaaaaaaaaaa/box.sock".len();

const LOCK_TRIES: u32 = 250;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    /// Makes the folder and its rooms if they are missing, for the owner's eyes only.
    pub fn open(path: &Path) -> Result<Folder, StartError> {
        let failed = |error| StartError::failed(path.display(), error);
        make_private(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let owner = fs::metadata(&path).map_err(failed)?.uid();
        if owner != credentials::effective_uid() {
            return Err(StartError::Failed(format!(
                "{}: belongs to uid {owner}, not to us",
                path.display()
            )));
        }
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(failed)?;
        if path.as_os_str().len() + LONGEST_ENDING > MOST_SOCKET_PATH {
            return Err(StartError::Failed(format!(
                "{}: too long a path for the sockets in it, {} bytes is the most",
                path.display(),
                MOST_SOCKET_PATH - LONGEST_ENDING
            )));
        }
        let folder = Folder { path };
        for room in [folder.boxes(), folder.spares(), folder.trash(), folder.tools()] {
            make_private(&room).map_err(failed)?;
        }
        Ok(folder)
    }

    /// Taken by whoever runs on this folder, and given back by the kernel when it dies.
    pub fn lock(&self) -> Result<File, StartError> {
        let path = self.path.join("hold.lock");
        let failed = |error| StartError::failed(path.display(), error);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
                // A child of a hold that has just died may not have come to close its copy.
                Err(fs::TryLockError::WouldBlock) if !self.is_answered() => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(fs::TryLockError::WouldBlock) => break,
            }
        }
        let message = format!("{}: another boxd hold runs on this folder", self.path.display());
        Err(StartError::Taken(message))
    }

    /// By a hold that lives: a child of a dead one may still have its socket, and answers nobody.
    fn is_answered(&self) -> bool {
        UnixStream::connect(self.socket())
            .and_then(|socket| unix_socket::peer_pid(&socket))
            .and_then(process::pidfd_open)
            .and_then(|pidfd| poll::first_readable(&[pidfd.as_fd()], Duration::ZERO))
            .is_ok_and(|over| over.is_none())
    }

    /// The socket clients come to. Only for who has the lock: a stale one is replaced.
    pub fn listen(&self) -> Result<UnixListener, StartError> {
        let path = self.socket();
        let listen = || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        listen().map_err(|error| StartError::failed(path.display(), error))
    }

    /// Which socket lies there now. The folder may have been removed and made again under us, and
    /// what is in it then is another hold's.
    pub fn socket_identity(&self) -> Option<(u64, u64)> {
        fs::symlink_metadata(self.socket()).ok().map(|found| (found.dev(), found.ino()))
    }

    pub fn socket(&self) -> PathBuf {
        self.path.join("hold.sock")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("hold.log")
    }

    /// Where control groups of this folder's sandboxes ever were.
    pub fn group_diary(&self) -> PathBuf {
        self.path.join("cgroups")
    }

    pub fn tools(&self) -> PathBuf {
        self.path.join("tools")
    }

    pub fn boxes(&self) -> PathBuf {
        self.path.join("boxes")
    }

    pub fn spares(&self) -> PathBuf {
        self.path.join("spares")
    }

    /// What stopped sandboxes have written, shared.
    pub fn layers(&self) -> PathBuf {
        self.path.join("layers")
    }

    pub fn trash(&self) -> PathBuf {
        self.path.join("trash")
    }

    pub fn of_box(&self, id: &str) -> PathBuf {
        self.boxes().join(id)
    }

    pub fn rename_box(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.of_box(from), self.of_box(to))
    }

    /// A new sandbox's own folder: where it listens, and its writable layer, which belongs to
    /// the sandbox's root.
    ///
    /// With a disk of its own, the layer is on that.
    pub fn make_box(
        &self,
        spares: &mut Spares,
        id: &str,
        owner: Option<u32>,
        disk: bool,
        layered: bool,
    ) -> io::Result<UnixListener> {
        let path = self.of_box(id);
        let spare = spares.give(&path)?;
        if spare.is_none() {
            spares::make(&path)?;
        }
        let layers = [("upper", 0o755, true), ("work", 0o700, true), (LAYER, 0o700, layered)];
        for (layer, mode, _) in layers.into_iter().filter(|(_, _, wanted)| *wanted && !disk) {
            let layer = path.join(layer);
            DirBuilder::new().mode(mode).create(&layer)?;
            chown(&layer, owner, owner)?;
        }
        spare.map_or_else(|| spares::listen(&path), Ok)
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

/// Ids become names of folders, so nothing else is let through.
pub fn is_id(text: &str) -> bool {
    text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn ids_are_twenty_small_letters_and_digits() {
        assert!(is_id("abcdefghij0123456789"));
        for bad in
            ["", "abc", "ABCDEFGHIJ0123456789", "../../../../etc/pass", "abcdefghij012345678/"]
        {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
