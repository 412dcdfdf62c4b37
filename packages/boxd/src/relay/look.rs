//! A look at the open files of a sandbox's processes, which tells who has which socket. It is taken
//! in steps, so that others have their turn in between, and serves all who wait for it at once.

use super::open_files::OpenFiles;
use crate::sys::path;
use crate::tree::listing;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Processes and open files that are looked at. Beyond, a connection is anybody's.
const MOST_PROCESSES: usize = 256;
const MOST_FILES: usize = 4096;
/// How much of that is one step.
const STEP: usize = 256;
/// So many bytes of a listing at a time.
const NAMES: usize = 2048;

enum Holders {
    Nobody,
    Of(OsString),
    /// Of several programs, or of one that cannot be told.
    Unclear,
}

pub struct Look {
    /// What is looked for, by the kernel's numbers.
    sockets: BTreeMap<u32, Holders>,
    processes: OwnedFd,
    /// Those that are listed and not looked at yet.
    names: Vec<OsString>,
    current: Option<OpenFiles>,
    looked_processes: usize,
    looked_files: usize,
}

impl Look {
    /// At the processes in `processes`, for these sockets.
    pub fn begin(processes: &Path, sockets: impl Iterator<Item = u32>) -> io::Result<Look> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        Ok(Look {
            sockets: sockets.map(|inode| (inode, Holders::Nobody)).collect(),
            processes: path::open(path::HERE, processes, flags, 0, 0)?,
            names: Vec::new(),
            current: None,
            looked_processes: 0,
            looked_files: 0,
        })
    }

    /// Looks at some more; true once there is no more to see.
    pub fn step(&mut self) -> bool {
        let mut left = STEP;
        while left > 0 {
            if self.looked_processes > MOST_PROCESSES || self.looked_files > MOST_FILES {
                self.sockets.clear();
            }
            match self.go_on() {
                Some(cost) => left = left.saturating_sub(cost),
                None => return true,
            }
        }
        false
    }

    /// The program of those who have this socket open; nothing where that is none, or several.
    pub fn program_with(&self, inode: u32) -> Option<String> {
        match self.sockets.get(&inode) {
            Some(Holders::Of(program)) => program.to_str().map(ToString::to_string),
            _ => None,
        }
    }

    /// The next thing, and what it cost; None after the last.
    fn go_on(&mut self) -> Option<usize> {
        if self.sockets.is_empty() {
            return None;
        }
        if let Some(mut files) = self.current.take() {
            if files.is_listed {
                return Some(self.search(files));
            }
            let count = files.list_some(NAMES);
            self.looked_files += count;
            self.current = Some(files);
            return Some(count + 1);
        }
        if let Some(name) = self.names.pop() {
            self.looked_processes += 1;
            // One that has ended meanwhile has nothing open.
            self.current = OpenFiles::of(self.processes.as_fd(), name).ok();
            return Some(4);
        }
        let names = listing::names_within(self.processes.as_fd(), NAMES).ok()??;
        let is_number = |name: &OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        self.names.extend(names.into_iter().map(|one| one.name).filter(is_number));
        Some(4)
    }

    /// Looks at some of its files, the last first: what was opened last is most likely wanted.
    fn search(&mut self, mut files: OpenFiles) -> usize {
        const AT_ONCE: usize = 32;
        for count in 1..=AT_ONCE {
            let has_all = files.held.len() == self.sockets.len();
            if has_all || !files.look_at_one(|inode| self.sockets.contains_key(&inode)) {
                self.conclude(&files);
                return count;
            }
        }
        self.current = Some(files);
        AT_ONCE
    }

    fn conclude(&mut self, files: &OpenFiles) {
        if files.held.is_empty() {
            return;
        }
        let program = files.program(self.processes.as_fd());
        for inode in &files.held {
            let before = self.sockets.remove(inode);
            let now = match (before, &program) {
                (Some(Holders::Nobody), Ok(program)) => Holders::Of(program.clone()),
                (Some(Holders::Of(other)), Ok(program)) if other == *program => Holders::Of(other),
                _ => Holders::Unclear,
            };
            self.sockets.insert(*inode, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn inode_of(socket: &impl AsRawFd) -> u32 {
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let name = link.to_str().unwrap();
        name["socket:[".len()..name.len() - 1].parse().unwrap()
    }

    /// A folder in which this process is the only one, under as many numbers as are asked for.
    fn alone_with_us(name: &str, numbers: usize) -> PathBuf {
        let own = std::process::id();
        let folder = std::env::temp_dir().join(format!("boxd-look-{name}-{own}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for number in 1..=numbers {
            symlink(format!("/proc/{own}"), folder.join(number.to_string())).unwrap();
        }
        folder
    }

    fn look(processes: &Path, sockets: &[u32]) -> (Look, usize) {
        let mut look = Look::begin(processes, sockets.iter().copied()).unwrap();
        let mut steps = 1;
        while !look.step() {
            steps += 1;
        }
        (look, steps)
    }

    #[test]
    fn one_look_leads_from_every_socket_to_the_program_that_has_it() {
        let sockets: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let mut inodes: Vec<_> = sockets.iter().map(inode_of).collect();
        inodes.push(1);
        let folder = alone_with_us("one", 2);
        let own = fs::read_link("/proc/self/exe").unwrap();
        let (look, _) = look(&folder, &inodes);
        fs::remove_dir_all(&folder).unwrap();
        for &inode in &inodes[..3] {
            assert_eq!(look.program_with(inode).as_deref(), own.to_str());
        }
        assert_eq!(look.program_with(1), None, "nobody has it");
        assert_eq!(look.program_with(2), None, "nobody looked for it");
    }

    #[test]
    fn many_files_take_many_steps_and_too_many_are_anybodys() {
        let one = TcpListener::bind("127.0.0.1:0").unwrap();
        let many: Vec<_> = (0..700).map(|_| one.try_clone().unwrap()).collect();
        let last = TcpListener::bind("127.0.0.1:0").unwrap();
        let wanted = [inode_of(&one), inode_of(&last), 1];
        let folder = alone_with_us("many", 1);
        let (seen, steps) = look(&folder, &wanted);
        fs::remove_dir_all(&folder).unwrap();
        assert!(steps > 2, "{steps}");
        assert!(seen.program_with(wanted[0]).is_some() && seen.program_with(wanted[1]).is_some());
        let folder = alone_with_us("too-many", MOST_FILES / many.len() + 1);
        let (lost, _) = look(&folder, &wanted);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(lost.program_with(wanted[0]), None);
    }
}
