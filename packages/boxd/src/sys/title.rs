//! What process listings show of this process.

use libc::c_char;

unsafe extern "C" {
    /// glibc's name for argv[0], at the place where the kernel put it.
    static program_invocation_name: *mut c_char;
}

/// Writes `title` over the arguments that this process was started with, as far as it fits.
pub fn set(title: &str) {
    // The kernel lays the arguments out one behind another, each with its NUL.
    let room: usize = std::env::args_os().map(|argument| argument.len() + 1).sum();
    // The last byte stays NUL, or the kernel would go on reading.
    let length = title.len().min(room.saturating_sub(1));
    // SAFETY: the arguments are ours to write, `room` bytes from argv[0] on; nothing in this
    // process keeps a reference into them, because std hands out copies.
    unsafe {
        let start = program_invocation_name.cast::<u8>();
        start.write_bytes(0, room);
        start.copy_from_nonoverlapping(title.as_ptr(), length);
    }
}
