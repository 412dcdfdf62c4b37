//! What a running sandbox has written, shared with copies of it: where the store shares blocks, its
//! disk is copied in a moment, however much is on it, and the copy is a layer like any other.

use super::failpoint;
use super::layers::{self, MOST_LAYERS};
use super::source::Source;
use super::watch::Hold;
use crate::disk;
use crate::sys::process::{self, Clone};
use crate::sys::{descriptor, epoll, time};
use crate::wire::failure::{Code, Failure};
use serde_json::json;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a layer waits for the first sandbox that lies on it.
const LENT_FOR: Duration = Duration::from_secs(300);

#[derive(Default)]
pub struct Sharing {
    under_way: Vec<Share>,
    /// Layers of which no record tells yet.
    lent: Vec<(String, Instant)>,
    last_number: u32,
}

/// A process that makes the copy, and who waits for it: (client, stream).
struct Share {
    number: u32,
    id: String,
    name: String,
    below: Vec<String>,
    pidfd: OwnedFd,
    waiting: (u32, u32),
}

impl Sharing {
    /// Those that are about to be somebody's.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let now = Instant::now();
        let lent = self.lent.iter().filter(move |(_, until)| *until > now).map(|(name, _)| name);
        lent.chain(self.under_way.iter().map(|share| &share.name))
    }
}

impl Sharing {
    /// A record tells of these from now on.
    pub fn are_taken(&mut self, layers: &[String]) {
        self.lent.retain(|(name, _)| !layers.contains(name));
    }
}

impl Hold {
    /// The answer comes later. The sandbox goes on, and waits only while its disk is copied.
    pub fn share(&mut self, id: &str, waiting: (u32, u32)) -> Result<(), Failure> {
        let refused = |why: &str| Err(Failure::new(Code::Unsupported, why));
        if self.sharing.under_way.iter().any(|share| share.id == id) {
            return Err(Failure::new(Code::Busy, "it is being copied already"));
        }
        let directory = self.folder.of_box(id);
        let layers = self.folder.layers();
        let sandbox = self.settled(id)?;
        let record = &sandbox.record;
        if record.workspace.is_some() || record.setup_layers > 0 {
            return refused("what it wrote is not shared this way");
        }
        if record.layers.len() >= MOST_LAYERS {
            return refused("it lies on too many layers");
        }
        let (below, uid_base) = (record.layers.clone(), record.uid_base);
        let Some(root) = &sandbox.disk else {
            return refused("it has no disk of its own, or an earlier hold's");
        };
        let failed = |error: io::Error| Failure::about_path("its disk", &error);
        let root = root.try_clone().map_err(failed)?;
        let Some(image) = self.means.disks.image_of(&root, &directory).map_err(failed)? else {
            return refused("this store does not share blocks");
        };
        let name = format!("{id}-live-{}", time::now_ms());
        let place = layers.join(&name);
        layers::make_place(&place, uid_base, true).map_err(failed)?;
        failpoint::reached("sharing");
        let pidfd = copy_aside(&root, &image, &place).map_err(failed)?;
        self.sharing.last_number = self.sharing.last_number.wrapping_add(1);
        let number = self.sharing.last_number;
        self.epoll
            .add(&pidfd, epoll::READABLE, Source::Sharer(number).token())
            .map_err(|error| Failure::internal("epoll", error))?;
        let id = id.to_string();
        self.sharing.under_way.push(Share { number, id, name, below, pidfd, waiting });
        Ok(())
    }

    pub fn sharer_is_done(&mut self, number: u32) {
        let Some(at) = self.sharing.under_way.iter().position(|share| share.number == number)
        else {
            return;
        };
        let Share { name, below, pidfd, waiting: (client, stream), .. } =
            self.sharing.under_way.swap_remove(at);
        self.forget(&pidfd);
        let is_shared = process::reap_successful(&pidfd);
        let now = Instant::now();
        self.sharing.lent.retain(|(_, until)| *until > now);
        if is_shared {
            self.sharing.lent.push((name.clone(), now + LENT_FOR));
            failpoint::reached("shared");
        } else {
            self.trash.take(&self.folder, &self.folder.layers().join(&name));
        }
        self.answer(client, |client| {
            if is_shared {
                let layers: Vec<&String> = std::iter::once(&name).chain(&below).collect();
                client.outbound.end(stream, &json!({ "layers": layers }));
            } else {
                let failure = Failure::new(Code::Unsupported, "its disk could not be shared");
                client.outbound.fail(stream, &failure);
            }
            client.is_busy = false;
        });
    }
}

/// In a process of its own, which outlives hold: a disk that stands still must be let go again,
/// whoever dies.
fn copy_aside(root: &OwnedFd, image: &OwnedFd, place: &Path) -> io::Result<OwnedFd> {
    match process::clone_into(0)? {
        Clone::Parent { pidfd, .. } => Ok(pidfd),
        Clone::Child => {
            let kept = &mut [root.as_raw_fd(), image.as_raw_fd()];
            let copied =
                descriptor::close_all_except(kept).and_then(|()| disk::share(root, image, place));
            process::exit_now(i32::from(copied.is_err()))
        }
    }
}
