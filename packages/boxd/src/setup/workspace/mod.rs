//! A folder of the host inside a sandbox: which one may be shown, to whom it belongs there, and
//! where what the sandbox writes goes.

mod lineage;
mod mount;
mod pin;
pub mod sensitive;
mod view;

pub use mount::{Layers, mount};
pub use pin::Pinned;
pub use view::{of_range, of_volume};

/// The folder on a sandbox's disk that holds the layer of its workspace.
pub const LAYER: &str = "workspace";
