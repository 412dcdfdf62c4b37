//! How the allocator treats memory.

/// Gives back every free page at once.
pub fn give_back_now() {
    // SAFETY: touches only memory that the allocator knows to be free.
    unsafe { libc::malloc_trim(0) };
}

/// There is one of these processes per sandbox and most of them wait: what they have used once
/// for a large transfer goes back to the machine.
pub fn give_back_what_is_free() {
    const LARGE: i32 = 32 * 1024;
    // SAFETY: takes no pointers; only the policy for later allocations changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
    }
}
