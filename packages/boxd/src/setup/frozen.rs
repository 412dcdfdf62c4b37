//! Layers that were once written by a sandbox, below another one.

use super::workspace::of_range;
use crate::disk::{self, Blank, IMAGE};
use crate::sys::mount::{self, Depth, NO_DEVICES, NO_SUID, READ_ONLY};
use crate::sys::path::HERE;
use crate::wire::failure::Failure;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

pub const UPPER: &str = "upper";

pub struct Frozen {
    pub folder: PathBuf,
    /// Whose ids its files have, where that was a range.
    pub uid_base: Option<u32>,
    /// It is a disk, and the layer a folder on that.
    pub is_disk: bool,
    /// A device that lies over it already.
    pub ready: Option<Blank>,
}

impl Frozen {
    /// How it is named among the layers of a root.
    pub fn name(&self) -> String {
        let place = if self.is_disk { self.folder.clone() } else { self.folder.join(UPPER) };
        place.to_string_lossy().into_owned()
    }

    /// Where the layer is in what `tree` gives.
    pub fn inside(&self) -> &'static str {
        if self.is_disk { "/upper" } else { "" }
    }

    /// hold's part: the layer as a mount in which the one sandbox's ids are the other's.
    pub fn tree(&self, base: u32) -> Result<OwnedFd, Failure> {
        let step = |error: io::Error| Failure::unavailable("shared layer", &error);
        let tree = match (self.is_disk, &self.ready) {
            (true, Some(ready)) => ready.show(),
            (true, None) => disk::show(&self.folder.join(IMAGE)),
            (false, _) => mount::clone_tree(HERE, &self.folder.join(UPPER), Depth::This),
        };
        let tree = tree.map_err(step)?;
        let other = self.uid_base.filter(|own| *own != base);
        let ids = other.map(|own| of_range(own, base)).transpose().map_err(step)?;
        let attributes = READ_ONLY | NO_SUID | NO_DEVICES;
        mount::set_attributes(&tree, Depth::This, attributes, ids.as_ref().map(AsFd::as_fd))
            .map_err(step)?;
        Ok(tree)
    }
}
