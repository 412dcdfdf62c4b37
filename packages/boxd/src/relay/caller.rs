//! Which program made a connection, as far as it can be seen from here. It tells programs apart, not
//! people: whoever may start a program may also make it do something else.

use std::fs;
use std::path::PathBuf;

/// Processes and open files that are looked at for one connection. Beyond, it is anybody's.
const MOST_PROCESSES: usize = 256;
const MOST_FILES: usize = 2048;

#[derive(Default)]
pub struct Caller {
    /// The processes of the sandbox, and nobody else's, as its own first process sees them.
    processes: Option<PathBuf>,
}

impl Caller {
    /// Beside this process of the sandbox are all others.
    pub fn look_beside(&mut self, process: Option<i32>) {
        if let Some(process) = process {
            self.processes = Some(format!("/proc/{process}/root/proc").into());
        }
    }

    /// The program of those who have this socket open; nothing where that is none, or several.
    pub fn program_with(&self, inode: u32) -> Option<String> {
        let processes = self.processes.as_ref()?;
        let wanted = PathBuf::from(format!("socket:[{inode}]"));
        let mut found: Option<PathBuf> = None;
        let mut looked = 0;
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let entries = fs::read_dir(processes).ok()?.filter_map(Result::ok);
        let numbered = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_number));
        for (count, process) in numbered.enumerate() {
            if count >= MOST_PROCESSES {
                return None;
            }
            let Ok(files) = fs::read_dir(process.path().join("fd")) else {
                continue;
            };
            // What was opened last is most likely what is looked for.
            let files: Vec<_> = files.filter_map(Result::ok).take(MOST_FILES + 1).collect();
            let mut has_it = false;
            for file in files.iter().rev() {
                looked += 1;
                if looked > MOST_FILES {
                    return None;
                }
                has_it = fs::read_link(file.path()).is_ok_and(|link| link == wanted);
                if has_it {
                    break;
                }
            }
            if !has_it {
                continue;
            }
            let program = fs::read_link(process.path().join("exe")).ok()?;
            match &found {
                Some(other) if *other != program => return None,
                _ => found = Some(program),
            }
        }
        found?.into_os_string().into_string().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_socket_leads_to_the_program_that_has_it() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let name = link.to_str().unwrap();
        let inode = name["socket:[".len()..name.len() - 1].parse().unwrap();
        let mut caller = Caller::default();
        assert_eq!(caller.program_with(inode), None);
        caller.processes = Some(alone_with_us());
        let own = fs::read_link("/proc/self/exe").unwrap();
        assert_eq!(caller.program_with(inode).as_deref(), own.to_str());
        assert_eq!(caller.program_with(1), None);
    }

    /// A folder in which this process is the only one.
    fn alone_with_us() -> PathBuf {
        let own = std::process::id();
        let folder = std::env::temp_dir().join(format!("boxd-caller-{own}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(format!("/proc/{own}"), folder.join(own.to_string())).unwrap();
        folder
    }
}
