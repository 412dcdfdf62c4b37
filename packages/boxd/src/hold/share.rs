//! What a running sandbox has written, shared with copies of it: its disk is copied, and the copy is
//! a layer like any other. Where the store shares blocks that takes a moment, however much is on it.

use super::copying::{Copying, NO_ROOM};
use super::failpoint;
use super::layers::{self, MOST_LAYERS};
use super::source::Source;
use super::watch::Hold;
use crate::disk::Blank;
use crate::sys::{descriptor, epoll, poll, process, time};
use crate::wire::failure::{Code, Failure};
use serde_json::json;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
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
    borrower: Option<OwnedFd>,
    /// The process gives up when this is gone: the sandbox is to end, or went on before the copy
    /// was whole.
    wish: Option<OwnedFd>,
}

struct Lent {
    name: String,
    until: Instant,
    /// Who asked for it, where that can be known.
    borrower: Option<OwnedFd>,
    /// For the first sandbox that lies on it.
    ready: Option<Blank>,
}

impl Lent {
    /// Whether somebody may still come for it.
    fn is_awaited(&self) -> bool {
        let is_gone = |borrower: &OwnedFd| {
            poll::first_readable(&[borrower.as_fd()], Duration::ZERO).is_ok_and(|one| one.is_some())
        };
        self.until > Instant::now() && !self.borrower.as_ref().is_some_and(is_gone)
    }
}

impl Sharing {
    /// Those that are about to be somebody's.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let lent = self.lent.iter().filter(|one| one.is_awaited()).map(|one| &one.name);
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

    /// Whether there is a layer that may never be anybody's.
    pub fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }

    pub fn is_copying(&self, id: &str) -> bool {
        self.under_way.iter().any(|share| share.id == id)
    }

    pub fn spoil(&mut self, id: &str) {
        self.under_way.iter_mut().filter(|share| share.id == id).for_each(|share| {
            share.wish = None;
        });
    }
}

impl Hold {
    /// The answer comes later. The sandbox goes on, and waits only while its disk is copied.
    pub fn share(
        &mut self,
        id: &str,
        waiting: (u32, u32),
        borrower: Option<OwnedFd>,
    ) -> Result<(), Failure> {
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
        let is_kept = record.keeps.is_some();
        let (group, is_paused) = (record.group.clone(), sandbox.is_paused);
        let Some(root) = &sandbox.disk else {
            return refused("it has no disk of its own, or an earlier hold's");
        };
        let failed = |error: io::Error| Failure::about_path("its disk", &error);
        let root = root.try_clone().map_err(failed)?;
        let Some(image) = self.means.disks.image_of(&root, &directory).map_err(failed)? else {
            return refused("an earlier hold made its disk");
        };
        let name = format!("{id}-live-{}", time::now_ms());
        let place = layers.join(&name);
        let (wanted, wish) = descriptor::pipe().map_err(failed)?;
        let blank = self.means.disks.blank_for(&image);
        let copying = Copying {
            root: &root,
            image: &image,
            place: &place,
            blank: blank.as_ref(),
            group: group.as_ref().filter(|_| !is_paused),
            is_paused,
            shares_blocks: self.means.disks.share_blocks(),
            is_kept,
            wish: &wanted,
        };
        let started = layers::make_place(&place, uid_base, true).and_then(|()| {
            failpoint::reached("sharing");
            copying.start()
        });
        let pidfd = started.map_err(|error| {
            self.trash.take(&self.folder, &place);
            failed(error)
        })?;
        self.sharing.last_number = self.sharing.last_number.wrapping_add(1);
        let number = self.sharing.last_number;
        self.epoll
            .add(&pidfd, epoll::READABLE, Source::Sharer(number).token())
            .map_err(|error| Failure::internal("epoll", error))?;
        let id = id.to_string();
        let wish = Some(wish);
        let share = Share { number, id, name, below, pidfd, blank, waiting, borrower, wish };
        self.sharing.under_way.push(share);
        Ok(())
    }

    pub fn sharer_is_done(&mut self, number: u32) {
        let Some(at) = self.sharing.under_way.iter().position(|share| share.number == number)
        else {
            return;
        };
        let share = self.sharing.under_way.swap_remove(at);
        let Share { id, name, below, pidfd, blank, borrower, wish, .. } = share;
        let (client, stream) = share.waiting;
        self.forget(&pidfd);
        let is_left_alone = self.goes_on(&id) && wish.is_some();
        let code = process::reap_code(&pidfd);
        let is_shared = code == Some(0) && is_left_alone;
        if is_shared {
            self.sharing.lent.push(Lent {
                name: name.clone(),
                until: Instant::now() + LENT_FOR,
                borrower,
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
                let failure = match code {
                    Some(NO_ROOM) => (Code::StorageFull, "there is no room for a copy of its disk"),
                    _ => (Code::Unsupported, "its disk could not be copied"),
                };
                client.outbound.fail(stream, &Failure::new(failure.0, failure.1));
            }
            client.is_busy = false;
        });
        self.give_back_lent();
    }

    /// What nobody comes for any more.
    fn give_back_lent(&mut self) {
        let before = self.sharing.lent.len();
        self.sharing.lent.retain(Lent::is_awaited);
        if self.sharing.lent.len() < before {
            self.sweep_layers();
        }
    }

    /// Of those that are to end: who stands still for a copy cannot, and nobody wants it any more.
    pub fn give_up_copies(&mut self) {
        for share in &mut self.sharing.under_way {
            let sandbox = self.registry.by_id(&share.id);
            if sandbox.is_none_or(|(_, sandbox)| sandbox.ending.is_some()) {
                share.wish = None;
            }
        }
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
