//! The name that tells the groups of one folder from all others.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// From the folder's path and its place on disk: two containers may well use the same path.
pub fn of_folder(folder: &Path) -> io::Result<String> {
    let found = fs::metadata(folder)?;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let identity = [found.dev().to_be_bytes(), found.ino().to_be_bytes()].concat();
    for byte in identity.iter().chain(folder.as_os_str().as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Ok(format!("sandboxer-{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_names_of_their_own_that_stay() {
        let name = of_folder(Path::new("/proc")).unwrap();
        assert_eq!(name, of_folder(Path::new("/proc")).unwrap());
        assert_ne!(name, of_folder(Path::new("/sys")).unwrap());
        assert!(of_folder(Path::new("/absent")).is_err());
    }
}
