//! Starting programs.

use super::Server;
use super::acting::ActingAs;
use super::environment;
use super::files::place;
use super::input::Input;
use super::process::{Output, Process};
use super::source::Source;
use super::users::{self, User};
use crate::sys::path::{self, HERE, NO_MAGIC};
use crate::sys::spawn::{Program, SpawnError, Stage};
use crate::sys::{descriptor, epoll, time, tty};
use crate::wire::failure::{Code, Failure};
use crate::wire::serve_request::{Exec, Size};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The ends of a program's standard streams.
struct Plumbing {
    theirs: [OwnedFd; 3],
    outputs: [Option<OwnedFd>; 2],
    input: Option<OwnedFd>,
}

impl Server {
    /// Starts what is asked for and returns its number.
    pub fn exec(&mut self, request: Exec) -> Result<u32, Failure> {
        let user = users::find(request.user.as_deref(), self.identity)?;
        environment::check(&request.env)?;
        let argv = request
            .argv
            .iter()
            .map(|argument| CString::new(argument.as_str()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Failure::invalid("an argument holds a NUL"))?;
        let Some(name) = request.argv.first().filter(|name| !name.is_empty()) else {
            return Err(Failure::invalid("argv names no program"));
        };
        let has_terminal = request.pty.is_some();
        let variables = environment::compose(&user, &self.environment, &request.env, has_terminal);
        let directory = self.working_directory(&user, request.cwd.as_deref())?;
        let plumbing = self
            .plumb(&user, request.pty.as_ref(), request.stdin)
            .map_err(|error| Failure::internal("standard streams", error))?;
        let (identity, capabilities, bounding_drop) = self.identity.for_program(&user);
        let program = Program {
            candidates: environment::candidates(name, &variables),
            env: environment::as_c_strings(&variables),
            directory: directory.as_raw_fd(),
            standard_streams: [0, 1, 2].map(|number: usize| plumbing.theirs[number].as_raw_fd()),
            terminal: has_terminal,
            adopts_orphans: request.timeout_ms.is_some(),
            argv,
            identity,
            capabilities,
            bounding_drop,
        };
        let pid = self.spawner.spawn(&program).map_err(|error| explain(name, &request, error))?;
        let deadline = request
            .timeout_ms
            .and_then(|timeout| Instant::now().checked_add(Duration::from_millis(timeout)));
        let outputs = plumbing.outputs.map(|source| Output { source, ..Output::default() });
        let number = self.processes.insert(Process {
            pid,
            argv: request.argv,
            attachment: request.attachment,
            started_at_ms: time::now_ms(),
            outputs,
            input: plumbing.input.map(Input::to).unwrap_or_default(),
            has_terminal,
            deadline,
            is_timed_out: false,
            exit: None,
            linger: None,
            readers: BTreeMap::new(),
        });
        self.update_output_interest(number);
        Ok(number)
    }

    pub fn working_directory(&self, user: &User, asked: Option<&str>) -> Result<OwnedFd, Failure> {
        // Where there is a project, commands are about it.
        let project = self.workspace.as_ref().map(|workspace| &workspace.target);
        let _acting = ActingAs::user(user, self.identity)
            .map_err(|error| Failure::internal("cannot act as the user", error))?;
        if let (None, None, Some(usual)) = (asked, project, &self.directory)
            && let Ok(found) = path::open_directory(HERE, usual, NO_MAGIC)
            && path::open_directory(found.as_fd(), ".", 0).is_ok()
        {
            return Ok(found);
        }
        let path = place::absolute(asked.unwrap_or(project.unwrap_or(&user.home)), user)?;
        path::open_directory(HERE, &path, NO_MAGIC)
            .map_err(|error| Failure::about_path(format!("working directory {path}"), &error))
    }

    fn plumb(&self, user: &User, pty: Option<&Size>, stdin: bool) -> io::Result<Plumbing> {
        if let Some(size) = pty {
            // A terminal belongs to who opens it.
            let acting = ActingAs::user(user, self.identity)?;
            let (ours, theirs) = tty::open_pair(size.cols, size.rows)?;
            drop(acting);
            let input = Some(ours.try_clone()?);
            let theirs = [theirs.try_clone()?, theirs.try_clone()?, theirs];
            return Ok(Plumbing { theirs, outputs: [Some(ours), None], input });
        }
        let (input, their_input) = if stdin {
            let (theirs, ours) = descriptor::pipe()?;
            descriptor::set_nonblocking(&ours)?;
            (Some(ours), theirs)
        } else {
            (None, self.nowhere.try_clone()?)
        };
        let (stdout, their_stdout) = descriptor::pipe()?;
        let (stderr, their_stderr) = descriptor::pipe()?;
        descriptor::set_nonblocking(&stdout)?;
        descriptor::set_nonblocking(&stderr)?;
        let theirs = [their_input, their_stdout, their_stderr];
        Ok(Plumbing { theirs, outputs: [Some(stdout), Some(stderr)], input })
    }

    /// Listens to a process exactly as long as there is room for what it says.
    pub fn update_output_interest(&mut self, number: u32) {
        let Some(process) = self.processes.get_mut(number) else {
            return;
        };
        for channel in 0..2 {
            let wanted = process.room(channel) > 0;
            let output = &mut process.outputs[channel];
            let Some(source) = &output.source else {
                continue;
            };
            if wanted && !output.is_watched {
                let token = Source::Output { process: number, channel }.token();
                output.is_watched = self.epoll.add(source, epoll::READABLE, token).is_ok();
            } else if !wanted && output.is_watched {
                self.epoll.remove(source);
                output.is_watched = false;
            }
        }
    }
}

/// The kernel's refusal in the words of the protocol.
fn explain(name: &str, request: &Exec, SpawnError { stage, error }: SpawnError) -> Failure {
    let errno = error.raw_os_error().unwrap_or(0);
    let code = match (stage, errno) {
        (Stage::Execute, libc::ENOENT | libc::ENOTDIR) => {
            return Failure::new(Code::CommandNotFound, format!("{name}: command not found"));
        }
        (Stage::Execute, libc::E2BIG | libc::ENAMETOOLONG) => Code::InvalidRequest,
        (
            Stage::Prepare | Stage::Execute,
            libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EAGAIN,
        ) => Code::Exhausted,
        (Stage::Execute, _) => Code::CommandNotExecutable,
        (Stage::Directory, _) => {
            let cwd = request.cwd.as_deref().unwrap_or("home");
            return Failure::about_path(format!("working directory {cwd}"), &error);
        }
        (Stage::Identity, libc::EINVAL) => Code::NoSuchUser,
        (Stage::Identity | Stage::Prepare, _) => Code::Internal,
    };
    Failure::new(code, format!("{name}: {error}"))
}
