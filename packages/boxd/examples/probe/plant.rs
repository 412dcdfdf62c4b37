//! A process in somebody's sandbox as serve would start it, but for one fault. Run by the host's
//! root, on a program it trusts: the posture test must see each fault, and nothing else.

use crate::{cage, fail};
use libc::{c_int, c_ulong, sock_filter};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

const NAMESPACES: [&str; 7] = ["ipc", "uts", "net", "pid", "cgroup", "mnt", "user"];
const USER: u32 = 1000;
const SYS_MODULE: u64 = 1 << 16;
const DAC_READ_SEARCH: u64 = 1 << 2;
const SYS_ADMIN: u64 = 1 << 21;
const OPEN_TREE_CLONE: c_int = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_int = 4;

pub fn run(pid: i64, fault: &str, program: &[&str]) {
    let (kind, detail) = fault.split_once('=').unwrap_or((fault, ""));
    let planted_mount = (kind == "mount").then(|| clone_tree(detail));
    let is_directory = std::fs::metadata(detail).is_ok_and(|found| found.is_dir());
    let hosts_terminal = (fault == "terminal=host").then(terminal);
    // All of them before the first is entered: from inside, the host's /proc is gone.
    let open = |name| File::open(format!("/proc/{pid}/ns/{name}")).unwrap_or_else(|_| fail(name));
    let namespaces: Vec<(&str, File)> = NAMESPACES
        .into_iter()
        .filter(|name| !(kind == "namespace" && *name == detail))
        .map(|name| (name, open(name)))
        .collect();
    for (name, namespace) in &namespaces {
        // SAFETY: takes no pointers.
        checked(unsafe { libc::setns(namespace.as_raw_fd(), 0) }, name);
        if let (&"mnt", Some(tree)) = (name, &planted_mount) {
            attach(tree, if is_directory { c"/mnt" } else { c"/etc/hostname" });
        }
    }
    let shown_on = hosts_terminal.or_else(|| (kind == "terminal").then(terminal));
    // SAFETY: a fork of a single-threaded process: the child is in the pid namespace.
    let child = unsafe { libc::fork() };
    if child == 0 {
        become_program(kind, detail, shown_on, program);
    }
    println!("{child}");
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

/// A terminal of wherever this process is now. Both sides stay open.
fn terminal() -> c_int {
    // SAFETY: the ioctls read one int and take flags by value.
    unsafe {
        let master = libc::open(c"/dev/ptmx".as_ptr(), libc::O_RDWR | libc::O_NOCTTY);
        checked(master, "ptmx");
        let locked: c_int = 0;
        checked(libc::ioctl(master, libc::TIOCSPTLCK, &locked), "unlocking a terminal");
        let slave = libc::ioctl(master, libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY);
        checked(slave, "opening a terminal");
        slave
    }
}

fn become_program(kind: &str, detail: &str, terminal: Option<c_int>, program: &[&str]) -> ! {
    let extra = match (kind, detail) {
        ("capability", "all") => u64::MAX >> 23,
        ("capability", "sys_admin") => SYS_ADMIN,
        ("capability", "sys_module") => SYS_MODULE,
        ("capability", "dac_read_search") => DAC_READ_SEARCH,
        _ => 0,
    };
    // While there still is the right to do so without giving up new privileges.
    if kind != "no-filter" {
        let allow_all = libc::SECCOMP_RET_ALLOW;
        let code = (libc::BPF_RET | libc::BPF_K) as u16;
        cage::install(&mut [sock_filter { code, jt: 0, jf: 0, k: allow_all }]);
    }
    let group = if kind == "group" { 4 } else { USER };
    // SAFETY: changes this process only; the slices and structs outlive the calls.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0);
        for capability in (0..=40).filter(|bit| extra & (1 << bit) == 0) {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        checked(libc::setgroups(1, &group), "setgroups");
        checked(libc::setresgid(USER, USER, USER), "setresgid");
        checked(libc::setresuid(USER, USER, USER), "setresuid");
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if kind != "core-dumps" {
            libc::setrlimit(libc::RLIMIT_CORE, &none);
        }
        let header: [u32; 2] = [0x2008_0522, 0];
        let (low, high) = (extra as u32, (extra >> 32) as u32);
        let data = [low, low, low, high, high, high];
        checked(libc::syscall(libc::SYS_capset, &header, &data) as c_int, "capset");
        for capability in (0..=40).filter(|bit| extra & (1 << bit) != 0) {
            let raise = libc::PR_CAP_AMBIENT_RAISE as c_ulong;
            libc::prctl(libc::PR_CAP_AMBIENT, raise, capability as c_ulong, 0, 0);
        }
        if kind != "new-privileges" {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        }
        libc::chdir(c"/".as_ptr());
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        let nowhere = terminal.unwrap_or(nowhere);
        for standard in 0..=2 {
            libc::dup2(nowhere, standard);
        }
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32);
        let extra_descriptor = libc::open(c"/usr".as_ptr(), libc::O_RDONLY);
        if kind != "descriptor" {
            libc::close(extra_descriptor);
        }
    }
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).env_clear().envs(
        [
            ("HOME", "/home/user"),
            ("LC_CTYPE", "C.UTF-8"),
            ("LOGNAME", "user"),
            ("PATH", "/run/boxd/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("SHELL", "/bin/bash"),
            ("USER", "user"),
        ]
        .into_iter()
        .chain((kind == "variable").then_some(("SECRET", detail)))
        .chain(terminal.map(|_| ("TERM", "xterm-256color"))),
    );
    let error = command.exec();
    eprintln!("probe: {}: {error}", program[0]);
    exit(127)
}

fn clone_tree(path: &str) -> OwnedFd {
    let path = CString::new(path).expect("no NUL");
    // SAFETY: `path` is NUL-terminated; the descriptor is new.
    unsafe {
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC;
        let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags);
        checked(fd as c_int, "open_tree");
        std::os::fd::FromRawFd::from_raw_fd(fd as c_int)
    }
}

fn attach(tree: &OwnedFd, place: &CStr) {
    // SAFETY: both paths are NUL-terminated.
    checked(
        unsafe {
            libc::syscall(
                libc::SYS_move_mount,
                tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                place.as_ptr(),
                MOVE_MOUNT_F_EMPTY_PATH,
            )
        } as c_int,
        "move_mount",
    );
}

fn checked(outcome: c_int, what: &str) {
    if outcome == -1 {
        fail(what);
    }
}
