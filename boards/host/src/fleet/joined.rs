//! This computer as a probe of a fleet: its link to the broker, and the lists that come.

use dunlin::image::Image;
use dunlin::probe::{Board, FleetEvent, Probe};
use dunlin::time::Instant;
use dunlin_fleet::{Broker, Device, Link, Memory, Room};

use super::join_args::Place;
use crate::board::net::{HostConnect, HostResolve};
use crate::error::Error;
use crate::lists::hosts::ProviderKind;
use crate::lists::listing::{Gate, Listing, host_name};
use crate::lists::pages::{ListedChange, ListedPage, PageList};
use crate::output;

/// Bytes of the longest list: 65,534 pages with long URLs.
const LONGEST_LIST: u32 = 64 << 20;
/// Pages and hosts that can be numbered.
const MOST: u16 = u16::MAX - 1;
/// Fetches a day that one slot can make: one a second.
const A_SLOT: f32 = 86_400.0;

/// A probe's link, and the list that came over it last.
#[derive(Debug)]
pub struct Joined<'a> {
    link: Link<'a, HostConnect, HostResolve>,
    lists: Lists,
}

/// Where lists are kept: in memory, for the planner has them.
#[derive(Debug, Default)]
struct Lists {
    coming: Vec<u8>,
    kept: Vec<u8>,
}

impl<'a> Joined<'a> {
    /// A probe that has just started, with a number that was drawn at random, and so many slots.
    pub fn new(
        place: Place<'a>,
        network: (HostConnect, HostResolve),
        memory: &'a mut Memory,
        (boot, slots): (u32, u16),
    ) -> Self {
        let broker = Broker {
            host: &place.broker.host,
            port: place.broker.port,
            is_secure: place.broker.tls,
            fleet: &place.broker.fleet,
            probe: place.probe,
            user: &place.broker.user,
            password: Some(&place.broker.password),
        };
        let room = Room {
            pages: MOST,
            hosts: MOST,
            fetches: A_SLOT * f32::from(slots),
        };
        let started = (place.lease, Instant::ZERO);
        Self {
            link: Link::new(network, broker, memory, room, (boot, 0), started),
            lists: Lists::default(),
        }
    }

    /// Keeps a probe in its fleet until there is another list: its version. *Cancellation*: safe.
    pub async fn run<B: Board>(&mut self, probe: &Probe<'_, B>) -> u32 {
        self.link.run(probe, &mut self.lists).await
    }

    /// The list of this version is in force from now on: the page image.
    pub fn listed(&mut self, version: u32, now: Instant) -> Vec<u8> {
        self.link.listed(version, now);
        std::mem::take(&mut self.lists.kept)
    }
}

impl Device for Lists {
    fn room(&self) -> u32 {
        LONGEST_LIST
    }

    fn begin(&mut self, _: u32) -> bool {
        self.coming.clear();
        true
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        self.coming.extend(bytes);
        true
    }

    fn written(&self) -> &[u8] {
        &self.coming
    }

    fn keep(&mut self, _: u32) -> bool {
        let good = Image::parse(&self.coming).is_ok_and(|image| {
            image.pages() <= usize::from(MOST) && image.hosts() <= usize::from(MOST)
        });
        if good {
            self.kept = std::mem::take(&mut self.coming);
        }
        good
    }

    fn tell(&mut self, event: FleetEvent) {
        output::say(sentence(&event));
    }
}

/// What a person is told of the link.
fn sentence(event: &FleetEvent) -> String {
    let told = match event {
        FleetEvent::Joined => "connected to the broker".to_owned(),
        FleetEvent::Left { why } => format!("{why}; trying again"),
        FleetEvent::Untrusted { why } => format!("the broker's TLS: {why}"),
        FleetEvent::Granted {
            number,
            budget,
            lease_millis,
        } => {
            let seconds = lease_millis / 1_000;
            format!("grant {number}: {budget:.0} fetches a day for {seconds} s")
        }
        FleetEvent::Announced { list } => format!("there is list {list}"),
        FleetEvent::Listed { list } => format!("took list {list}"),
        FleetEvent::NotListed { list, why } => format!("list {list} was not taken: {why}"),
        FleetEvent::Paused => "told to pause".to_owned(),
        FleetEvent::Resumed => "told to go on".to_owned(),
        // One that was added to the table since says its line.
        other => other.to_string(),
    };
    format!("fleet: {told}")
}

/// What a page image says of pages and hosts, for whoever tells people about them.
///
/// # Errors
/// A record that cannot be read.
pub fn listing_of(image: &Image<'_>) -> Result<Listing, Error> {
    let wrong = |why: dunlin::image::ImageError| Error::Usage(why.to_string());
    let mut list = PageList::default();
    let mut gates = Vec::new();
    for index in 0..image.hosts() {
        let host = image.host(index).map_err(wrong)?;
        list.hosts.push(host.name.to_owned());
        gates.push(Gate {
            name: host.name.to_owned(),
            politeness: dunlin::time::Duration::from_millis(host.gap_ms.into()),
            hours: None,
            provider: ProviderKind::Normal,
        });
    }
    for index in 0..image.pages() {
        let page = image.page(index).map_err(wrong)?;
        list.pages.push(ListedPage {
            url: page.url.to_owned(),
            name: None,
            host: page.host.into(),
            weight: page.weight.into(),
            change: ListedChange::Poisson {
                rate: page.rate.map(f64::from),
            },
            min: 0,
            max: None,
            every: None,
            filter: None,
        });
    }
    let pin = |host: &String| {
        let name = host_name(host);
        Some((name.to_owned(), image.pin(name)?))
    };
    let pins = list.hosts.iter().filter_map(pin).collect();
    Ok(Listing {
        gate_of_host: (0..gates.len()).collect(),
        gates,
        pins,
        headers: Vec::new(),
        tellers: Vec::new(),
        list,
    })
}
