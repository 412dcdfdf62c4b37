//! Places where a test may have hold die, to prove that dying there leaves nothing behind.

/// Debug builds only: dies as by `kill -9` at the place that BOXD_DIE_AT names.
pub fn reached(place: &str) {
    if cfg!(debug_assertions) && std::env::var("BOXD_DIE_AT").is_ok_and(|wanted| wanted == place) {
        crate::sys::process::exit_now(137);
    }
}
