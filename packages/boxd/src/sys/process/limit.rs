//! What a process may have: open files, and dumps of its memory.

use crate::sys::checked;
use std::io;

/// One byte, not none: where the host pipes dumps to a program, the kernel ignores a limit of 0
/// and runs it, but takes 1 for "never". Where somebody has set none already, it stays.
pub fn no_core_dumps() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    unsafe {
        checked(libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit))?;
        let least = limit.rlim_max.min(1);
        limit = libc::rlimit { rlim_cur: least, rlim_max: least };
        checked(libc::setrlimit(libc::RLIMIT_CORE, &raw const limit))?;
    }
    Ok(())
}

/// How many descriptors this process was meant to have open.
#[derive(Clone, Copy)]
pub struct FileLimit(libc::rlimit);

impl FileLimit {
    /// Takes as many as allowed, and remembers what was meant: programs that find a huge limit
    /// tend to behave badly.
    pub fn raise() -> io::Result<FileLimit> {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit fills one rlimit, setrlimit reads one.
        checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut before) })?;
        FileLimit(libc::rlimit { rlim_cur: before.rlim_max, ..before }).restore();
        Ok(FileLimit(before))
    }

    /// What was meant, or less where a sandbox shall have less.
    pub fn at_most(self, count: Option<u64>) -> FileLimit {
        match count.map(|count| count.min(self.0.rlim_max)) {
            Some(count) => FileLimit(libc::rlimit { rlim_cur: count, rlim_max: count }),
            None => self,
        }
    }

    pub fn restore(self) {
        // SAFETY: reads one rlimit. Lowering the soft limit cannot fail.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &self.0) };
    }
}
