//! The `sudo` of a sandbox: the same binary under another name. It has no rights of its own; it
//! asks serve to run the program, lends it its standard streams, and waits for how it ends.

mod options;
mod terminal;

use crate::sys::epoll::{self, Epoll};
use crate::sys::path::{self, HERE};
use crate::sys::signal::{self, Signals};
use crate::sys::{abstract_socket, process, unix_socket};
use crate::wire::VERSION;
use crate::wire::elevation::{Elevation, How, MOST_BYTES, NAME, Outcome, signal_json};
use options::{Options, Wish};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use terminal::Terminal;

const NAMES: [&str; 1] = ["sudo"];
const EXIT_REFUSED: i32 = 1;

/// Handed on to the program instead of acted upon.
const SIGNALS: [i32; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
];

const FROM_SERVE: u64 = 0;
const FROM_SIGNALS: u64 = 1;
const FROM_TERMINAL: u64 = 2;

/// Whether this process was started to be one.
pub fn is_called_by(name: Option<OsString>) -> bool {
    let name = name.as_deref().map(Path::new).and_then(Path::file_name);
    name.is_some_and(|name| NAMES.iter().any(|known| name == *known))
}

/// The code to exit with.
pub fn run(arguments: impl Iterator<Item = OsString>) -> i32 {
    let arguments: Result<Vec<String>, _> = arguments.map(OsString::into_string).collect();
    let wish = match arguments {
        Ok(arguments) => options::parse(arguments),
        Err(odd) => Err(format!("not UTF-8: {odd:?}")),
    };
    let outcome = match wish {
        Ok(Wish::Run(options)) => ask(options),
        Ok(Wish::Help) => {
            print!("{}", options::HELP);
            Ok(0)
        }
        Ok(Wish::Version) => {
            println!("sudo of a sandbox (boxd {VERSION})");
            Ok(0)
        }
        Ok(Wish::Forget) => Ok(0),
        Err(message) => Err(message),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("sudo: {message}");
        EXIT_REFUSED
    })
}

fn ask(options: Options) -> Result<i32, String> {
    let said = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let server = abstract_socket::connect(NAME)
        .map_err(|_| "nobody here can make you another user".to_string())?;
    // Before anything is started, so that none is missed.
    let signals = Signals::of(&SIGNALS).map_err(said("signals"))?;
    let runs = options.how != How::Ask;
    let mut terminal = Terminal::of_standard_input().filter(|_| runs);
    let lists = options.lists;
    let directory = open_directory(options.directory.as_deref())?;
    let own = [io::stdin().as_fd(), io::stdout().as_fd(), io::stderr().as_fd()].map(|stream| {
        match &terminal {
            Some(terminal) => terminal.stand_in_for(stream),
            None => stream.try_clone_to_owned(),
        }
    });
    let mut lent = vec![directory];
    for stream in own {
        lent.push(stream.map_err(said("standard streams"))?);
    }
    let message = request(options, terminal.is_some()).to_json().to_string();
    unix_socket::send(&server, message.as_bytes(), &lent).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => "the arguments and variables are too long".to_string(),
            _ => format!("cannot ask: {error}"),
        }
    })?;
    drop(lent);
    if let Some(terminal) = &mut terminal {
        terminal.is_lent();
    }
    let outcome = follow(&server, &signals, terminal.as_mut());
    // Also where it failed: a terminal must not stay as it is now.
    drop(terminal);
    match outcome.map_err(said("cannot wait"))? {
        Outcome::Exited(code) => Ok(code),
        Outcome::Signalled(number) => {
            signal::die_of(number);
            Ok(128 + number)
        }
        Outcome::Refused(why) => Err(why),
        Outcome::Allowed if lists => {
            println!("You may run anything as anybody, without a password.");
            Ok(0)
        }
        Outcome::Allowed => Ok(0),
    }
}

fn request(options: Options, has_terminal: bool) -> Elevation {
    let env = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| !key.is_empty())
        .collect();
    Elevation {
        how: options.how,
        user: options.user,
        argv: options.argv,
        env,
        set: options.set,
        keep: options.keep,
        keeps_all: options.keeps_all,
        sets_home: options.sets_home,
        has_terminal,
    }
}

/// The program shall start where this one is, however that place is called, or no longer is.
fn open_directory(asked: Option<&str>) -> Result<OwnedFd, String> {
    let opened = path::open_directory(HERE, asked.unwrap_or("."), 0);
    match asked {
        Some(path) => opened.map_err(|error| format!("{path}: {error}")),
        None => opened.or_else(|_| path::open_directory(HERE, "/", 0)).map_err(|e| e.to_string()),
    }
}

/// Until the program's end: its signals in, its terminal both ways.
fn follow(
    server: &OwnedFd,
    signals: &Signals,
    mut terminal: Option<&mut Terminal>,
) -> io::Result<Outcome> {
    let mut epoll = Epoll::new()?;
    epoll.add(server, epoll::READABLE, FROM_SERVE)?;
    epoll.add(signals, epoll::READABLE, FROM_SIGNALS)?;
    let mut events = Vec::new();
    loop {
        if let Some(terminal) = &mut terminal {
            terminal.watch(&epoll, FROM_TERMINAL)?;
        }
        epoll.wait(None, &mut events)?;
        for event in &events {
            match (event.token, &mut terminal) {
                (FROM_SERVE, terminal) => {
                    let outcome = hear(server)?;
                    if let Some(terminal) = terminal {
                        terminal.finish();
                    }
                    return Ok(outcome);
                }
                (FROM_SIGNALS, Some(terminal)) => pass_on(server, signals, Some(terminal)),
                (FROM_SIGNALS, None) => pass_on(server, signals, None),
                (_, Some(terminal)) => terminal.carry(),
                _ => {}
            }
        }
    }
}

fn hear(server: &OwnedFd) -> io::Result<Outcome> {
    let mut bytes = vec![0; MOST_BYTES];
    let (length, _) = unix_socket::receive(server, &mut bytes)?;
    let odd = || io::Error::other("the sandbox's first process did not answer");
    Outcome::parse(&bytes[..length]).map_err(|_| odd())
}

fn pass_on(server: &OwnedFd, signals: &Signals, terminal: Option<&mut Terminal>) {
    let mut terminal = terminal;
    while let Some(arrival) = signals.next() {
        match (&mut terminal, arrival.signal) {
            (Some(terminal), libc::SIGWINCH) => terminal.take_size(),
            (_, number) => {
                let message = signal_json(&signal::name(number)).to_string();
                let _ = unix_socket::tell(server, message.as_bytes());
                if number == libc::SIGTSTP {
                    process::stop_here();
                }
            }
        }
    }
}
