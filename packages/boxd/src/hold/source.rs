//! What hold waits for, as numbers that the kernel hands back.

/// What an event is about.
pub enum Source {
    Listener,
    Signals,
    Remover,
    Client(u32),
    /// The first process of a sandbox.
    Sandbox(u32),
    /// What a starting sandbox has to say.
    Report(u32),
    /// Who puts a disk away.
    Sealer(u32),
    /// Who copies a disk.
    Sharer(u32),
}

impl Source {
    pub fn token(&self) -> u64 {
        let (tag, number) = match *self {
            Source::Listener => (0, 0),
            Source::Signals => (1, 0),
            Source::Remover => (2, 0),
            Source::Client(number) => (3, number),
            Source::Sandbox(number) => (4, number),
            Source::Report(number) => (5, number),
            Source::Sealer(number) => (6, number),
            Source::Sharer(number) => (7, number),
        };
        tag << 32 | u64::from(number)
    }

    pub fn of(token: u64) -> Source {
        let number = token as u32;
        match token >> 32 {
            0 => Source::Listener,
            1 => Source::Signals,
            2 => Source::Remover,
            3 => Source::Client(number),
            4 => Source::Sandbox(number),
            5 => Source::Report(number),
            6 => Source::Sealer(number),
            _ => Source::Sharer(number),
        }
    }
}
