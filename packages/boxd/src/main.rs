//! boxd, the native daemon of sand-boxer.

mod apply;
mod arguments;
mod cgroup;
mod disk;
mod hold;
mod mirror;
mod relay;
mod seccomp;
mod serve;
mod setup;
mod sudo;
mod sys;
mod tar;
mod text;
mod tree;
mod unpack;
mod wire;

use arguments::Command;

const EXIT_USAGE: i32 = 2;

fn main() {
    let mut arguments = std::env::args_os();
    if sudo::is_called_by(arguments.next()) {
        std::process::exit(sudo::run(arguments));
    }
    sys::memory::give_back_what_is_free();
    let outcome = match arguments::parse(arguments) {
        Ok(Command::Hold(options)) => {
            hold::run(&options).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Ok(Command::Apply(options)) => apply::run(&options).map_err(|message| (1, message)),
        Ok(Command::Mirror(options)) => mirror::run(&options).map_err(|message| (1, message)),
        Ok(Command::Unpack(options)) => unpack::run(&options).map_err(|message| (1, message)),
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
