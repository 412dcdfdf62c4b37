//! relay: carries what sandboxes send out, and decides nothing. Every connection is put to the
//! guard, whose words come on standard input; without them nothing is dialled, and when they end,
//! so does the relay, and with it every tunnel.

mod agent;
mod caller;
mod carriage;
mod deadlines;
mod flow;
mod greeting;
mod lenders;
mod look;
mod names;
mod newcomer;
mod newcomers;
mod open_files;
mod orders;
mod owner;
mod place;
mod ports;
mod proxy;
mod purses;
mod question;
mod shares;
mod source;
mod tunnel;
mod vessels;
mod words;
mod work;

use crate::arguments::RelayOptions;
use crate::sys::epoll::{self, Epoll, Event};
use crate::sys::process::FileLimit;
use crate::sys::{descriptor, signal};
use deadlines::Deadlines;
use orders::{Order, Orders, Reports};
use place::Place;
use purses::Purses;
use serde_json::json;
use source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tunnel::Tunnel;
use vessels::Vessels;

/// How soon the guard hears of what has been used.
const NEWS_EVERY: Duration = Duration::from_millis(200);

pub struct Relay {
    epoll: Epoll,
    orders: Orders,
    reports: Reports,
    stdin: OwnedFd,
    stdout: OwnedFd,
    is_stdout_full: bool,
    /// Where the guard takes the connections it wants to read.
    inspector: PathBuf,
    places: BTreeMap<u32, Place>,
    /// Those where somebody waits to be known.
    looking: BTreeSet<u32>,
    tunnels: BTreeMap<u32, Tunnel>,
    /// Tunnels that are over before the guard has spoken, and their places: whoever comes and goes
    /// gives it no more to do at a time than whoever stays.
    unanswered: BTreeMap<u32, u32>,
    deadlines: Deadlines,
    purses: Purses,
    last_place: u32,
    last_tunnel: u32,
    vessels: Vessels,
}

/// Returns when the guard is gone.
pub fn run(options: &RelayOptions) -> Result<(), String> {
    signal::reset_for_server();
    let mut relay = Relay::start(options).map_err(|error| format!("cannot start: {error}"))?;
    relay.reports.say(&json!({"event": "ready"}));
    relay.run().map_err(|error| error.to_string())
}

impl Relay {
    fn start(options: &RelayOptions) -> io::Result<Relay> {
        FileLimit::raise()?;
        let epoll = Epoll::new()?;
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        descriptor::set_nonblocking(&stdin)?;
        descriptor::set_nonblocking(&stdout)?;
        epoll.add(&stdin, epoll::READABLE, Source::Orders.token())?;
        Ok(Relay {
            epoll,
            orders: Orders::default(),
            reports: Reports::default(),
            stdin,
            stdout,
            is_stdout_full: false,
            inspector: options.inspector.clone(),
            places: BTreeMap::new(),
            looking: BTreeSet::new(),
            tunnels: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            deadlines: Deadlines::default(),
            purses: Purses::default(),
            last_place: 0,
            last_tunnel: 0,
            vessels: Vessels::new(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let (mut events, mut turn) = (Vec::new(), Vec::new());
        let mut told = Instant::now();
        loop {
            if !self.report() {
                return Ok(());
            }
            self.epoll.wait(self.patience(), &mut events)?;
            for event in &events {
                match Source::of(event.token) {
                    Source::Orders if !self.take_orders() => return Ok(()),
                    Source::Lender(number) => self.hear_lender(number),
                    Source::Place(number) => self.take_turn(number, &mut turn)?,
                    _ => {}
                }
            }
            self.look_on();
            self.end_what_is_due();
            if self.purses.has_news && told.elapsed() >= NEWS_EVERY {
                told = Instant::now();
                self.tell_of_purses();
            }
        }
    }

    fn patience(&self) -> Option<Duration> {
        let news = self.purses.has_news.then_some(NEWS_EVERY);
        let look = (!self.looking.is_empty()).then_some(Duration::ZERO);
        [look, news, self.deadlines.patience()].into_iter().flatten().min()
    }

    /// Some of what happened in one sandbox. What is left has to wait until the others had theirs.
    fn take_turn(&mut self, number: u32, events: &mut Vec<Event>) -> io::Result<()> {
        let Some(place) = self.places.get_mut(&number) else {
            return Ok(());
        };
        place.waits.wait(Some(Duration::ZERO), events)?;
        for event in events {
            match Source::of(event.token) {
                Source::Listener(number) => self.welcome(number),
                Source::Agent(number) => self.welcome_agent(number),
                Source::Resolver(number) => {
                    if let Some(place) = self.places.get_mut(&number) {
                        place.answer_questions();
                    }
                }
                Source::Inner(number) => self.on_tunnel(number, event, Tunnel::on_inner),
                Source::Outer(number) => self.on_tunnel(number, event, Tunnel::on_outer),
                _ => {}
            }
        }
        Ok(())
    }

    /// False when the guard is gone.
    fn take_orders(&mut self) -> bool {
        if !self.orders.fill(&self.stdin) {
            return false;
        }
        while let Some(line) = self.orders.next() {
            match orders::parse(&line) {
                Ok(Order::Watch { sandbox, socket, agent }) => self.borrow(sandbox, &socket, agent),
                Ok(Order::Leave { sandbox }) => self.leave(&sandbox),
                Ok(Order::Answer { tunnel, verdict }) => self.decide(tunnel, verdict),
                Ok(Order::Hold { tunnel }) => self.hold(tunnel),
                Ok(Order::Close { tunnel }) => self.close(tunnel),
                Ok(Order::Fill { purse, most, used }) => self.purses.fill(purse, most, used),
                Ok(Order::Charge { tunnel, purses }) => self.charge(tunnel, purses),
                // A guard that cannot be understood is no guard.
                Err(_) => return false,
            }
        }
        true
    }

    fn report(&mut self) -> bool {
        if !self.reports.flush(&self.stdout) {
            return false;
        }
        if self.is_stdout_full == self.reports.is_empty() {
            self.is_stdout_full = !self.reports.is_empty();
            let token = Source::Reports.token();
            match self.is_stdout_full {
                true => drop(self.epoll.add(&self.stdout, epoll::WRITABLE, token)),
                false => self.epoll.remove(&self.stdout),
            }
        }
        true
    }
}
