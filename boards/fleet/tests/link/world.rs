//! A probe, its clock and its network, in memory. Time passes while nothing else happens.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dunlin::catalog::{Config, Host, Page};
use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
use dunlin::fleet::{LONGEST, ProbeTopic, encode, topic};
use dunlin::image::{Image, build};
use dunlin::probe::{Board, Event, FleetEvent, OwnedMemory, Probe};
use dunlin::scheduler::Settings;
use dunlin::time::{Duration, Instant};
use dunlin_fleet::{Broker, Device, Link, Memory, Room};
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};

use crate::broker;

pub const BOOT: u32 = 7;
pub const LEASE: Duration = Duration::from_secs(20);
const MQTT: u16 = 1883;

/// A clock that jumps to the moment that is waited for, if nothing has happened meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Clock(Rc<Cell<Instant>>);

impl Board for Clock {
    fn now(&self) -> Instant {
        self.0.get()
    }

    async fn sleep_until(&self, then: Instant) {
        let mut asked = 0;
        std::future::poll_fn(|_| {
            asked += 1;
            if asked > 3 {
                self.0.set(self.0.get().max(then));
            }
            match self.0.get() >= then {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await
    }

    fn log(&self, _: &Event) {}
}

/// What is on the network: a broker, and a planner that serves one answer.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub broker: Rc<RefCell<broker::Broker>>,
    pub planner: Rc<RefCell<Vec<u8>>>,
    pub asked: Rc<Cell<usize>>,
}

#[derive(Debug)]
pub enum Pipe {
    Broker(Rc<RefCell<broker::Broker>>),
    Planner(Vec<u8>, usize),
}

impl ErrorType for Pipe {
    type Error = ErrorKind;
}

impl Read for Pipe {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        std::future::poll_fn(|_| match self {
            Self::Broker(broker) => {
                let mut broker = broker.borrow_mut();
                if broker.stalls || broker.going.is_empty() && !broker.is_over {
                    return Poll::Pending;
                }
                let count = buffer.len().min(broker.going.len());
                for (to, from) in buffer.iter_mut().zip(broker.going.drain(..count)) {
                    *to = from;
                }
                Poll::Ready(Ok(count))
            }
            Self::Planner(answer, read) => {
                let left = &answer[*read..];
                let count = buffer.len().min(left.len());
                buffer[..count].copy_from_slice(&left[..count]);
                *read += count;
                Poll::Ready(Ok(count))
            }
        })
        .await
    }
}

impl Write for Pipe {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        std::future::poll_fn(|_| match self {
            Self::Broker(broker) if broker.borrow().stalls => Poll::Pending,
            Self::Broker(broker) => {
                broker.borrow_mut().take(bytes);
                Poll::Ready(Ok(bytes.len()))
            }
            Self::Planner(..) => Poll::Ready(Ok(bytes.len())),
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Connection for Pipe {}

impl Connect for Network {
    type Error = ErrorKind;
    type Connection<'c> = Pipe;

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Pipe, ErrorKind> {
        if to.port == MQTT {
            self.broker.borrow_mut().open();
            return Ok(Pipe::Broker(Rc::clone(&self.broker)));
        }
        self.asked.set(self.asked.get() + 1);
        Ok(Pipe::Planner(self.planner.borrow().clone(), 0))
    }
}

impl Resolve for Network {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        Ok(Addresses::from_iter([IpAddr::from([192, 0, 2, 1])]))
    }
}

/// A device that keeps everything.
#[derive(Debug, Default)]
pub struct Kept {
    pub news: Vec<FleetEvent>,
    pub list: Vec<u8>,
    pub version: Option<u32>,
}

impl Device for Kept {
    fn room(&self) -> u32 {
        10_000
    }

    fn begin(&mut self, _: u32) -> bool {
        self.list.clear();
        true
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        self.list.extend(bytes);
        true
    }

    fn written(&self) -> &[u8] {
        &self.list
    }

    fn keep(&mut self, version: u32) -> bool {
        let good = Image::parse(&self.list).is_ok();
        self.version = self.version.or(good.then_some(version));
        good
    }

    fn tell(&mut self, event: FleetEvent) {
        self.news.push(event);
    }
}

/// A page image of two pages.
pub fn list() -> Vec<u8> {
    let config = Config::new("dunlin/0.1");
    let host = Host {
        name: "example.org",
        gap_ms: 1_000,
        hours: None,
        gate: 0,
        first_page: 0,
        pages: 2,
    };
    let pages = ["http://example.org/", "http://example.org/a"].map(|url| Page::new(0, url));
    build(&config, &[], &[host], &pages, &[])
}

/// What a test sees, and a place to stand: a probe with a list of version 3 in the fleet `roofs`.
pub struct World {
    pub clock: Clock,
    pub network: Network,
    pub device: Kept,
}

pub const LIST: u32 = 3;

impl World {
    pub fn new() -> Self {
        Self {
            clock: Clock::default(),
            network: Network::default(),
            device: Kept::default(),
        }
    }

    /// Runs a link for so many polls at most, and calls `each` between two of them; what it is
    /// asked about the probe at the end, and the version of a list if one was taken.
    pub fn run(
        &mut self,
        polls: usize,
        mut each: impl FnMut(usize, &Network, &Probe<'_, Clock>),
    ) -> (dunlin::fleet::Report, Option<u32>) {
        let image = list();
        let image = Image::parse(&image).expect("an image");
        let mut memory = OwnedMemory::<4, 2, 256>::NEW;
        let memory = memory.view(Settings::DEFAULT);
        let probe = Probe::new(image, memory, 1, self.clock.clone()).expect("it fits");
        let probe = probe.in_fleet(None);
        let broker = Broker::told("mqtt://broker.test:1883/roofs", "north", Some("secret"));
        let broker = broker.expect("a broker");
        let room = Room {
            pages: 4,
            hosts: 2,
            fetches: 1_000.0,
        };
        let mut memory = Memory::NEW;
        let network = (self.network.clone(), self.network.clone());
        let now = self.clock.now();
        let mut link = Link::new(
            network,
            broker,
            &mut memory,
            room,
            (BOOT, LIST),
            (LEASE, now),
        );
        let taken = {
            let mut run = pin!(link.run(&probe, &mut self.device));
            let mut context = Context::from_waker(Waker::noop());
            (0..polls).find_map(|poll| {
                let taken = match run.as_mut().poll(&mut context) {
                    Poll::Ready(version) => Some(version),
                    Poll::Pending => None,
                };
                each(poll, &self.network, &probe);
                taken
            })
        };
        // What a member would report tells all that is known of it.
        let outlook = probe.membership().outlook((0, 0, 0.0));
        let mut member = dunlin::fleet::Member::new(0, 0, now, dunlin::fleet::Drift::DEFAULT);
        let mut report = member.report(&outlook, now);
        report.budget = link.member().budget();
        report.list = link.member().list();
        (report, taken)
    }
}

/// A topic of the probe.
pub fn of_north(which: ProbeTopic) -> String {
    topic("roofs", "north", which)
        .expect("names")
        .as_str()
        .to_owned()
}

/// The bytes of a message.
pub fn bytes<T: serde::Serialize>(message: &T) -> Vec<u8> {
    encode(message, &mut [0; LONGEST]).expect("room").to_vec()
}
