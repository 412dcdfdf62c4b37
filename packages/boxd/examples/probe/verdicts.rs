//! What a system-call filter says, without ever making the call.
//!
//! A child adds a filter of its own that stops every marked call for its tracer. A refusal by an
//! older filter weighs more than that stop, so the tracer sees exactly the calls that pass, and
//! skips them. This is harmless on the host, too, which is the control.

use crate::{fail, number};
use libc::{c_long, sock_filter, sock_fprog};
use std::arch::asm;
use std::ptr::null_mut;

/// In the fifth argument, which no question here uses: this call is one of ours.
const MARK: u32 = 0x5AD_B0C5;
const MOST: usize = 4096;
const PASSES: i32 = 1;

#[derive(Clone, Copy)]
struct Question {
    abi: &'static str,
    number: u32,
    arguments: [u64; 3],
}

pub fn print_all(asked: &[&str]) {
    let questions: Vec<Question> = asked.iter().flat_map(|text| parse(text)).collect();
    assert!(questions.len() <= MOST);
    let answers = shared();
    // SAFETY: a fork of a single-threaded process.
    match unsafe { libc::fork() } {
        -1 => fail("fork"),
        0 => ask(&questions, answers),
        child => watch(child, answers),
    }
    for (index, question) in questions.iter().enumerate() {
        // SAFETY: `answers` has room for MOST.
        let answer = unsafe { *answers.add(1 + index) };
        let said = if answer == PASSES { "passes".to_string() } else { (-answer).to_string() };
        println!("{} {} {said}", question.abi, question.number);
    }
}

fn parse(text: &str) -> Vec<Question> {
    let parts: Vec<&str> = text.split(':').collect();
    let abi = match parts[0] {
        "native" => "native",
        "i386" => "i386",
        "x32" => "x32",
        other => fail(other),
    };
    let (first, last) = parts[1].split_once('-').unwrap_or((parts[1], parts[1]));
    let mut arguments = [0; 3];
    for (index, argument) in parts.get(2).map_or("", |list| list).split(',').enumerate() {
        if !argument.is_empty() {
            arguments[index] = number(argument) as u64;
        }
    }
    let numbers = number(first) as u32..=number(last) as u32;
    numbers.map(|number| Question { abi, number, arguments }).collect()
}

/// Memory that parent and child both see: which question it is, then the answers.
fn shared() -> *mut i32 {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: asks for new memory.
    let place = unsafe { libc::mmap(null_mut(), 4 * (MOST + 1), protection, flags, -1, 0) };
    if place == libc::MAP_FAILED { fail("mmap") } else { place.cast() }
}

fn ask(questions: &[Question], answers: *mut i32) -> ! {
    stop_for_tracer();
    for (index, question) in questions.iter().enumerate() {
        // SAFETY: there is room for MOST. The call is refused by a filter or skipped by the
        // tracer, so it reads and writes nothing.
        unsafe {
            *answers = index as i32;
            let outcome = make(question);
            if *answers.add(1 + index) != PASSES {
                *answers.add(1 + index) = outcome;
            }
        }
    }
    // SAFETY: ends this process only.
    unsafe { libc::_exit(0) }
}

fn stop_for_tracer() {
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let mut program = [
        step(load, 0, 0, 16 + 4 * 8),
        step(equal, 0, 1, MARK),
        step(give, 0, 0, libc::SECCOMP_RET_TRACE),
        step(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: 4, filter: program.as_mut_ptr() };
    // SAFETY: `program` outlives the calls; the rest takes no pointers.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
            fail("PTRACE_TRACEME");
        }
        libc::raise(libc::SIGSTOP);
        if libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &program) != 0 {
            fail("seccomp");
        }
    }
}

/// The outcome as the kernel gives it: a negative errno.
unsafe fn make(question: &Question) -> i32 {
    let [first, second, third] = question.arguments;
    match question.abi {
        #[cfg(target_arch = "x86_64")]
        "i386" => {
            let outcome: i32;
            // SAFETY: the caller's. The kernel keeps every register but eax (and r8 to r11).
            unsafe {
                asm!("xchg rbx, {first}", "int 0x80", "xchg rbx, {first}",
                    first = inout(reg) first => _,
                    inout("eax") question.number => outcome,
                    in("ecx") second as u32, in("edx") third as u32,
                    in("esi") 0u32, in("edi") MARK,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _);
            }
            outcome
        }
        _ => {
            let bit = if question.abi == "x32" { 0x4000_0000 } else { 0 };
            let number = c_long::from(question.number | bit);
            // SAFETY: the caller's.
            let outcome = unsafe { libc::syscall(number, first, second, third, 0, MARK, 0) };
            if outcome == -1 {
                -std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
            } else {
                outcome as i32
            }
        }
    }
}

fn watch(child: i32, answers: *mut i32) {
    let mut status = 0;
    let options = libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL;
    // SAFETY: traces our own child; `answers` is shared with it and it stands still meanwhile.
    unsafe {
        libc::waitpid(child, &mut status, 0);
        libc::ptrace(libc::PTRACE_SETOPTIONS, child, 0, options);
        loop {
            libc::ptrace(libc::PTRACE_CONT, child, 0, 0);
            if libc::waitpid(child, &mut status, 0) < 0 || !libc::WIFSTOPPED(status) {
                return;
            }
            if status >> 8 == libc::SIGTRAP | (libc::PTRACE_EVENT_SECCOMP << 8) {
                *answers.add(1 + *answers as usize) = PASSES;
                skip(child);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn skip(child: i32) {
    let number = std::mem::offset_of!(libc::user_regs_struct, orig_rax);
    // SAFETY: writes one register of our own child.
    if unsafe { libc::ptrace(libc::PTRACE_POKEUSER, child, number, -1i64) } != 0 {
        fail("PTRACE_POKEUSER");
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn skip(child: i32) {
    const NT_ARM_SYSTEM_CALL: i32 = 0x404;
    let mut none: i32 = -1;
    let mut part = libc::iovec { iov_base: (&raw mut none).cast(), iov_len: 4 };
    // SAFETY: writes one register of our own child.
    if unsafe { libc::ptrace(libc::PTRACE_SETREGSET, child, NT_ARM_SYSTEM_CALL, &mut part) } != 0 {
        fail("PTRACE_SETREGSET");
    }
}
