//! How much a sandbox's tmpfs mounts may hold. They are memory, taken only as they are filled,
//! and counted in the sandbox's own; filled to the brim they still leave it room to work.

use crate::wire::limits::Limits;
use std::ffi::CString;

const MOST_SHARED: u64 = 256 << 20;
const MOST_EACH: u64 = 1 << 30;

pub fn shared_memory(limits: &Limits) -> CString {
    size(MOST_SHARED, limits.memory_bytes.map(|bytes| bytes / 4))
}

/// `count` of them share half of the memory.
pub fn each_of(count: usize, limits: &Limits) -> CString {
    size(MOST_EACH, limits.memory_bytes.map(|bytes| bytes / 2 / count.max(1) as u64))
}

/// In whole pages: the kernel takes 0 for "no limit at all".
fn size(most: u64, share: Option<u64>) -> CString {
    let bytes = share.map_or(most, |share| share.min(most)).max(4096);
    CString::new(bytes.to_string()).expect("digits have no NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_never_hold_more_than_the_memory_there_is() {
        let of = |bytes| Limits { memory_bytes: bytes, ..Limits::default() };
        assert_eq!(each_of(1, &of(None)), c"1073741824".to_owned());
        assert_eq!(each_of(2, &of(Some(64 << 20))), c"16777216".to_owned());
        assert_eq!(shared_memory(&of(Some(64 << 20))), c"16777216".to_owned());
        assert_eq!(each_of(0, &of(Some(1 << 40))), c"1073741824".to_owned());
    }
}
