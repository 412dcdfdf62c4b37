//! Running what somebody asked for as somebody else.

use super::variables;
use crate::serve::Server;
use crate::serve::environment;
use crate::serve::users::{self, User};
use crate::sys::abstract_socket::Peer;
use crate::sys::spawn::{Program, Stage};
use crate::wire::elevation::{DESCRIPTORS, Elevation, How};
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

const SHELL: &str = "/bin/sh";

impl Server {
    /// The program has the caller's own standard streams, so nothing of what it says comes by here.
    pub(super) fn run_for(
        &mut self,
        peer: Peer,
        asked: Elevation,
        user: &User,
        lent: [OwnedFd; DESCRIPTORS],
    ) -> Result<i32, String> {
        environment::check(&asked.env)
            .and_then(|()| environment::check(&asked.set))
            .map_err(|failure| failure.message)?;
        let caller = users::name_of(peer.uid).unwrap_or_else(|| peer.uid.to_string());
        let variables = variables::of_program(&asked, user, &self.environment, (&caller, peer));
        let [directory, streams @ ..] = lent;
        let directory = match asked.how {
            How::Login => self.working_directory(user, None).map_err(|found| found.message)?,
            _ => directory,
        };
        let words = words(&asked, user);
        let program = words.first().filter(|name| !name.is_empty()).ok_or("nothing to run")?;
        let candidates = environment::candidates(program, &variables);
        let mut argv = words.clone();
        if asked.how == How::Login {
            // As login shells are told that they are one.
            argv[0] = format!("-{}", program.rsplit('/').next().unwrap_or(program));
        }
        let argv = argv.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
        let (identity, capabilities, bounding_drop) = self.identity.for_program(user);
        let order = Program {
            candidates,
            argv: argv.map_err(|_| "an argument holds a NUL")?,
            env: environment::as_c_strings(&variables),
            directory: directory.as_raw_fd(),
            standard_streams: streams.each_ref().map(AsRawFd::as_raw_fd),
            terminal: asked.has_terminal,
            // Whoever asked may go before it ends, and then all of it has to.
            adopts_orphans: true,
            identity,
            capabilities,
            bounding_drop,
        };
        self.spawner.spawn(&order).map_err(|failed| {
            let errno = failed.error.raw_os_error();
            match (failed.stage, errno) {
                (Stage::Execute, Some(libc::ENOENT | libc::ENOTDIR)) => {
                    format!("{program}: command not found")
                }
                _ => format!("{program}: {}", failed.error),
            }
        })
    }
}

/// The program and its arguments.
fn words(asked: &Elevation, user: &User) -> Vec<String> {
    let chosen = match asked.how {
        How::Login => Some(&user.shell),
        How::Shell => asked.env.get("SHELL"),
        How::Command | How::Ask => return asked.argv.clone(),
    };
    let shell = chosen.filter(|path| path.starts_with('/')).map_or(SHELL, String::as_str);
    let mut words = vec![shell.to_string()];
    if !asked.argv.is_empty() {
        let escaped: Vec<String> = asked.argv.iter().map(|word| escape(word)).collect();
        words.extend(["-c".to_string(), escaped.join(" ")]);
    }
    words
}

/// So that a shell takes it as one word; variables in it are the shell's to fill in.
fn escape(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-$".contains(letter);
    word.chars()
        .flat_map(|letter| (!is_plain(letter)).then_some('\\').into_iter().chain([letter]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn words_stay_words_in_a_shell() {
        assert_eq!(escape("a b;c"), "a\\ b\\;c");
        assert_eq!(escape("$HOME/x-y_z"), "$HOME\\/x-y_z");
    }
}
