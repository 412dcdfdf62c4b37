//! Bytes in one direction of a tunnel.

use super::vessels::{MOST_AT_ONCE, MOST_UNREAD_AT_ONCE, Vessels};
use crate::sys::splice::Pipe;
use crate::sys::{descriptor, network};
use std::io;
use std::os::fd::AsFd;

#[derive(Default)]
pub struct Flow {
    /// Read and not yet written. While there is any, nothing more is read.
    pub waiting: Vec<u8>,
    /// Nobody looks at these bytes, so the kernel moves them by itself.
    pub is_unread: bool,
    /// How many more may be taken; None for any number.
    pub allowed: Option<u64>,
    /// There is more than that.
    pub is_spent: bool,
    /// With bytes that left the source and have not reached the target.
    pipe: Option<Pipe>,
    pub total: u64,
    pub is_source_over: bool,
    is_target_told: bool,
}

impl Flow {
    /// Moves what there is now.
    pub fn carry(
        &mut self,
        from: impl AsFd,
        to: impl AsFd,
        vessels: &mut Vessels,
    ) -> io::Result<()> {
        if self.has_bytes() || self.is_source_over {
            return self.drain(to, vessels);
        }
        let allowed =
            |most: usize| self.allowed.map_or(most, |left| left.min(most as u64) as usize);
        let most = allowed(MOST_AT_ONCE);
        let pipe = if self.is_unread && most > 0 { vessels.take_pipe() } else { None };
        let taken = match pipe {
            // Its end may still be heard.
            _ if most == 0 => match network::peek(from, &mut vessels.buffer[..1]) {
                Ok(1..) => {
                    self.is_spent = true;
                    return Ok(());
                }
                outcome => outcome,
            },
            Some(mut pipe) => {
                let taken = pipe.fill(from, allowed(MOST_UNREAD_AT_ONCE));
                self.pipe = Some(pipe);
                taken
            }
            None => descriptor::read(from, &mut vessels.buffer[..most]),
        };
        match taken {
            Ok(0) => self.is_source_over = true,
            Ok(count) => {
                self.total += count as u64;
                if self.pipe.is_none() {
                    let written = write_some(to.as_fd(), &vessels.buffer[..count])?;
                    self.waiting.extend_from_slice(&vessels.buffer[written..count]);
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        self.drain(to, vessels)
    }

    /// Writes what waits, and says when there is no more to come.
    pub fn drain(&mut self, to: impl AsFd, vessels: &mut Vessels) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let written = write_some(to.as_fd(), &self.waiting)?;
            self.waiting.drain(..written);
            if self.waiting.is_empty() {
                self.waiting = Vec::new();
            }
        }
        if let Some(mut pipe) = self.pipe.take() {
            pipe.pour(to.as_fd())?;
            if pipe.is_empty() { vessels.give_back(pipe) } else { self.pipe = Some(pipe) }
        }
        if self.is_source_over && !self.has_bytes() && !self.is_target_told {
            self.is_target_told = true;
            network::shut_down_writing(to);
        }
        Ok(())
    }

    fn has_bytes(&self) -> bool {
        !self.waiting.is_empty() || self.pipe.is_some()
    }

    pub fn wants_to_read(&self) -> bool {
        !self.has_bytes() && !self.is_source_over
    }

    pub fn wants_to_write(&self) -> bool {
        self.has_bytes()
    }

    pub fn is_over(&self) -> bool {
        self.is_target_told
    }
}

fn write_some(to: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    match descriptor::write(to, bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        outcome => outcome,
    }
}
