//! Which points stay: each change to them is made by one renaming of the index.

use super::index::{Index, Point, Undoing};
use super::state::State;
use super::survey::copy_name;
use super::{Points, copies_of};
use crate::sys::path;
use crate::sys::sync;
use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;

/// The oldest points that are about to go, and what goes with them.
#[derive(Default)]
pub struct Going {
    pub count: usize,
    pub freed: u64,
    copies: Vec<u64>,
}

impl Points {
    /// A point that was taken, at the cost of those that go.
    pub fn add(
        &mut self,
        mut point: Point,
        state: &State,
        (changed, last_copy): (u64, u64),
        going: &Going,
    ) -> io::Result<()> {
        let mut index = self.index.clone();
        index.last_id += 1;
        index.last_copy = last_copy;
        point.id = index.last_id;
        self.write_state(point.id, state)?;
        if let Some(before) = index.points.last_mut() {
            before.changed = Some(changed);
        }
        index.points.push(point);
        let gone: Vec<Point> = index.points.drain(..going.count).collect();
        // What they shared with the next is the next one's from now on.
        let shared = gone.iter().map(|point| point.bytes).sum::<u64>();
        index.points[0].bytes += shared.saturating_sub(going.freed);
        self.commit(index)?;
        self.remove_states(&gone);
        self.remove_copies(&going.copies);
        Ok(())
    }

    /// Nothing has changed since the newest: it is also from before this run.
    pub fn rename(&mut self, run: &Point) -> io::Result<()> {
        let mut index = self.index.clone();
        // Runs from before which there is nothing have changed nothing either.
        while index.points.last().is_some_and(|point| point.missing.is_some()) {
            index.points.pop();
        }
        if let Some(newest) = index.points.last_mut() {
            let Point { id, bytes, .. } = *newest;
            *newest = Point { id, bytes, ..run.clone() };
        }
        self.commit(index)
    }

    /// A run from before which there is nothing.
    pub fn note(&mut self, mut point: Point, most: usize) -> io::Result<()> {
        let mut index = self.index.clone();
        if let Some(last) = index.points.last().filter(|last| last.missing.is_some()) {
            point.id = last.id;
            index.points.pop();
        } else if index.points.len() < most {
            index.last_id += 1;
            point.id = index.last_id;
        } else {
            return Ok(());
        }
        index.points.push(point);
        self.commit(index)
    }

    /// One more of the oldest. False where there is none.
    pub fn let_oldest_go(&self, going: &mut Going, newest: &State) -> io::Result<bool> {
        let Some(oldest) = self.index.points.get(going.count) else {
            return Ok(false);
        };
        going.count += 1;
        if oldest.missing.is_some() {
            return Ok(true);
        }
        let mut later = self.index.points[going.count..].iter();
        let next = match later.find(|point| point.missing.is_none()) {
            Some(next) => copies_of(&self.state_of(next.id)?),
            None => copies_of(newest),
        };
        for entry in self.state_of(oldest.id)?.entries.values() {
            if entry.copy != 0 && !next.contains(&entry.copy) {
                going.freed += entry.size;
                going.copies.push(entry.copy);
            }
        }
        Ok(true)
    }

    /// Going back has begun: nothing can stop it any more, and what came later is over.
    pub fn begin_undoing(&mut self, undoing: Undoing) -> io::Result<()> {
        let keeps_all = !undoing.paths.is_empty();
        let to = undoing.to.unwrap_or(0);
        self.leave(|point| keeps_all || point.id <= to, Some(undoing))?;
        if self.is_kept { sync::filesystem(self.folder.as_fd()) } else { Ok(()) }
    }

    /// The workspace is as it was.
    pub fn end_undoing(&mut self) -> io::Result<()> {
        let Some(Undoing { to, paths }) = self.index.undoing.clone() else {
            return Ok(());
        };
        if self.is_kept {
            sync::filesystem(self.folder.as_fd())?;
        }
        let keeps_all = !paths.is_empty();
        let to = to.unwrap_or(0);
        self.leave(|point| keeps_all || point.id < to, None)
    }

    fn leave(
        &mut self,
        stays: impl Fn(&Point) -> bool,
        undoing: Option<Undoing>,
    ) -> io::Result<()> {
        let mut index = Index { undoing, ..self.index.clone() };
        index.points.retain(&stays);
        if let Some(last) = index.points.last_mut() {
            last.changed = None;
        }
        let kept = index.newest().map(|newest| self.state_of(newest.id)).transpose()?;
        let kept = kept.as_ref().map(copies_of).unwrap_or_default();
        let gone: Vec<Point> =
            self.index.points.iter().filter(|point| !stays(point)).cloned().collect();
        let mut copies = HashSet::new();
        for point in gone.iter().filter(|point| point.missing.is_none()) {
            copies.extend(self.state_of(point.id).iter().flat_map(copies_of));
        }
        self.commit(index)?;
        self.remove_states(&gone);
        self.remove_copies(copies.difference(&kept));
        Ok(())
    }

    fn remove_states(&self, gone: &[Point]) {
        for point in gone.iter().filter(|point| point.missing.is_none()) {
            let _ = path::unlink(self.folder.as_fd(), format!("s{}", point.id));
        }
    }

    fn remove_copies<'a>(&self, copies: impl IntoIterator<Item = &'a u64>) {
        for &copy in copies {
            let _ = path::unlink(self.folder.as_fd(), copy_name(copy));
        }
    }
}
