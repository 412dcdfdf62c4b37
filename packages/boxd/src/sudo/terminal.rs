//! A terminal for the program. It cannot have the caller's, which belongs to another session, so
//! it gets one of its own, and what is typed and shown is carried between the two.

use crate::sys::descriptor;
use crate::sys::epoll::{self, Epoll};
use crate::sys::tty::{self, Settings};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

const CHUNK: usize = 16 * 1024;
const LINGER: Duration = Duration::from_millis(200);

pub struct Terminal {
    /// The side that the program does not see, until everybody there is gone.
    ours: Option<OwnedFd>,
    /// The other one, until it has been lent.
    theirs: Option<OwnedFd>,
    before: Settings,
    /// Typed, and not taken yet.
    typed: Vec<u8>,
    is_typing_over: bool,
    watched: Option<(u32, bool)>,
}

impl Terminal {
    pub fn of_standard_input() -> Option<Terminal> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = Settings::of(&stdin).ok()?;
        let (cols, rows) = tty::size(&stdin).ok()?;
        let (ours, theirs) = tty::open_pair(cols, rows).ok()?;
        before.apply(&theirs).ok()?;
        descriptor::set_nonblocking(&ours).ok()?;
        // From here on every key goes to the program's terminal, which knows what it means.
        before.raw().apply(&stdin).ok()?;
        let (typed, is_typing_over, watched) = (Vec::new(), false, None);
        let (ours, theirs) = (Some(ours), Some(theirs));
        Some(Terminal { ours, theirs, before, typed, is_typing_over, watched })
    }

    /// What the program gets for a stream: the terminal for a terminal, the stream for a file.
    pub fn stand_in_for(&self, stream: BorrowedFd) -> io::Result<OwnedFd> {
        match &self.theirs {
            Some(theirs) if stream.is_terminal() => theirs.try_clone(),
            _ => stream.try_clone_to_owned(),
        }
    }

    /// The program has it now, and its end is to be seen here.
    pub fn is_lent(&mut self) {
        self.theirs = None;
    }

    pub fn take_size(&mut self) {
        if let (Ok((cols, rows)), Some(ours)) = (tty::size(io::stdin()), &self.ours) {
            let _ = tty::resize(ours, cols, rows);
        }
    }

    /// Waits for what can be carried now.
    pub fn watch(&mut self, epoll: &Epoll, token: u64) -> io::Result<()> {
        let Some(ours) = &self.ours else {
            return Ok(());
        };
        let to_program = if self.typed.is_empty() { 0 } else { epoll::WRITABLE };
        let is_listening = self.typed.is_empty() && !self.is_typing_over;
        let wanted = (epoll::READABLE | to_program, is_listening);
        match self.watched {
            None => epoll.add(ours, wanted.0, token)?,
            Some(watched) if watched.0 != wanted.0 => epoll.modify(ours, wanted.0, token)?,
            _ => {}
        }
        match (self.watched.is_some_and(|watched| watched.1), is_listening) {
            (false, true) => epoll.add(io::stdin(), epoll::READABLE, token)?,
            (true, false) => epoll.remove(io::stdin()),
            _ => {}
        }
        self.watched = Some(wanted);
        Ok(())
    }

    /// As much as there is, in both directions.
    pub fn carry(&mut self) {
        self.drain();
        let mut typed = [0; CHUNK];
        if self.typed.is_empty() && !self.is_typing_over && tty::has_input(io::stdin(), 0) {
            match descriptor::read(io::stdin(), &mut typed) {
                Ok(count @ 1..) => self.typed.extend(&typed[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.is_typing_over = true,
            }
        }
        if let (Some(ours), false) = (&self.ours, self.typed.is_empty())
            && let Ok(count) = descriptor::write(ours, &self.typed)
        {
            self.typed.drain(..count);
        }
    }

    /// The program is over. The kernel may still be carrying what it wrote last; those who are
    /// left behind by it are not waited for.
    pub fn finish(&mut self) {
        let patience = Instant::now() + LINGER;
        while let Some(ours) = &self.ours {
            let left = patience.saturating_duration_since(Instant::now());
            if left.is_zero() || !tty::has_input(ours, left.as_millis() as i32 + 1) {
                return;
            }
            self.drain();
        }
    }

    /// What the program has shown so far.
    fn drain(&mut self) {
        let mut shown = [0; CHUNK];
        while let Some(ours) = &self.ours {
            match descriptor::read(ours, &mut shown) {
                Ok(count @ 1..) => show(&shown[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody has the other side open any more.
                _ => self.ours = None,
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.before.apply(io::stdin());
    }
}

/// On the caller's terminal, by whichever stream leads there.
fn show(mut bytes: &[u8]) {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [stdout.as_fd(), stderr.as_fd(), stdin.as_fd()];
    let Some(screen) = streams.into_iter().find(|stream| stream.is_terminal()) else {
        return;
    };
    while !bytes.is_empty() {
        match descriptor::write(screen, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
