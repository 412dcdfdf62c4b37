//! All that is in the folder, a line of JSON for each.

use super::told;
use crate::apply::host::STRICT;
use crate::apply::stage::PREFIX;
use crate::apply::target::Target;
use crate::serve::Entry;
use crate::sys::path;
use crate::tree::listing::next_names;
use crate::wire::failure::{Code, Failure};
use crate::wire::fields::Fields;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const MOST_ENTRIES: usize = 1_000_000;

pub fn run(mut fields: Fields) -> Result<(), Failure> {
    let target = Target::pinned(&mut fields)?;
    let mut out = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    let mut pending = vec![PathBuf::new()];
    let mut count = 0;
    while let Some(folder) = pending.pop() {
        let failed = |error| Failure::about_path(target.path.join(&folder).display(), &error);
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let at = if folder.as_os_str().is_empty() { ".".into() } else { folder.clone() };
        let directory = match path::open(target.root.as_fd(), &at, flags, 0, STRICT) {
            Ok(directory) => directory,
            // What is mounted there is not part of it; what went meanwhile is not there.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EXDEV | libc::ENOENT)) => {
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        while let Some(names) = next_names(directory.as_fd()).map_err(failed)? {
            for name in names {
                let is_stage = name.name.as_bytes().starts_with(PREFIX.as_bytes());
                if is_stage && folder.as_os_str().is_empty() {
                    continue;
                }
                let Ok(found) = path::stat(directory.as_fd(), &name.name) else {
                    continue;
                };
                let whole = folder.join(&name.name);
                let entry = Entry::new(&whole, &found, directory.as_fd(), name.name.as_ref());
                told(writeln!(out, "{}", entry.to_json()))?;
                count += 1;
                if count > MOST_ENTRIES {
                    return Err(Failure::new(Code::StorageFull, "more than 1,000,000 files"));
                }
                if found.st_mode & libc::S_IFMT == libc::S_IFDIR {
                    pending.push(whole);
                }
            }
        }
    }
    told(out.flush())
}
