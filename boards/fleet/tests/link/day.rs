//! A day of a probe that visits pages all the time, in virtual time: what that costs on the way to
//! its broker.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dunlin::fleet::{Grant, ProbeTopic};
use dunlin::image::Image;
use dunlin::probe::{Board, Event, OwnedMemory, Probe, Slot};
use dunlin::scheduler::Settings;
use dunlin::time::{Duration, Instant};
use dunlin_fleet::{Broker, Link, Memory, Room};

use crate::broker::Published;
use crate::world::{BOOT, Kept, LIST, Network, bytes, list, of_north};

const LEASE: Duration = Duration::HOUR;
/// Fetches of the day.
const VISITS: f32 = 1_250.0;
/// Bytes of the day, in both directions.
const MOST: usize = 100_000;
/// Headers of IP and TCP, of a packet and of its acknowledgement.
const HEADERS: usize = 80;
/// A ping and its answer.
const PING: usize = 2 + 2 + 2 * HEADERS;
/// The silence after which a probe with a lease of an hour asks whether the broker is there.
const KEEP_ALIVE: Duration = Duration::from_secs(600);

/// A clock that somebody else sets, who is told what is waited for.
#[derive(Clone, Debug)]
struct Clock {
    now: Rc<Cell<Instant>>,
    next: Rc<Cell<Instant>>,
}

impl Board for Clock {
    fn now(&self) -> Instant {
        self.now.get()
    }

    async fn sleep_until(&self, then: Instant) {
        std::future::poll_fn(|_| match self.now.get() >= then {
            true => Poll::Ready(()),
            false => {
                self.next.set(self.next.get().min(then));
                Poll::Pending
            }
        })
        .await
    }

    fn log(&self, _: &Event) {}
}

#[test]
fn a_day_costs_a_hundred_kilobytes_at_most() {
    let clock = Clock {
        now: Rc::default(),
        next: Rc::default(),
    };
    let network = Network::default();
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    network.planner.borrow_mut().extend(page);
    let image = list();
    let image = Image::parse(&image).expect("an image");
    let mut memory = OwnedMemory::<4, 2, 256>::NEW;
    let memory = memory.view(Settings::DEFAULT);
    let probe = Probe::new(image, memory, 1, clock.clone()).expect("it fits");
    let probe = probe.in_fleet(None);
    let broker = Broker::told("mqtt://broker.test/roofs", "north", Some("secret"));
    let room = Room {
        pages: 4,
        hosts: 2,
        fetches: 10_000.0,
    };
    let mut memory = Memory::NEW;
    let mut link = Link::new(
        (network.clone(), network.clone()),
        broker.expect("a broker"),
        &mut memory,
        room,
        (BOOT, LIST),
        (LEASE, Instant::ZERO),
    );
    let mut slot = Slot {
        connect: network.clone(),
        resolve: network.clone(),
        buffer: &mut [0; 2_048],
    };
    let mut device = Kept::default();
    probe.set_online(true);
    let mut link = pin!(link.run(&probe, &mut device));
    let mut slot = pin!(probe.run_slot(0, &mut slot));
    let mut context = Context::from_waker(Waker::noop());
    let day = Instant::ZERO + Duration::DAY;
    // A ping for every stretch of silence; minimq has a clock of its own, on which no time passes.
    let mut pings = 0;
    let mut said = (0, Instant::ZERO);
    let mut answered = 0;
    while clock.now() < day {
        clock.next.set(day);
        for _ in 0..8 {
            assert!(link.as_mut().poll(&mut context).is_pending());
            assert!(slot.as_mut().poll(&mut context).is_pending());
        }
        let mut broker = network.broker.borrow_mut();
        if broker.packets_up > said.0 {
            pings += (clock.now() - said.1).as_secs() / KEEP_ALIVE.as_secs();
            said = (broker.packets_up, clock.now());
        }
        match broker.report().filter(|report| report.seq > answered) {
            Some(report) => {
                answered = report.seq;
                let grant = Grant {
                    boot: report.boot,
                    seq: report.seq,
                    epoch: 3,
                    number: 1_000 + answered,
                    list: LIST,
                    lease_ms: LEASE.as_millis() as u32,
                    budget: VISITS,
                };
                broker.send(&of_north(ProbeTopic::Grant), false, &bytes(&grant));
            }
            None => clock.now.set(clock.next.get()),
        }
    }
    let broker = network.broker.borrow();
    let told = |published: &Published| match published {
        Published::Visits(visits) => visits.visits.len(),
        _ => 0,
    };
    let visits: usize = broker.published.iter().map(told).sum();
    let batches = broker.published.iter().filter(|one| told(one) > 0).count();
    let packets = broker.packets_up + broker.packets_down;
    let payload = broker.bytes_up + broker.bytes_down;
    let all = payload + packets * HEADERS + pings as usize * PING;
    println!(
        "{visits} visits in {batches} batches, {answered} reports, {pings} pings: {payload} B of MQTT in \
         {packets} packets, {all} B with headers and acknowledgements"
    );
    assert!((1_200..=1_300).contains(&visits), "{visits} visits");
    assert!((95..=105).contains(&answered), "{answered} reports");
    assert_eq!(broker.connections, 1);
    assert!(all <= MOST, "{all} B a day");
}
