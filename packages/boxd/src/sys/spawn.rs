//! Running a program: vfork, become somebody else, exec.
//!
//! The child shares our memory while we stand still, so it only makes system calls and writes
//! nothing but its report. Everything it needs is prepared before.

use super::credentials::{self, Capabilities};
use super::{checked, signal};
use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};

const STACK_SIZE: usize = 64 * 1024;

/// Which rights the program gets.
pub enum Become {
    /// Those of this process.
    Same,
    /// Somebody's, which takes CAP_SETUID and CAP_SETGID.
    User { uid: u32, gid: u32, groups: Vec<u32> },
}

pub struct Program {
    /// Where the program may be, tried in order.
    pub candidates: Vec<CString>,
    pub argv: Vec<CString>,
    pub env: Vec<CString>,
    pub directory: RawFd,
    pub standard_streams: [RawFd; 3],
    /// Take the terminal on standard input as the controlling one.
    pub terminal: bool,
    /// Orphans below the program become its children instead of the first process's.
    pub adopts_orphans: bool,
    pub identity: Become,
    pub capabilities: Capabilities,
    /// What the bounding set still holds and the program may not have.
    pub bounding_drop: Capabilities,
}

/// Where a spawn stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Prepare,
    Identity,
    Directory,
    Execute,
}

#[derive(Debug)]
pub struct SpawnError {
    pub stage: Stage,
    pub error: io::Error,
}

/// A stack for the children, used again for every one of them. It stays for the life of the
/// process and takes memory only where it is used.
pub struct Spawner {
    stack_end: *mut libc::c_void,
}

struct Order<'a> {
    program: &'a Program,
    argv: &'a [*const libc::c_char],
    env: &'a [*const libc::c_char],
    failure: Option<(Stage, i32)>,
}

impl Spawner {
    pub fn new() -> io::Result<Spawner> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: asks for new memory that nothing else uses.
        let start = unsafe { libc::mmap(null_mut(), STACK_SIZE, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Spawner { stack_end: start.wrapping_byte_add(STACK_SIZE) })
    }

    /// Starts `program` and returns its pid once it runs.
    pub fn spawn(&mut self, program: &Program) -> Result<i32, SpawnError> {
        let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
            strings.iter().map(|string| string.as_ptr()).chain([null()]).collect()
        };
        let (argv, env) = (pointers(&program.argv), pointers(&program.env));
        let mut order = Order { program, argv: &argv, env: &env, failure: None };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is large enough for `child`, aligned, and used by nobody else: with
        // CLONE_VFORK we sleep until the child has exec'd or exited. `order` outlives that.
        let pid = unsafe { libc::clone(child, self.stack_end, flags, (&raw mut order).cast()) };
        let failed = |stage, error| SpawnError { stage, error };
        let pid = checked(pid).map_err(|error| failed(Stage::Prepare, error))? as i32;
        match order.failure {
            None => Ok(pid),
            Some((stage, errno)) => Err(failed(stage, io::Error::from_raw_os_error(errno))),
        }
    }
}

extern "C" fn child(order: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `spawn` passes a live Order that it does not touch while we run.
    let order = unsafe { &mut *order.cast::<Order>() };
    let (stage, error) = become_program(order);
    order.failure = Some((stage, error.raw_os_error().unwrap_or(libc::EIO)));
    // SAFETY: leaves without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

/// Returns only when something failed.
fn become_program(order: &Order) -> (Stage, io::Error) {
    let program = order.program;
    if let Err(error) = take_streams(program) {
        return (Stage::Prepare, error);
    }
    if let Err(error) = take_identity(program) {
        return (Stage::Identity, error);
    }
    // SAFETY: takes no pointers. After the identity, so that it is the user who enters.
    if let Err(error) = checked(unsafe { libc::fchdir(program.directory) }) {
        return (Stage::Directory, error);
    }
    // SAFETY: closes only this process's copies, which nobody here uses again.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
    signal::reset_for_program();
    (Stage::Execute, execute(order))
}

fn take_streams(program: &Program) -> io::Result<()> {
    // SAFETY: these calls take no pointers, and change only this process.
    unsafe {
        checked(libc::setsid())?;
        for (number, &fd) in (0..).zip(&program.standard_streams) {
            checked(libc::dup2(fd, number))?;
        }
        if program.terminal {
            checked(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
        }
        if program.adopts_orphans {
            checked(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        }
    }
    Ok(())
}

fn take_identity(program: &Program) -> io::Result<()> {
    for capability in (0..64).filter(|&bit| program.bounding_drop.contains(bit)) {
        // SAFETY: takes no pointers.
        checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })?;
    }
    if let Become::User { uid, gid, groups } = &program.identity {
        credentials::set_groups(groups)?;
        credentials::set_gid(*gid)?;
        credentials::set_uid(*uid)?;
    }
    credentials::set_capabilities(program.capabilities)
}

/// Tries the candidates as execvp does: what cannot be run does not hide what can.
fn execute(order: &Order) -> io::Error {
    let mut worst = libc::ENOENT;
    for candidate in &order.program.candidates {
        // SAFETY: all three are NUL-terminated and the arrays end with null.
        unsafe { libc::execve(candidate.as_ptr(), order.argv.as_ptr(), order.env.as_ptr()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => worst = libc::EACCES,
            _ => return error,
        }
    }
    io::Error::from_raw_os_error(worst)
}
