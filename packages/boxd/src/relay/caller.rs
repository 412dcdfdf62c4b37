//! Which program made a connection, as far as it can be seen from here. It tells programs apart, not
//! people: whoever may start a program may also make it do something else.

use super::look::Look;
use std::path::PathBuf;

#[derive(Default)]
pub struct Caller {
    /// The processes of the sandbox, and nobody else's, as its own first process sees them.
    processes: Option<PathBuf>,
}

impl Caller {
    /// Beside this process of the sandbox are all others.
    pub fn look_beside(&mut self, process: Option<i32>) {
        if let Some(process) = process {
            self.processes = Some(format!("/proc/{process}/root/proc").into());
        }
    }

    /// For whoever has these sockets open; None where that cannot be seen.
    pub fn begin_look(&self, sockets: impl Iterator<Item = u32>) -> Option<Look> {
        Look::begin(self.processes.as_ref()?, sockets).ok()
    }
}
