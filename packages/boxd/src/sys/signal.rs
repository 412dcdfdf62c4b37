//! Signals as descriptors and names.

use super::{checked, checked_fd};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const NAMES: [(&str, i32); 31] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("STKFLT", libc::SIGSTKFLT),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

/// The number of a signal spelled as on the wire: `TERM`, not `SIGTERM`.
pub fn number(name: &str) -> Option<i32> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

pub fn name(number: i32) -> String {
    match NAMES.iter().find(|(_, known)| *known == number) {
        Some((name, _)) => (*name).to_string(),
        None => number.to_string(),
    }
}

/// A signal that arrived; `sender` is 0 when it came from outside this pid namespace.
pub struct Arrival {
    pub signal: i32,
    pub sender: u32,
}

/// Blocks some signals and lets them be read from a descriptor instead.
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    pub fn of(signals: &[i32]) -> io::Result<Signals> {
        let set = set_of(signals);
        // SAFETY: `set` is initialised; the old mask is not asked for.
        checked(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) })?;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: as above.
        Ok(Signals { fd: checked_fd(unsafe { libc::signalfd(-1, &set, flags) })? })
    }

    pub fn next(&self) -> Option<Arrival> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the size that is read.
        let count = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if count != size as isize {
            return None;
        }
        // SAFETY: the kernel has filled all of it.
        let info = unsafe { info.assume_init() };
        Some(Arrival { signal: info.ssi_signo as i32, sender: info.ssi_pid })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What the kernel takes, which is not what libc calls sigaction. All zero is the default.
#[repr(C)]
#[derive(Default)]
struct KernelAction {
    handler: usize,
    flags: libc::c_ulong,
    restorer: usize,
    mask: u64,
}

/// Forgets every inherited disposition and mask, and ignores SIGPIPE: writes report EPIPE.
pub fn reset_for_server() {
    // The raw call, because libc hides the signals that it uses itself, and whoever started us
    // may have left those ignored, too.
    let default = KernelAction::default();
    for signal in 1..=64 {
        let nothing = std::ptr::null_mut::<KernelAction>();
        // SAFETY: no handler of ours is installed; KILL and STOP are refused harmlessly.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const default, nothing, 8) };
    }
    // SAFETY: ignoring needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    unblock_all();
}

pub fn unblock_all() {
    let none = set_of(&[]);
    // SAFETY: `none` is initialised.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) };
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before anything reads it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// For the child of a vfork: what a program expects to find. The rest is default already.
pub fn reset_for_program() {
    let none = set_of(&[]);
    // SAFETY: changes only the calling process, whose handler table is a copy.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Ends this process by a signal, as another was. Returns where that one does not end anybody.
pub fn die_of(number: i32) {
    // SAFETY: the default action takes no handler; a number that is none is refused.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        unblock_all();
        libc::kill(libc::getpid(), number);
    }
}
