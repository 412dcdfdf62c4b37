//! Calls that are really made.

use crate::{fail, number};
use std::ffi::CString;
use std::io::{Error, Read};

/// `@text` stands for the address of a text.
pub fn print_call(call: &str, arguments: &[&str]) {
    let texts: Vec<CString> = arguments
        .iter()
        .map(|argument| CString::new(argument.trim_start_matches('@')).expect("no NUL"))
        .collect();
    let mut values = [0i64; 6];
    for (index, argument) in arguments.iter().enumerate() {
        let text = texts[index].as_ptr() as i64;
        values[index] = if argument.starts_with('@') { text } else { number(argument) };
    }
    let [a, b, c, d, e, f] = values;
    // SAFETY: whoever runs this says what is called; texts outlive the call.
    let outcome = unsafe { libc::syscall(number(call), a, b, c, d, e, f) };
    println!("{}", if outcome == -1 { errno() } else { 0 });
}

pub fn print_trace(whom: &str) {
    let pid = match whom {
        "child" => sleeping_child(),
        pid => number(pid) as i32,
    };
    // SAFETY: attaches to a process and takes no pointers.
    let outcome = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    println!("{}", if outcome == -1 { errno() } else { 0 });
    if whom == "child" {
        // SAFETY: ends our own child.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

fn sleeping_child() -> i32 {
    // SAFETY: a fork of a single-threaded process; the child only waits.
    match unsafe { libc::fork() } {
        -1 => fail("fork"),
        0 => loop {
            // SAFETY: takes no pointers.
            unsafe { libc::pause() };
        },
        pid => pid,
    }
}

pub fn threads(count: usize) {
    for _ in 0..count {
        std::thread::spawn(|| {
            loop {
                std::thread::park();
            }
        });
    }
    println!("up");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn errno() -> i32 {
    Error::last_os_error().raw_os_error().unwrap_or(0)
}
