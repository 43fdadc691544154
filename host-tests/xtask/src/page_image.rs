//! Page lists as the firmware takes them: PAGES.csv and options in, a page image out.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dunlin::fetch::Agent;
use dunlin::image::{self, Address, Config, Gateway, Host, LogLevel, Name, Page};
use dunlin::time::Duration;
use dunlin_host::error::Error;
use dunlin_host::listing::Listing;
use dunlin_host::pages::Change;
use object::{Object, ObjectSymbol};

use crate::capacity;
use crate::qemu::temporary;

/// How firmly a given rate is believed, in changes seen.
const KNOWN: f32 = 1_000.0;
/// And one that is only guessed: the least there is.
const GUESSED: f32 = 0.0;

/// Everything an image says besides the list.
#[derive(Clone, Debug)]
pub struct Options {
    pub agent: String,
    pub contact: Option<String>,
    pub per_day: Option<f64>,
    pub back_off: Duration,
    pub deadline: Duration,
    pub seed: u32,
    /// `HOST=IP`; host `*` for all others.
    pub resolve: Vec<(String, Ipv4Addr)>,
    pub gateway: Option<(String, u16)>,
    pub address: Address,
    pub utc_offset_minutes: i16,
    pub log: LogLevel,
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
            resolve: Vec::new(),
            gateway: None,
            address: Address::Dhcp,
            utc_offset_minutes: 0,
            log: LogLevel::Info,
        }
    }
}

/// Makes the image, or says why this firmware cannot run on such a list. Pages are sorted by host: the list's index of
/// each page of the image comes back, too.
///
/// # Errors
/// [`Error::Usage`]
pub fn build(listing: &Listing, options: &Options) -> Result<(Vec<u8>, Vec<usize>), Error> {
    let list = &listing.list;
    let (pages, hosts) = (list.pages.len(), list.hosts.len());
    if pages > capacity::PAGES || hosts > capacity::HOSTS {
        return Err(Error::Usage(format!(
            "found {pages} pages on {hosts} hosts, expected at most {} pages on {} hosts: this firmware holds no more",
            capacity::PAGES,
            capacity::HOSTS
        )));
    }
    Agent::new(&options.agent, options.contact.as_deref()).map_err(|why| Error::Usage(why.to_string()))?;
    let mut order: Vec<usize> = (0..pages).collect();
    order.sort_by_key(|&page| list.pages[page].host);
    let mut records = Vec::new();
    for &index in &order {
        let page = &list.pages[index];
        if page.url.to_ascii_lowercase().starts_with("https:") && options.gateway.is_none() {
            return Err(Error::Usage(format!(
                "found {}, expected http:// or a --gateway HOST:PORT that fetches https pages for the probe",
                page.url
            )));
        }
        let rate = match page.change {
            Change::Poisson { rate } | Change::Weibull { rate, .. } | Change::Pareto { rate, .. } => rate,
            Change::Quasi { ref updates } => Some(updates.iter().map(|update| update.probability).sum()),
        };
        // A rate that is given counts as known. One that is not: whoever chose the budget had a reason, so a page is
        // taken to change about as often as it can be visited, until it shows otherwise.
        let guess = options.per_day.map(|per_day| per_day / pages as f64);
        let confidence = if rate.is_some() { KNOWN } else { GUESSED };
        let rate = rate.or(guess).map(|rate: f64| rate as f32);
        let (host, weight) = (page.host as u16, page.weight as f32);
        records.push(Page { host, url: &page.url, weight, rate, confidence });
    }
    let gate_leaders: Vec<usize> = listing
        .gate_of_host
        .iter()
        .map(|gate| listing.gate_of_host.iter().position(|other| other == gate).unwrap_or(0))
        .collect();
    let first_of = |host: usize| order.partition_point(|&page| list.pages[page].host < host);
    let host = |(index, name): (usize, &'_ String)| {
        let gate = &listing.gates[listing.gate_of_host[index]];
        let (first, end) = (first_of(index), first_of(index + 1));
        // No politeness at all is for tests; the gap still keeps a host to one fetch at a time.
        let gap_ms = u32::try_from(gate.politeness.as_millis()).unwrap_or(u32::MAX);
        (name.clone(), gap_ms, gate.hours, gate_leaders[index], first, end - first)
    };
    let hosts: Vec<_> = list.hosts.iter().enumerate().map(host).collect();
    let hosts: Vec<Host<'_>> = hosts
        .iter()
        .map(|(name, gap_ms, hours, gate, first, count)| Host {
            name,
            gap_ms: *gap_ms,
            hours: hours.map(|hours| (hours.from, hours.to)),
            gate: *gate as u16,
            first_page: *first as u16,
            pages: *count as u16,
        })
        .collect();
    let names: Vec<Name<'_>> =
        options.resolve.iter().map(|(host, address)| Name { host, address: address.octets() }).collect();
    let image = image::build(&config(options), &names, &hosts, &records);
    // What the firmware would say, before it is asked.
    image::Image::parse(&image).map_err(|why| Error::Usage(why.to_string()))?;
    Ok((image, order))
}

fn config(options: &Options) -> Config<'_> {
    let mut key = [0; 16];
    key.iter_mut()
        .zip(options.seed.to_le_bytes().iter().cycle())
        .for_each(|(to, from)| *to = from.wrapping_mul(167));
    let millis = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    Config {
        agent: &options.agent,
        contact: options.contact.as_deref(),
        per_day: options.per_day.map(|rate| rate as f32),
        back_off_ms: millis(options.back_off),
        deadline_ms: millis(options.deadline),
        body_bytes: 1 << 20,
        seed: options.seed,
        key,
        gateway: options.gateway.as_ref().map(|(host, port)| Gateway { host, port: *port }),
        address: options.address,
        utc_offset_minutes: options.utc_offset_minutes,
        log: options.log,
    }
}

/// An image in a file of its own, removed when dropped.
#[derive(Debug)]
pub struct ImageFile {
    pub path: PathBuf,
    /// Where the firmware expects it.
    pub address: u64,
}

impl ImageFile {
    /// Writes `bytes` for the firmware `elf`.
    pub fn write(bytes: &[u8], elf: &Path) -> Result<Self> {
        let elf = fs::read(elf)?;
        let file = object::File::parse(&*elf)?;
        let symbol =
            |name| file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address());
        let (start, end) = symbol("_image_start")
            .zip(symbol("_image_end"))
            .context("the firmware has no place for images")?;
        let room = (end - start) as usize;
        ensure!(
            bytes.len() <= room,
            "the page image takes {} bytes, the firmware has room for {room}",
            bytes.len()
        );
        let path = temporary("image");
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, address: start })
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
