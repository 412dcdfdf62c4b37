//! What serve waits for, as numbers that the kernel hands back.

/// What an event is about.
pub enum Source {
    Listener,
    Signals,
    Reader,
    Writer,
    Output {
        process: u32,
        channel: usize,
    },
    Input {
        process: u32,
    },
    Dial {
        stream: u32,
    },
    /// A pipe that a process left to others.
    Leftover(u32),
}

impl Source {
    pub fn token(&self) -> u64 {
        let (tag, number) = match *self {
            Source::Listener => (0, 0),
            Source::Signals => (1, 0),
            Source::Reader => (2, 0),
            Source::Writer => (3, 0),
            Source::Output { process, channel } => (4 + channel as u64, process),
            Source::Input { process } => (6, process),
            Source::Dial { stream } => (7, stream),
            Source::Leftover(number) => (8, number),
        };
        tag << 32 | u64::from(number)
    }

    pub fn of(token: u64) -> Source {
        let number = token as u32;
        match token >> 32 {
            0 => Source::Listener,
            1 => Source::Signals,
            2 => Source::Reader,
            3 => Source::Writer,
            4 => Source::Output { process: number, channel: 0 },
            5 => Source::Output { process: number, channel: 1 },
            6 => Source::Input { process: number },
            7 => Source::Dial { stream: number },
            _ => Source::Leftover(number),
        }
    }
}
