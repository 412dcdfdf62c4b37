//! A program that misses some system calls, as on a host that cannot give them.

use crate::fail;
use libc::{sock_filter, sock_fprog};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub fn run(numbers: &[u32], program: &[&str]) {
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let mut filter = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for &number in numbers {
        filter.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        filter.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, refusal));
    }
    filter.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    // SAFETY: takes no pointers. Without privilege a filter takes no_new_privs first.
    unsafe {
        if libc::geteuid() != 0 {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        }
    }
    install(&mut filter);
    let error = Command::new(program[0]).args(&program[1..]).exec();
    eprintln!("probe: {}: {error}", program[0]);
    std::process::exit(127)
}

pub fn install(filter: &mut [sock_filter]) {
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: `program` outlives the call.
    if unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &program) } != 0 {
        fail("seccomp");
    }
}
