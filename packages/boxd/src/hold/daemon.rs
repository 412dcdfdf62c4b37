//! Leaving the caller's terminal behind.

use super::StartError;
use crate::sys::descriptor;
use crate::sys::process::{self, Clone};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The daemon's word to who started it: a byte for the exit code, then a message.
pub struct Ready {
    to_caller: File,
}

impl Ready {
    /// From now on clients may connect, so the caller can go.
    pub fn tell(mut self) {
        let _ = self.to_caller.write_all(&[0]);
    }
}

/// Runs `daemon` in a grandchild without terminal. Returns in the caller, once the daemon is
/// ready or has said why not.
pub fn detach(daemon: impl FnOnce(Ready) -> Result<(), StartError>) -> Result<(), StartError> {
    let failed = |error| StartError::failed("cannot start a daemon", error);
    let (from_daemon, to_caller) = descriptor::pipe().map_err(failed)?;
    if let Clone::Parent { .. } = process::clone_into(0).map_err(failed)? {
        drop(to_caller);
        return hear(File::from(from_daemon));
    }
    drop(from_daemon);
    process::new_session();
    // The leader of the session leaves, so that no terminal can ever be acquired.
    match process::clone_into(0) {
        Ok(Clone::Child) => {}
        _ => process::exit_now(1),
    }
    // Whoever waits for the end of a pipe that our caller left open would wait for us.
    descriptor::close_all_except(&mut [0, 1, 2, to_caller.as_raw_fd()]).map_err(failed)?;
    let to_caller = File::from(to_caller);
    let mut last_words = to_caller.try_clone().map_err(failed)?;
    match daemon(Ready { to_caller }) {
        Ok(()) => process::exit_now(0),
        Err(error) => {
            let words = [&[error.exit_code() as u8], error.to_string().as_bytes()].concat();
            let _ = last_words.write_all(&words);
            process::exit_now(error.exit_code())
        }
    }
}

fn hear(mut from_daemon: File) -> Result<(), StartError> {
    let mut words = [0; 4096];
    let length = from_daemon.read(&mut words).unwrap_or(0);
    let message = || String::from_utf8_lossy(&words[1..length]).into_owned();
    match words[..length].first() {
        Some(0) => Ok(()),
        Some(&code) if i32::from(code) == super::EXIT_TAKEN => Err(StartError::Taken(message())),
        Some(_) => Err(StartError::Failed(message())),
        None => Err(StartError::Failed("the daemon died while starting".to_string())),
    }
}

/// Standard streams go nowhere, standard error to the log.
pub fn leave_terminal(log: &Path) -> Result<(), StartError> {
    let failed = |error| StartError::failed(log.display(), error);
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    descriptor::replace_standard_streams(&nowhere).map_err(failed)?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(failed)?;
    descriptor::replace_standard_error(&log).map_err(failed)?;
    std::env::set_current_dir("/").map_err(failed)
}
