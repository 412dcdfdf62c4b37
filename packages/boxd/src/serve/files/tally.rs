//! How much of an archive there has been, against how much there may be.

use crate::wire::failure::{Code, Failure};
use crate::wire::file_request::Limits;

pub struct Tally {
    pub limits: Limits,
    pub entries: u64,
    /// By what its headers say, which comes before any of it.
    pub bytes: u64,
}

impl Tally {
    pub fn against(limits: Limits) -> Tally {
        Tally { limits, entries: 0, bytes: 0 }
    }

    /// One entry more, of that size.
    pub fn count(&mut self, size: u64) -> Result<(), Failure> {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(size);
        let too_much = |most: u64, what: &str| {
            Err(Failure::new(
                Code::StorageFull,
                format!("the archive holds more than {most} {what}"),
            ))
        };
        match self.limits {
            Limits { entries, .. } if self.entries > entries => too_much(entries, "entries"),
            Limits { bytes, .. } if self.bytes > bytes => too_much(bytes, "bytes"),
            _ => Ok(()),
        }
    }
}
