//! What nobody can foresee.

/// Any number; zero where the kernel has none to give, which only the first moments of a machine see.
pub fn number() -> u16 {
    let mut number: u16 = 0;
    // SAFETY: writes two bytes at most, which is what there is.
    unsafe { libc::getrandom((&raw mut number).cast(), size_of_val(&number), libc::GRND_NONBLOCK) };
    number
}
