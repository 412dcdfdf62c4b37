//! A disk's file written once more, where two files cannot share their blocks: all of it that is
//! not a hole.

use crate::sys::sparse;
use std::fs::File;
use std::io;

/// As much as is copied before `goes_on` is asked again.
const STEP: u64 = 8 << 20;

pub fn duplicate(from: &File, to: &File, goes_on: impl Fn() -> io::Result<()>) -> io::Result<()> {
    to.set_len(from.metadata()?.len())?;
    let mut at = 0;
    while let Some(data) = sparse::next_data(from, at)? {
        at = data.start;
        while at < data.end {
            goes_on()?;
            at += sparse::copy(from, to, at..data.end.min(at + STEP))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_copy_is_the_same_and_has_the_same_holes() {
        let folder = std::env::temp_dir().join(format!("boxd-duplicate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name| {
            let mut options = File::options();
            options.read(true).write(true).create_new(true).open(folder.join(name)).unwrap()
        };
        let (from, to, given_up) = (file("from"), file("to"), file("given-up"));
        from.set_len(256 << 20).unwrap();
        for at in [0, 40 << 20, (256 << 20) - 4096] {
            from.write_all_at(&[at as u8 + 1; 4096], at).unwrap();
        }
        from.write_all_at(&vec![7; 20 << 20], 100 << 20).unwrap();
        duplicate(&from, &to, || Ok(())).unwrap();
        assert_eq!(to.metadata().unwrap().len(), 256 << 20);
        let read = |file: &File| {
            let mut bytes = vec![0; 256 << 20];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        assert!(read(&from) == read(&to));
        to.sync_all().unwrap();
        assert!(to.metadata().unwrap().blocks() * 512 < 32 << 20, "holes stay holes");
        let stopped = duplicate(&from, &given_up, || Err(io::Error::other("not wanted any more")));
        assert!(stopped.is_err(), "nobody wants it any more");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
