//! Page lists as the probe takes them: PAGES.csv and options in, a page image out.

use std::net::Ipv4Addr;

use dunlin::catalog::{
    Address, Config, CrawlLimits, Gateway, Host, LogLevel, Name, Page, PageFilter, TimeServer,
};
use dunlin::fetch::{Agent, Ignore};
use dunlin::image::{Builder, Learnt, Tag};
use dunlin::model::Objective;
use dunlin::probe::SCOUTS;
use dunlin::time::Duration;

use crate::duration;
use crate::error::{Error, quoted};
use crate::filter::markers::Markers;
use crate::filter::{self, Select};
use crate::lists::constraints;
use crate::lists::discovery::Wanted;
use crate::lists::listing::{Gate, Listing};
use crate::lists::pages::{ListedChange, ListedPage};
use crate::lists::tellers::{placed, tellers};

/// How firmly a rate that the list gives is believed, in changes seen.
const GIVEN_RATE_CONFIDENCE: f32 = 1_000.0;
/// How firmly a rate that is only guessed is believed: the least there is.
const GUESSED_RATE_CONFIDENCE: f32 = 0.0;
/// The longest time between two requests to a host that an image can state: it counts milliseconds
/// in 32 bits.
const LONGEST_POLITENESS: Duration = Duration::from_secs(49 * 86_400);
/// Bytes of what opens or closes a stretch that is ignored.
const LONGEST_MARKER: usize = 200;

/// Everything an image says besides the list.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who asks, as in `dunlin/0.1.0`.
    pub agent: String,
    /// Where a webmaster can complain.
    pub contact: Option<String>,
    /// Fetches a day; `None` for what politeness allows.
    pub per_day: Option<f64>,
    /// How long a host is left alone after its first failure.
    pub back_off: Duration,
    /// How long a whole fetch may take.
    pub deadline: Duration,
    /// The seed of the little that is random.
    pub seed: u32,
    /// What pages and hosts are known by in a store; `None` for what the seed makes of it.
    pub key: Option<[u8; 16]>,
    /// `HOST=IP`; host `*` for all others.
    pub resolve: Vec<(String, Ipv4Addr)>,
    /// Who fetches https pages for a probe without TLS.
    pub gateway: Option<(String, u16)>,
    /// How the device gets its own address.
    pub address: Address,
    /// The time zone of the hosts' allowed hours, as an offset from UTC.
    pub utc_offset_minutes: i16,
    /// Which events are logged.
    pub log: LogLevel,
    /// Who knows what time it is.
    pub sntp: Option<(String, u16)>,
    /// Certificates of the owner's own certificate authorities, in DER.
    pub authorities: Vec<Vec<u8>>,
    /// The URL below which signed updates lie.
    pub update_url: Option<String>,
    /// The collector that copies of what has changed go to.
    pub collector: Option<String>,
    /// Where pages are looked for beyond the list.
    pub discovery: Option<Wanted>,
    /// Stretches of pages that do not count as changes: what opens and what closes them.
    pub ignore: Vec<(String, String)>,
    /// What `min`, `max` and `updates` of the list are counted in.
    pub interval: Duration,
    /// What is to be kept small.
    pub objective: Objective,
    /// What others have learnt about pages, by their place in the list.
    pub learnt: Vec<(usize, Learnt)>,
    /// How many seconds ago others have visited pages, for all pages of the list or for none.
    pub seen: Vec<Option<u32>>,
    /// What a fetch has to be worth to those others; 0 if nobody knows.
    pub price: f32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            agent: concat!("dunlin/", env!("CARGO_PKG_VERSION")).into(),
            contact: None,
            per_day: None,
            back_off: Duration::from_secs(60),
            deadline: Duration::from_secs(30),
            seed: 1,
            key: None,
            resolve: Vec::new(),
            gateway: None,
            address: Address::Dhcp,
            utc_offset_minutes: 0,
            log: LogLevel::Info,
            sntp: None,
            authorities: Vec::new(),
            update_url: None,
            collector: None,
            discovery: None,
            ignore: Vec::new(),
            interval: Duration::DAY,
            objective: Objective::Freshness,
            learnt: Vec::new(),
            seen: Vec::new(),
            price: 0.0,
        }
    }
}

/// The values of a repeated option that takes two.
pub fn pairs(values: &[String]) -> Vec<(String, String)> {
    values
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

/// What the one who runs the image can do.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// The firmware holds so many pages.
    pub pages: usize,
    /// The firmware holds so many hosts.
    pub hosts: usize,
    /// Does it speak https itself?
    pub https: bool,
    /// Has its network IPv6?
    pub ipv6: bool,
}

/// Makes the image, or says why such a list cannot be run. Pages are sorted by host, each host's
/// teller last: the list's index of each page of the image comes back, too, and for tellers numbers
/// that no page of the list has.
///
/// # Errors
/// [`Error::Usage`]
pub fn build(
    listing: &Listing,
    options: &Options,
    capacity: Capacity,
) -> Result<(Vec<u8>, Vec<usize>), Error> {
    let list = &listing.list;
    let tellers = tellers(listing);
    let pages = list.pages.len();
    let hosts = list.hosts.len();
    if pages + tellers.len() > capacity.pages || hosts > capacity.hosts {
        return Err(Error::Usage(format!(
            "found {} pages on {hosts} hosts, expected at most {} pages on {} hosts",
            pages + tellers.len(),
            capacity.pages,
            capacity.hosts
        )));
    }
    if let Some(wanted) = &options.discovery {
        // Tellers have places of their own.
        let most = capacity.pages.saturating_sub(SCOUTS + tellers.len());
        if usize::from(wanted.places) > most {
            return Err(Error::Usage(format!(
                "found a collection of {} places, expected --places of at most {most}",
                wanted.places
            )));
        }
    }
    Agent::new(&options.agent, options.contact.as_deref())
        .map_err(|why| Error::Usage(why.to_string()))?;
    list.pages.iter().try_for_each(|page| {
        let host = list.hosts.get(page.host);
        reachable(page, host.map_or("", String::as_str), options, capacity)
    })?;
    listing.gates.iter().try_for_each(check_politeness)?;
    check_ignored(&options.ignore)?;
    check_filters(listing, options)?;
    let for_https = !options.authorities.is_empty() || !listing.pins.is_empty();
    if for_https && !capacity.https {
        return Err(Error::Usage(
            "found --ca or a pin, expected neither: this firmware leaves https to a gateway".into(),
        ));
    }
    let mut order: Vec<usize> = (0..pages + tellers.len()).collect();
    let host_of = |index: usize| match list.pages.get(index) {
        Some(page) => page.host,
        None => tellers[index - pages].host,
    };
    order.sort_by_key(|&index| host_of(index));
    let mut records = Vec::with_capacity(order.len());
    for &index in &order {
        let Some(page) = list.pages.get(index) else {
            records.push(tellers[index - pages].record(options, pages));
            continue;
        };
        let rate = match page.change {
            ListedChange::Poisson { rate }
            | ListedChange::Weibull { rate, .. }
            | ListedChange::Pareto { rate, .. } => rate,
            ListedChange::Quasi { ref updates } => {
                let days: f64 = options.interval.as_days();
                let changes: f64 = updates.iter().map(|update| update.probability).sum();
                Some(changes / days)
            }
        };
        // A rate that is given counts as known. One that is not: whoever chose the budget had a
        // reason, so a page is taken to change about as often as it can be visited, until it shows
        // otherwise.
        let guess = options.per_day.map(|per_day| per_day / pages as f64);
        let confidence = if rate.is_some() {
            GIVEN_RATE_CONFIDENCE
        } else {
            GUESSED_RATE_CONFIDENCE
        };
        let rate = rate.or(guess).map(|rate: f64| rate as f32);
        records.push(Page {
            host: page.host as u16,
            url: &page.url,
            weight: page.weight as f32,
            rate,
            confidence,
        });
    }
    let hosts = host_records(listing, &order, host_of);
    let names: Vec<Name<'_>> = options
        .resolve
        .iter()
        .map(|(host, address)| Name {
            host,
            address: address.octets(),
        })
        .collect();
    let ignored = options.ignore.iter();
    let ignore: Vec<Ignore<'_>> = ignored
        .map(|(from, to)| Ignore {
            from: from.as_bytes(),
            to: to.as_bytes(),
        })
        .collect();
    let pins: Vec<(&str, [u8; 32])> = listing
        .pins
        .iter()
        .map(|(host, pin)| (host.as_str(), *pin))
        .collect();
    let limited = |(place, &index): (usize, &usize)| {
        let limits = constraints::limits(list.pages.get(index)?, options.interval);
        (limits != CrawlLimits::NONE).then_some((place as u16, limits))
    };
    let limits: Vec<_> = order.iter().enumerate().filter_map(limited).collect();
    let clocks: Vec<Option<Vec<u8>>> = order
        .iter()
        .map(|&index| match list.pages.get(index) {
            Some(page) => constraints::clock(page, options.interval),
            None => Ok(None),
        })
        .collect::<Result<_, _>>()?;
    let lawful = |(place, &index): (usize, &usize)| {
        let clock = clocks[place].as_deref();
        let law = constraints::law(list.pages.get(index)?, options.interval, clock)?;
        Some((place as u16, law))
    };
    let laws: Vec<_> = order.iter().enumerate().filter_map(lawful).collect();
    let filters = page_filters(listing, &order);
    // What the probe would refuse it for is said here, before it is asked.
    let builder = Builder::new(&config(options));
    let builder = match &options.discovery {
        Some(wanted) => {
            let is_pinned = |index: &usize| list.pinned.binary_search(index).is_ok();
            let pinned = order.iter().enumerate();
            let pinned = pinned.filter(|(_, index)| is_pinned(index));
            let section = wanted.section(pinned.map(|(place, _)| place as u16));
            let builder = builder.section(Tag::DISCOVERY, &section);
            match wanted.ranking() {
                Some(ranking) => builder.section(Tag::RANKING, &ranking),
                None => builder,
            }
        }
        None => builder,
    };
    let image = builder
        .names(&names)
        .hosts(&hosts)
        .pages(&records)
        .ignore(&ignore)
        .limits(&limits)
        .laws(&laws)
        .objective(options.objective)
        .update_url(options.update_url.as_deref())
        .authorities(&options.authorities)
        .pins(&pins)
        .collector(options.collector.as_deref())
        .learnt(&learnt_by_place(&options.learnt, &order))
        .seen(options.price, &seen_by_place(&options.seen, &order))
        .filters(&filters)
        .tellers(&placed(&tellers, &order, pages))
        .build()
        .map_err(|why| Error::Usage(why.to_string()))?;
    Ok((image, order))
}

/// What was learnt about pages, by their place in the image.
fn learnt_by_place(learnt: &[(usize, Learnt)], order: &[usize]) -> Vec<(u16, Learnt)> {
    let mut by_index = vec![None; order.len()];
    for (index, learnt) in learnt {
        if let Some(place) = by_index.get_mut(*index) {
            *place = Some(*learnt);
        }
    }
    let pages = order.iter().enumerate();
    pages
        .filter_map(|(place, index)| Some((place as u16, (*by_index.get(*index)?)?)))
        .collect()
}

/// How many seconds ago pages were visited, by their place in the image.
fn seen_by_place(seen: &[Option<u32>], order: &[usize]) -> Vec<Option<u32>> {
    let age = |index: &usize| seen.get(*index).copied().flatten();
    order.iter().map(age).collect()
}

/// Can this page of a host be fetched at all by who runs the image?
fn reachable(
    page: &ListedPage,
    host: &str,
    options: &Options,
    capacity: Capacity,
) -> Result<(), Error> {
    // Not by parsing it again: a planner of a fleet comes here with millions of pages.
    let scheme = page.url.as_bytes().get(..6).unwrap_or_default();
    let https = scheme.eq_ignore_ascii_case(b"https:") && !capacity.https;
    if https && options.gateway.is_none() {
        return Err(Error::Usage(format!(
            "found {}, expected http://, --https for a firmware that speaks https itself, or a --gateway HOST:PORT that fetches https pages for it",
            page.url
        )));
    }
    if host.starts_with('[') && !capacity.ipv6 && !https {
        return Err(Error::Usage(format!(
            "found {}, expected a name or an IPv4 address: this board's network has no IPv6",
            page.url
        )));
    }
    Ok(())
}

/// Can the image say how long the host has to be left alone?
fn check_politeness(gate: &Gate) -> Result<(), Error> {
    if gate.politeness <= LONGEST_POLITENESS {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{}: found a politeness of {}, expected at most {}",
        gate.name,
        duration::format(gate.politeness),
        duration::format(LONGEST_POLITENESS)
    )))
}

/// Are there not too many stretches, and none that would match everywhere or be forgotten half-way?
fn check_ignored(ignore: &[(String, String)]) -> Result<(), Error> {
    let most = Ignore::MOST;
    if ignore.len() > most {
        return Err(Error::Usage(format!(
            "found {} times --ignore, expected at most {most}",
            ignore.len()
        )));
    }
    match ignore
        .iter()
        .find(|(from, to)| from.is_empty() || from.len().max(to.len()) > LONGEST_MARKER)
    {
        Some((from, to)) => Err(Error::Usage(format!(
            "found --ignore {} {}, expected two markers of at most {LONGEST_MARKER} bytes, the first not empty",
            quoted(from),
            quoted(to)
        ))),
        None => Ok(()),
    }
}

/// Are there not more stretches to be ignored of any page than a probe looks for?
fn check_filters(listing: &Listing, options: &Options) -> Result<(), Error> {
    let general = options.ignore.len();
    let own = |page: &ListedPage| page.filter.as_ref().map_or(0, |filter| filter.ignore.len());
    let too_many = |page: &&ListedPage| !filter::fits_a_probe(general, own(page));
    match listing.list.pages.iter().find(too_many) {
        Some(page) => Err(Error::Usage(format!(
            "{}: found {} stretches to ignore, expected at most {}, those of --ignore included",
            page.url,
            general + own(page),
            Ignore::MOST
        ))),
        None => Ok(()),
    }
}

/// What of some pages counts as a change, as far as a probe can tell: CSS selectors are not for it.
fn page_filters<'l>(listing: &'l Listing, order: &[usize]) -> Vec<(u16, PageFilter<'l>)> {
    let places = order.iter().enumerate();
    let filtered = places.filter_map(|(place, &index)| {
        // Tellers are behind the list's own pages.
        let filter = listing.list.pages.get(index)?.filter.as_ref()?;
        let ignore = filter.ignore.iter().map(Markers::as_ignore);
        let filter = PageFilter {
            select: match &filter.select {
                Some(Select::Between(markers)) => Some(markers.as_select()),
                _ => None,
            },
            // Counted by `check_filters`.
            ignore: ignore.take(Ignore::MOST).collect(),
        };
        (filter != PageFilter::default()).then_some((place as u16, filter))
    });
    filtered.collect()
}

/// The hosts, with the pages of each in one piece of `order`.
fn host_records<'l>(
    listing: &'l Listing,
    order: &[usize],
    host_of: impl Fn(usize) -> usize,
) -> Vec<Host<'l>> {
    let list = &listing.list;
    // The first host of a group stands for all.
    let mut first_of_gate = vec![None; listing.gates.len()];
    for (host, gate) in listing.gate_of_host.iter().enumerate() {
        first_of_gate[*gate].get_or_insert(host);
    }
    let first_of = |host: usize| order.partition_point(|&page| host_of(page) < host);
    let host = |(index, name): (usize, &'l String)| {
        let gate = listing.gate_of_host[index];
        let first = first_of(index);
        let end = first_of(index + 1);
        let settings = &listing.gates[gate];
        Host {
            name,
            gap_ms: u32::try_from(settings.politeness.as_millis()).unwrap_or(u32::MAX),
            hours: settings.hours.map(|hours| (hours.from, hours.to)),
            gate: first_of_gate[gate].unwrap_or(index) as u16,
            first_page: first as u16,
            pages: (end - first) as u16,
        }
    };
    list.hosts.iter().enumerate().map(host).collect()
}

/// The key that a seed stands for.
pub fn key_of_seed(seed: u32) -> [u8; 16] {
    let mut key = [0; 16];
    key.iter_mut()
        .zip(seed.to_le_bytes().iter().cycle())
        .for_each(|(to, from)| *to = from.wrapping_mul(167));
    key
}

fn config(options: &Options) -> Config<'_> {
    let millis = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let mut config = Config::new(&options.agent);
    config.contact = options.contact.as_deref();
    config.per_day = options.per_day.map(|rate| rate as f32);
    config.back_off_ms = millis(options.back_off);
    config.deadline_ms = millis(options.deadline);
    config.seed = options.seed;
    config.key = options.key.unwrap_or_else(|| key_of_seed(options.seed));
    let gateway = options.gateway.as_ref();
    config.gateway = gateway.map(|(host, port)| Gateway { host, port: *port });
    config.address = options.address;
    config.utc_offset_minutes = options.utc_offset_minutes;
    config.log = options.log;
    let sntp = options.sntp.as_ref();
    config.sntp = sntp.map(|(host, port)| TimeServer { host, port: *port });
    config
}
