//! Some of the folder as an archive, with names that say what is gone.

use super::told;
use crate::apply::host;
use crate::apply::host::STRICT;
use crate::apply::target::Target;
use crate::serve::archive_path;
use crate::sys::path;
use crate::tar::{Entry, Kind, writer};
use crate::wire::failure::Failure;
use crate::wire::fields::Fields;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MOST_DEPTH: usize = 256;
const SLICE: usize = 256 * 1024;

/// Whose everything is inside, and the folder that it is in there.
struct Owner {
    uid: u32,
    gid: u32,
    prefix: PathBuf,
}

pub fn run(mut fields: Fields) -> Result<(), Failure> {
    let target = Target::pinned(&mut fields)?;
    let mut owner = fields.object("owner")?;
    let prefix = fields.text_if_any("prefix")?.unwrap_or_else(|| ".".to_string());
    let prefix = archive_path::checked(prefix.as_bytes(), MOST_DEPTH)?;
    let owner = Owner { uid: owner.small("uid")?, gid: owner.small("gid")?, prefix };
    let mut out = BufWriter::with_capacity(SLICE, io::stdout().lock());
    if !owner.prefix.as_os_str().is_empty() {
        told(write_folder(&mut out, &owner))?;
    }
    for path in checked(fields.texts("gone")?)? {
        told(write_gone(&mut out, &owner.prefix.join(path)))?;
    }
    for path in checked(fields.texts("paths")?)? {
        write_one(&mut out, &target, &path, &owner)
            .map_err(|error| Failure::about_path(path.display(), &error))?;
    }
    let mut end = Vec::new();
    writer::end(&mut end);
    told(out.write_all(&end).and_then(|()| out.flush()))
}

fn checked(paths: Vec<String>) -> Result<Vec<PathBuf>, Failure> {
    paths.into_iter().map(|path| archive_path::checked(path.as_bytes(), MOST_DEPTH)).collect()
}

fn write_folder(out: &mut impl Write, owner: &Owner) -> io::Result<()> {
    let mut path = owner.prefix.as_os_str().as_bytes().to_vec();
    path.push(b'/');
    let mut header = Vec::new();
    writer::begin(&mut header, &Entry { path, mode: 0o755, ..empty(Kind::Directory, owner) });
    out.write_all(&header)
}

fn write_gone(out: &mut impl Write, path: &Path) -> io::Result<()> {
    let mut name = OsString::from(".wh.");
    name.push(path.file_name().unwrap_or_default());
    let path = path.with_file_name(name).as_os_str().as_bytes().to_vec();
    let entry =
        Entry { path, ..empty(Kind::File, &Owner { uid: 0, gid: 0, prefix: PathBuf::new() }) };
    let mut header = Vec::new();
    writer::begin(&mut header, &entry);
    out.write_all(&header)
}

fn write_one(out: &mut impl Write, target: &Target, path: &Path, owner: &Owner) -> io::Result<()> {
    let root = target.root.as_fd();
    // It was listed, and is gone or another thing by now; the next comparison says so.
    let Ok(Some(thing)) = host::at(root, path) else {
        return Ok(());
    };
    let kind = match thing.kind() {
        libc::S_IFDIR => Kind::Directory,
        libc::S_IFLNK => Kind::SymbolicLink,
        libc::S_IFREG => Kind::File,
        _ => return Ok(()),
    };
    let mut entry = empty(kind, owner);
    entry.path = owner.prefix.join(path).as_os_str().as_bytes().to_vec();
    entry.mode = thing.mode() & 0o777;
    entry.mtime = thing.found.st_mtime;
    let mut content = None;
    match kind {
        Kind::Directory => entry.path.push(b'/'),
        Kind::SymbolicLink => {
            entry.target = path::read_link(thing.handle.as_fd(), "")?.as_bytes().to_vec();
        }
        _ => {
            let flags = libc::O_RDONLY | libc::O_NONBLOCK;
            let Ok(file) = path::open(root, path, flags, 0, STRICT) else {
                return Ok(());
            };
            let found = path::stat(file.as_fd(), "")?;
            if found.st_mode & libc::S_IFMT != libc::S_IFREG {
                return Ok(());
            }
            (entry.size, entry.mtime) = (found.st_size.max(0) as u64, found.st_mtime);
            content = Some(File::from(file));
        }
    }
    let mut header = Vec::new();
    writer::begin(&mut header, &entry);
    out.write_all(&header)?;
    if let Some(file) = content {
        // As many bytes as were announced, whatever becomes of the file meanwhile.
        let copied = io::copy(&mut file.take(entry.size), out)?;
        io::copy(&mut io::repeat(0).take(entry.size - copied), out)?;
        let mut rest = Vec::new();
        writer::pad(&mut rest, entry.size);
        out.write_all(&rest)?;
    }
    Ok(())
}

fn empty(kind: Kind, owner: &Owner) -> Entry {
    Entry {
        path: Vec::new(),
        target: Vec::new(),
        kind,
        mode: 0,
        uid: owner.uid,
        gid: owner.gid,
        mtime: 0,
        size: 0,
        was_there: false,
    }
}
