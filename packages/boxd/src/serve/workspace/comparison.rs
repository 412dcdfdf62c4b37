//! Whether two files hold the same, a slice at a time.

use std::fs::File;
use std::io::{self, Read};

/// How much is compared in one step.
const SLICE: u64 = 256 * 1024;

pub struct Comparison {
    files: [File; 2],
}

impl Comparison {
    pub fn of(files: [File; 2]) -> Comparison {
        Comparison { files }
    }

    /// None while it is not known yet.
    pub fn step(&mut self) -> io::Result<Option<bool>> {
        let mut read = |index: usize| {
            let mut bytes = Vec::new();
            let file: &mut File = &mut self.files[index];
            file.take(SLICE).read_to_end(&mut bytes).map(|_| bytes)
        };
        let (one, other) = (read(0)?, read(1)?);
        let is_over = one != other || one.is_empty();
        Ok(is_over.then_some(one == other))
    }
}
