//! Empty filesystems, formatted once for each size and copied for each sandbox.

use super::{FOLDERS, Size};
use crate::sys::{share, sparse};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// hold runs without a PATH.
const PROGRAMS: [&str; 4] = ["/usr/sbin/mke2fs", "/sbin/mke2fs", "/usr/bin/mke2fs", "/bin/mke2fs"];
/// Callers choose sizes; what they no longer use must not pile up.
const MOST_TEMPLATES: usize = 16;
/// An empty filesystem is hardly anything. More means that holes cannot be seen here, and
/// copying would take the whole size.
const MOST_DATA: u64 = 64 << 20;

pub fn find(folder: &Path, size: Size) -> io::Result<PathBuf> {
    let template = folder.join(format!(
        "{}-{}{}.ext4",
        size.bytes,
        size.inodes,
        if size.is_durable { "-durable" } else { "" }
    ));
    if !template.exists() {
        make_room(folder)?;
        let draft = folder.join(format!("draft-{}", std::process::id()));
        let content = draft.with_extension("content");
        let outcome = make_content(&content)
            .and_then(|()| format(&draft, &content, size))
            .and_then(|()| fs::rename(&draft, &template));
        let _ = fs::remove_dir_all(content);
        if outcome.is_err() {
            let _ = fs::remove_file(draft);
        }
        outcome?;
    }
    Ok(template)
}

fn make_room(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if fs::read_dir(folder)?.count() >= MOST_TEMPLATES {
        remove_those(folder, |_| true)?;
    }
    Ok(())
}

/// What somebody who died was formatting.
pub fn remove_drafts(folder: &Path) {
    // A folder that is not there has none.
    let _ = remove_those(folder, |path| path.extension().is_none_or(|ending| ending != "ext4"));
}

fn remove_those(folder: &Path, condemns: impl Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match condemns(&path) {
            true if path.is_dir() => fs::remove_dir_all(path)?,
            true => fs::remove_file(path)?,
            false => {}
        }
    }
    Ok(())
}

fn make_content(folder: &Path) -> io::Result<()> {
    for name in FOLDERS {
        DirBuilder::new().recursive(true).mode(0o755).create(folder.join(name))?;
    }
    Ok(())
}

/// Without a journal where the content never outlives the machine's uptime.
fn format(image: &Path, content: &Path, size: Size) -> io::Result<()> {
    let Size { bytes, inodes, is_durable } = size;
    let (features, backups) = match is_durable {
        true => ("^resize_inode", ""),
        // Nobody will ever repair it, and what need not be copied need not be waited for.
        false => ("^has_journal,^resize_inode,sparse_super2", ",num_backup_sb=0"),
    };
    let lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard,packed_meta_blocks=1";
    let program = PROGRAMS.iter().find(|path| Path::new(path).exists());
    let program = program.ok_or_else(|| io::Error::other("mke2fs is not installed"))?;
    File::create(image)?.set_len(bytes)?;
    let output = Command::new(program)
        .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-m", "0"])
        .args(["-O", features])
        .args(["-E", &format!("{lazy}{backups}")])
        .args(["-N", &inodes.to_string(), "-d"])
        .args([content, image])
        .env_clear()
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("mke2fs: {}", said.trim().lines().last().unwrap_or("failed"))))
}

pub enum Copied {
    /// The filesystem shares the blocks of both.
    Shared,
    /// What is not a hole was written, here.
    Written(Vec<Range<u64>>),
}

pub fn copy(template: &Path, to: &File) -> io::Result<Copied> {
    let from = File::open(template)?;
    if share::blocks(from.as_fd(), to.as_fd()).is_ok() {
        return Ok(Copied::Shared);
    }
    to.set_len(from.metadata()?.len())?;
    let mut buffer = vec![0; 64 * 1024];
    let (mut at, mut total, mut copied) = (0, 0, Vec::new());
    while let Some(data) = sparse::next_data(&from, at)? {
        total += data.end - data.start;
        if total > MOST_DATA {
            return Err(io::Error::other("this filesystem hides the holes in files"));
        }
        at = data.start;
        while at < data.end {
            let length = buffer.len().min((data.end - at) as usize);
            from.read_exact_at(&mut buffer[..length], at)?;
            to.write_all_at(&buffer[..length], at)?;
            at += length as u64;
        }
        copied.push(data);
    }
    Ok(Copied::Written(copied))
}
