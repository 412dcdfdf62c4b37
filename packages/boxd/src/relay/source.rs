//! What the relay waits for, as numbers that the kernel hands back.

#[derive(Clone, Copy)]
pub enum Source {
    /// The guard's words.
    Orders,
    /// The guard takes our words again.
    Reports,
    /// The connection to a sandbox's boxd.
    Lender(u32),
    /// Anything of a sandbox, which waits for its own things by itself.
    Place(u32),
    Listener(u32),
    Resolver(u32),
    /// Programs that want an SSH agent.
    Agent(u32),
    /// The sandbox's side of a tunnel.
    Inner(u32),
    Outer(u32),
}

impl Source {
    pub fn token(self) -> u64 {
        let (kind, number) = match self {
            Source::Orders => (0, 0),
            Source::Reports => (1, 0),
            Source::Lender(number) => (2, number),
            Source::Place(number) => (3, number),
            Source::Listener(number) => (4, number),
            Source::Resolver(number) => (5, number),
            Source::Inner(number) => (6, number),
            Source::Agent(number) => (7, number),
            Source::Outer(number) => (8, number),
        };
        kind << 32 | u64::from(number)
    }

    pub fn of(token: u64) -> Source {
        let number = token as u32;
        match token >> 32 {
            0 => Source::Orders,
            1 => Source::Reports,
            2 => Source::Lender(number),
            3 => Source::Place(number),
            4 => Source::Listener(number),
            5 => Source::Resolver(number),
            6 => Source::Inner(number),
            7 => Source::Agent(number),
            _ => Source::Outer(number),
        }
    }
}
