//! Empty filesystems, formatted once for each size and copied for each sandbox.

use crate::sys::sparse;
use std::fs::{self, DirBuilder, File};
use std::io;
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

pub fn find(folder: &Path, bytes: u64, inodes: u64) -> io::Result<PathBuf> {
    let template = folder.join(format!("{bytes}-{inodes}.ext4"));
    if !template.exists() {
        make_room(folder)?;
        let draft = folder.join("draft");
        format(&draft, bytes, inodes)?;
        fs::rename(draft, &template)?;
    }
    Ok(template)
}

fn make_room(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if fs::read_dir(folder)?.count() >= MOST_TEMPLATES {
        for entry in fs::read_dir(folder)? {
            fs::remove_file(entry?.path())?;
        }
    }
    Ok(())
}

/// Without a journal: the content never outlives the machine's uptime.
fn format(image: &Path, bytes: u64, inodes: u64) -> io::Result<()> {
    let program = PROGRAMS.iter().find(|path| Path::new(path).exists());
    let program = program.ok_or_else(|| io::Error::other("mke2fs is not installed"))?;
    File::create(image)?.set_len(bytes)?;
    let output = Command::new(program)
        .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-m", "0"])
        .args(["-O", "^has_journal,^resize_inode"])
        .args(["-E", "lazy_itable_init=1,nodiscard,packed_meta_blocks=1"])
        .args(["-N", &inodes.to_string()])
        .arg(image)
        .env_clear()
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("mke2fs: {}", said.trim().lines().last().unwrap_or("failed"))))
}

/// Copies what is not a hole.
pub fn copy(template: &Path, to: &File) -> io::Result<()> {
    let from = File::open(template)?;
    to.set_len(from.metadata()?.len())?;
    let mut buffer = vec![0; 64 * 1024];
    let (mut at, mut total) = (0, 0);
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
    }
    Ok(())
}
