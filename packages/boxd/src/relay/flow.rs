//! Bytes in one direction of a tunnel.

use crate::sys::{descriptor, network};
use std::io;
use std::os::fd::AsFd;

#[derive(Default)]
pub struct Flow {
    /// Read and not yet written. While there is any, nothing more is read.
    pub waiting: Vec<u8>,
    pub total: u64,
    is_source_over: bool,
    is_target_told: bool,
}

impl Flow {
    /// Moves what there is now, through a buffer that all flows share.
    pub fn carry(&mut self, from: impl AsFd, to: impl AsFd, buffer: &mut [u8]) -> io::Result<()> {
        if !self.waiting.is_empty() || self.is_source_over {
            return self.drain(to);
        }
        match descriptor::read(from, buffer) {
            Ok(0) => {
                self.is_source_over = true;
                self.drain(to)
            }
            Ok(count) => {
                self.total += count as u64;
                let written = write_some(to, &buffer[..count])?;
                self.waiting.extend_from_slice(&buffer[written..count]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes what waits, and says when there is no more to come.
    pub fn drain(&mut self, to: impl AsFd) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let written = write_some(to.as_fd(), &self.waiting)?;
            self.waiting.drain(..written);
            if self.waiting.is_empty() {
                self.waiting = Vec::new();
            }
        }
        if self.is_source_over && self.waiting.is_empty() && !self.is_target_told {
            self.is_target_told = true;
            network::shut_down_writing(to);
        }
        Ok(())
    }

    pub fn wants_to_read(&self) -> bool {
        self.waiting.is_empty() && !self.is_source_over
    }

    pub fn wants_to_write(&self) -> bool {
        !self.waiting.is_empty()
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
