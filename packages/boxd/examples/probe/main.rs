//! What the security tests run: inside a sandbox, to ask the kernel directly; outside, to plant
//! processes that are wrong in exactly one way. Never installed.

mod cage;
mod calls;
mod plant;
mod verdicts;

use std::process::exit;

const USAGE: &str = "\
probe verdicts ABI:FIRST-LAST|ABI:NUMBER[:ARG,…] …   what the filter says; nothing is executed
probe call NUMBER [ARG|@TEXT …]                      makes the call and prints 0 or the errno
probe trace child|PID                                tries to trace it and prints 0 or the errno
probe threads COUNT                                  starts threads, says `up`, waits for input's end
probe cage NUMBER[,NUMBER …] -- PROGRAM …            runs it without those system calls
probe plant PID FAULT|none -- PROGRAM …              runs it in PID's sandbox, with one fault";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["verdicts", ref questions @ ..] => verdicts::print_all(questions),
        ["call", number, ref arguments @ ..] => calls::print_call(number, arguments),
        ["trace", whom] => calls::print_trace(whom),
        ["threads", count] => calls::threads(number(count) as usize),
        ["cage", numbers, "--", ref program @ ..] => {
            let numbers: Vec<u32> = numbers.split(',').map(|one| number(one) as u32).collect();
            cage::run(&numbers, program)
        }
        ["plant", pid, fault, "--", ref program @ ..] => plant::run(number(pid), fault, program),
        _ => {
            eprintln!("{USAGE}");
            exit(2)
        }
    }
}

/// Decimal, or hexadecimal after `0x`; negative ones as the kernel sees them.
fn number(text: &str) -> i64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| fail(&format!("not a number: {text}")))
}

fn fail(what: &str) -> ! {
    eprintln!("probe: {what}: {}", std::io::Error::last_os_error());
    exit(1)
}
