//! What a running sandbox has written, shared with copies of it: where the store shares blocks, its
//! disk is copied in a moment, however much is on it, and the copy is a layer like any other.

use super::copying::Copying;
use super::failpoint;
use super::layers::{self, MOST_LAYERS};
use super::source::Source;
use super::watch::Hold;
use crate::disk::Blank;
use crate::sys::{epoll, process, time};
use crate::wire::failure::{Code, Failure};
use serde_json::json;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a layer waits for the first sandbox that lies on it.
const LENT_FOR: Duration = Duration::from_secs(300);

#[derive(Default)]
pub struct Sharing {
    under_way: Vec<Share>,
    /// Layers of which no record tells yet.
    lent: Vec<Lent>,
    last_number: u32,
}

/// A process that makes the copy, and who waits for it: (client, stream).
struct Share {
    number: u32,
    id: String,
    name: String,
    below: Vec<String>,
    pidfd: OwnedFd,
    blank: Option<Blank>,
    waiting: (u32, u32),
    /// It went on, or its filesystem did, before the copy was whole.
    is_spoiled: bool,
}

struct Lent {
    name: String,
    until: Instant,
    /// For the first sandbox that lies on it.
    ready: Option<Blank>,
}

impl Sharing {
    /// Those that are about to be somebody's.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let now = Instant::now();
        let lent = self.lent.iter().filter(move |one| one.until > now).map(|one| &one.name);
        lent.chain(self.under_way.iter().map(|share| &share.name))
    }
}

impl Sharing {
    /// A record tells of these from now on.
    pub fn are_taken(&mut self, layers: &[String]) {
        self.lent.retain(|one| !layers.contains(&one.name));
    }

    pub fn take_ready(&mut self, layer: &str) -> Option<Blank> {
        self.lent.iter_mut().find(|one| one.name == layer)?.ready.take()
    }

    pub fn is_copying(&self, id: &str) -> bool {
        self.under_way.iter().any(|share| share.id == id)
    }

    pub fn spoil(&mut self, id: &str) {
        self.under_way.iter_mut().filter(|share| share.id == id).for_each(|share| {
            share.is_spoiled = true;
        });
    }
}

impl Hold {
    /// The answer comes later. The sandbox goes on, and waits only while its disk is copied.
    pub fn share(&mut self, id: &str, waiting: (u32, u32)) -> Result<(), Failure> {
        let refused = |why: &str| Err(Failure::new(Code::Unsupported, why));
        if self.sharing.is_copying(id) {
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
        if sandbox.freezing.is_some() {
            return Err(Failure::new(Code::Busy, "it is being paused"));
        }
        let (below, uid_base) = (record.layers.clone(), record.uid_base);
        let (group, is_paused) = (record.group.clone(), sandbox.is_paused);
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
        let blank = self.means.disks.blank_for(&image);
        let copying = Copying {
            root: &root,
            image: &image,
            place: &place,
            blank: blank.as_ref(),
            group: group.as_ref().filter(|_| !is_paused),
            is_paused,
        };
        let pidfd = copying.start().map_err(failed)?;
        self.sharing.last_number = self.sharing.last_number.wrapping_add(1);
        let number = self.sharing.last_number;
        self.epoll
            .add(&pidfd, epoll::READABLE, Source::Sharer(number).token())
            .map_err(|error| Failure::internal("epoll", error))?;
        let id = id.to_string();
        let is_spoiled = false;
        let share = Share { number, id, name, below, pidfd, blank, waiting, is_spoiled };
        self.sharing.under_way.push(share);
        Ok(())
    }

    pub fn sharer_is_done(&mut self, number: u32) {
        let Some(at) = self.sharing.under_way.iter().position(|share| share.number == number)
        else {
            return;
        };
        let Share { id, name, below, pidfd, blank, waiting: (client, stream), is_spoiled, .. } =
            self.sharing.under_way.swap_remove(at);
        self.forget(&pidfd);
        let is_left_alone = self.goes_on(&id) && !is_spoiled;
        let is_shared = process::reap_successful(&pidfd) && is_left_alone;
        let now = Instant::now();
        self.sharing.lent.retain(|one| one.until > now);
        if is_shared {
            self.sharing.lent.push(Lent {
                name: name.clone(),
                until: now + LENT_FOR,
                ready: blank,
            });
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

    /// As it is meant to be, whatever became of who stopped it; and whether it was left to itself.
    fn goes_on(&mut self, id: &str) -> bool {
        let Some((_, sandbox)) = self.registry.by_id(id) else {
            return false;
        };
        if let Some(group) = &sandbox.record.group {
            // Who is to be paused was let go with the copy, and nobody has been told yet.
            let _ = if sandbox.is_paused { group.freeze() } else { group.thaw() };
        }
        sandbox.ending.is_none()
    }
}
