//! boxd, the native daemon of sand-boxer.

mod arguments;
mod cgroup;
mod disk;
mod hold;
mod relay;
mod seccomp;
mod serve;
mod setup;
mod sys;
mod tar;
mod tree;
mod wire;

use arguments::Command;

const EXIT_USAGE: i32 = 2;

fn main() {
    sys::memory::give_back_what_is_free();
    let outcome = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Command::Hold(options)) => {
            hold::run(&options).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Ok(Command::Serve(options)) => serve::run(&options).map_err(|message| (1, message)),
        Ok(Command::Relay(options)) => relay::run(&options).map_err(|message| (1, message)),
        Ok(Command::Version) => {
            println!("boxd {} protocol {}", wire::VERSION, wire::PROTOCOL);
            Ok(())
        }
        Ok(Command::Help) => {
            print!("{}", arguments::HELP);
            Ok(())
        }
        Err(message) => Err((EXIT_USAGE, message)),
    };
    if let Err((code, message)) = outcome {
        eprintln!("boxd: {message}");
        std::process::exit(code);
    }
}
