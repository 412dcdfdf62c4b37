//! How the allocator treats memory.

/// Gives back every free page at once.
pub fn give_back_now() {
    // SAFETY: touches only memory that the allocator knows to be free.
    unsafe { libc::malloc_trim(0) };
}

/// Where /proc/self/stat tells the first and the last address of the arguments, counted behind
/// the program's name.
const ARGUMENTS_AT: usize = 45;

/// Replaces what everybody can read as this process's command line. Nothing of it may be used
/// afterwards, `std::env::args` included.
pub fn hide_arguments(instead: &[u8]) -> std::io::Result<()> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let mut addresses = fields.split(' ').skip(ARGUMENTS_AT).map(str::parse::<usize>);
    let (Some(Ok(start)), Some(Ok(end))) = (addresses.next(), addresses.next()) else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    if start == 0 || end < start {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let shown = instead.len().min(end - start);
    // SAFETY: the kernel says that the arguments lie there, on the stack it made for us, and
    // nobody has a reference to them.
    unsafe {
        std::ptr::write_bytes(start as *mut u8, 0, end - start);
        std::ptr::copy_nonoverlapping(instead.as_ptr(), start as *mut u8, shown);
    }
    Ok(())
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
