//! `dunlin run`: the probe's own loop on this computer's sockets.
//!
//! Options and how a run goes on are here, `crawl.rs` crawls one list, `summary.rs` says what came
//! of it.

mod crawl;
mod summary;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_io::Timer;
use dunlin::image::Image;
use dunlin::time::Duration;

use self::crawl::crawl_list;
use self::summary::{Summary, report};
use super::archive_args::ArchiveArgs;
use super::push_args::PushArgs;
use super::told_args::ToldArgs;
use super::web_args::WebArgs;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::proxy::Proxy;
use crate::board::room::MOST_PLACES;
use crate::board::state_file::{FOUND, beside, random_key};
use crate::board::verify::Trust;
use crate::board::visit_log::VISITS;
use crate::duration;
use crate::error::Error;
use crate::fleet::join_args::JoinArgs;
use crate::fleet::joined::{Joined, listing_of};
use crate::lists::budget::Budget;
use crate::lists::constraints::{Goal, parse_interval};
use crate::lists::discovery::DiscoverArgs;
use crate::lists::listing::{Listing, ListingArgs, host_name};
use crate::lists::page_image::{self, Capacity, Options};
use crate::lists::trust;
use crate::output::{self, Format, file};
use crate::post::PostUrl;

/// Watch pages for changes, politely, until Ctrl-C
///
/// The same loop as on a microcontroller, on this computer's sockets: it obeys robots.txt, leaves
/// 15 s between two requests to a host, asks conditionally, learns how often each page changes and
/// spends the budget accordingly: 24 visits a page and day unless you say otherwise. What happens
/// is one line of JSON on stdout:
///
///   {"time":1794000000,"event":"changed","url":"http://example.org/","status":200,"bytes":5120,
///    "milliseconds":84,"first":false,"encoded":false,"cut":false}
///   {"time":1794000009,"event":"failed","url":"https://example.com/",
///    "reason":"its certificate has expired"}
///
/// `event` is changed, gone (404, 410), refused (401, 403, robots.txt, …), failed, recovered or
/// host-backed-off (with `host`); bad news has a `reason`. `first`: there is no earlier version.
/// `encoded`: compressed unasked, and compared as it is. `cut`: longer than 1 MiB, and compared up
/// to there.
///
/// --exec, --webhook and --feed tell others of changes and bad news, once each, and never hold the
/// crawl up. Without --state nothing is kept between runs. At the end, a summary on stderr, with
/// --format csv as CSV; with --format json it is a last line on stdout.
///
/// With --fleet it is a probe of a fleet: page list, budget and lease come from the fleet's
/// planner, and nothing is asked without a lease.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, mut_arg("pages", |pages| pages.required(false)))]
pub struct Args {
    #[command(flatten)]
    listing: Option<ListingArgs>,
    #[command(flatten)]
    join: JoinArgs,
    /// Fetches a day, over all hosts; `max` for what politeness allows [default: 24 a page]
    #[arg(long, value_name = "N|max")]
    crawls_per_day: Option<Budget>,
    /// Stop after this long, at most a century
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=A_CENTURY_S))]
    seconds: Option<u64>,
    /// Fetches at once, from different hosts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=8))]
    slots: u16,
    /// How long a whole fetch may take, from its host's address to the last byte
    #[arg(long, value_name = "DURATION", value_parser = parse_deadline, default_value = "30s")]
    deadline: Duration,
    /// Who asks, as the servers and their robots.txt know it
    #[arg(long, value_name = "NAME", default_value = concat!("dunlin/", env!("CARGO_PKG_VERSION")))]
    agent: String,
    /// Where a webmaster can complain: a URL or an e-mail address
    #[arg(long, value_name = "CONTACT")]
    contact: Option<String>,
    /// Where a host is, instead of asking for its name; `*` for all hosts
    #[arg(long, value_name = "HOST=IP")]
    resolve: Vec<String>,
    /// Ask this proxy instead of the hosts themselves: http://[USER:PASSWORD@]HOST:PORT, with
    /// environment variables as $NAME
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Trust this certificate authority for the hosts of the list, besides those that the system
    /// trusts: a PEM file
    #[arg(long, value_name = "FILE.pem")]
    ca: Option<PathBuf>,
    /// What stands between two markers is no change, such as --ignore 'nonce="' '"' (up to 8 times)
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    ignore: Vec<String>,
    /// Write these lines to this file as well, behind what it holds
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write each visit that brought an answer to this file, behind what it holds: a HISTORY.csv
    /// for `dunlin estimate`
    #[arg(long, value_name = "HISTORY.csv")]
    visits: Option<PathBuf>,
    /// Keep in this file what is learnt: a second run resumes. One run at a time can use it. Visits
    /// are in FILE.visits, for `dunlin export --visits`
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// What `min`, `max` and `updates` of the list are counted in, from midnight UTC on
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, default_value = "24h")]
    interval: Duration,
    /// What is to be kept small: the time that copies are stale, or how long they have been so
    #[arg(long, value_enum, default_value_t)]
    objective: Goal,
    /// For the little that is random, and for the key that what is stored is known by: the same
    /// seed, the same key [default: 1, and a key that is drawn at random and kept in the state file]
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    #[command(flatten)]
    discover: DiscoverArgs,
    /// Write the collection to this file at the end, as a page list
    #[arg(long, value_name = "FILE", requires = "discover")]
    export: Option<PathBuf>,
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Deliver each page that has changed to the collector there: http://HOST:PORT/
    #[arg(long, value_name = "URL", conflicts_with = "archive", value_parser = PostUrl::parse)]
    collect: Option<PostUrl>,
    /// The collector's token, from this environment variable
    #[arg(long, value_name = "NAME", requires = "collect")]
    collect_token: Option<String>,
    #[command(flatten)]
    told: ToldArgs,
    #[command(flatten)]
    push: PushArgs,
    #[command(flatten)]
    web: WebArgs,
}

/// What runs longer can as well run without an end.
pub const A_CENTURY_S: u64 = 36_500 * 86_400;
/// The seed where none is given.
const DEFAULT_SEED: u32 = 1;
/// More than this would have to be numbered with more bits.
const CAPACITY: Capacity = Capacity {
    pages: 65_534,
    hosts: 65_534,
    https: true,
    ipv6: true,
};
/// What `run` and `xtask qemu` leave between two requests to a host unless told otherwise.
pub const POLITENESS: Duration = Duration::from_secs(15);
/// Runs the command.
///
/// # Errors
/// Something wrong with a file or an option; nothing has been fetched then.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    args.web.check()?;
    let found = args.state.as_deref().filter(|_| args.discover.discover);
    let found = found.map(|state| beside(state, FOUND));
    let kept_visits = args.state.as_deref().map(|state| beside(state, VISITS));
    let log = args.log.iter().map(|path| ("--log", path.as_path()));
    let state = args.state.iter().map(|path| ("--state", path.as_path()));
    let visits = args.visits.iter().map(|path| ("--visits", path.as_path()));
    let export = args.export.iter();
    let export = export.map(|path| ("--export", path.as_path()));
    let written = log.chain(state).chain(visits).chain(export);
    let written = written.chain(args.told.files());
    let found = found.iter();
    let written = written.chain(found.map(|path| ("--state with .found", path.as_path())));
    let kept_visits = kept_visits.iter();
    let written = written.chain(kept_visits.map(|path| ("--state with .visits", path.as_path())));
    let read = args.listing.as_ref().map(ListingArgs::files);
    let mut read = read.unwrap_or_default();
    read.extend(args.push.files());
    file::keep_apart(&written.collect::<Vec<_>>(), &read)?;
    let place = args.join.place()?;
    let listing = match (&args.listing, place) {
        (Some(listing), None) => listing.read(POLITENESS)?,
        (None, Some(_)) => no_pages(args)?,
        (found, _) => return Err(one_list(found.is_some())),
    };
    let budget = args.crawls_per_day.unwrap_or_default();
    budget.check(&listing, args.interval)?;
    let wanted = match place {
        None => args.discover.wanted(&listing, MOST_PLACES)?,
        Some(_) => None,
    };
    let resolve =
        HostResolve::new(args.resolve.iter().map(String::as_str)).map_err(Error::Usage)?;
    let options = Options {
        agent: args.agent.clone(),
        contact: args.contact.clone(),
        per_day: match (place, &wanted) {
            (Some(_), _) => None,
            (None, Some(wanted)) => wanted.per_day(budget, &listing, args.interval),
            (None, None) => budget.per_day(&listing, args.interval),
        },
        discovery: wanted.clone(),
        deadline: args.deadline,
        seed: args.seed.unwrap_or(DEFAULT_SEED),
        ignore: page_image::pairs(&args.ignore),
        interval: args.interval,
        objective: args.objective.into(),
        authorities: match &args.ca {
            Some(path) => trust::authorities(path)?,
            None => Vec::new(),
        },
        ..Options::default()
    };
    let proxy = args.proxy.as_deref();
    let proxy = proxy.map(|text| Proxy::find(text, variable)).transpose()?;
    let to_broker = resolve.clone();
    let resolve = resolve.through(proxy.as_ref());
    let proxy = proxy.map(Arc::new);
    let (image, order) = page_image::build(&listing, &options, CAPACITY)?;
    if proxy.is_none() {
        say_if_proxied();
    }
    let new_key = match args.seed {
        Some(_) => None,
        None => Some(random_key()?),
    };
    let authorities = &options.authorities;
    let mut stop = std::pin::pin!(until_told(args.seconds)?);
    let Some(place) = place else {
        let list = (&listing, order, image);
        let connect = HostConnect::new(trust(&listing, authorities)).through(proxy);
        let mut said = vec![budget.describe(&listing, args.interval)];
        said.extend(wanted.iter().map(|wanted| wanted.describe(&listing)));
        let network = (connect, resolve);
        let until = (stop.as_mut(), None);
        let (summary, lost, _) = crawl_list(args, list, wanted, network, new_key, until, &said)?;
        report(&summary, format)?;
        return lost.map_or(Ok(()), Err);
    };
    let mut memory = Box::new(dunlin_fleet::Memory::NEW);
    let broker = HostConnect::to_broker(&place.broker.host, authorities.clone());
    let network = (broker, to_broker);
    let [a, b, c, d, ..] = random_key()?;
    let boot = (u32::from_le_bytes([a, b, c, d]), args.slots);
    let mut joined = Joined::new(place, network, &mut memory, boot);
    output::say(format_args!(
        "a probe of the fleet at {}: {}",
        place.broker, place.probe
    ));
    let mut listing = listing;
    let mut order = order;
    let mut image = image;
    let mut whole = Summary::default();
    let mut missed = None;
    loop {
        let connect = HostConnect::new(trust(&listing, authorities)).through(proxy.clone());
        let list = (&listing, order, image);
        let network = (connect, resolve.clone());
        let until = (stop.as_mut(), Some(&mut joined));
        let (summary, lost, next) = crawl_list(args, list, None, network, new_key, until, &[])?;
        whole.add(&summary);
        missed = missed.or(lost);
        let Some(next) = next else { break };
        listing = listing_of(&Image::parse(&next).map_err(wrong)?)?;
        order = (0..listing.list.pages.len()).collect();
        image = next;
    }
    report(&whole, format)?;
    missed.map_or(Ok(()), Err)
}

fn parse_deadline(text: &str) -> Result<Duration, String> {
    let deadline = duration::parse(text)?;
    if (Duration::from_secs(1)..=Duration::HOUR).contains(&deadline) {
        return Ok(deadline);
    }
    Err("expected a deadline from 1s to 1h, such as 30s".into())
}

/// What a probe of a fleet begins with.
fn no_pages(args: &Args) -> Result<Listing, Error> {
    if args.web.is_asked() {
        let found = "found --web with --fleet, expected it with the fleet's planner";
        return Err(Error::Usage(found.into()));
    }
    Ok(Listing::default())
}

/// What to say to who gave both or neither.
fn one_list(found: bool) -> Error {
    Error::Usage(
        match found {
            true => {
                "found PAGES.csv and --fleet, expected one of them: a fleet's planner has the list"
            }
            false => "found neither PAGES.csv nor --fleet, expected one of them",
        }
        .into(),
    )
}

/// Whom to trust for the hosts of a list.
fn trust(listing: &Listing, authorities: &[Vec<u8>]) -> Trust {
    let hosts = listing.list.hosts.iter();
    Trust {
        authorities: authorities.to_vec(),
        own: hosts
            .map(|host| host_name(host).to_ascii_lowercase())
            .collect(),
        pins: listing.pins.iter().cloned().collect(),
    }
}

/// What the environment has under this name.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn wrong(why: dunlin::image::ImageError) -> Error {
    Error::Usage(why.to_string())
}

/// Says that proxies are not used, to whoever has set one.
fn say_if_proxied() {
    const NAMES: [&str; 6] = [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ];
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(name) = NAMES.into_iter().find(|name| is_set(name)) {
        output::say(format_args!(
            "{name} is set, but not used: hosts are asked directly; --proxy \"${name}\" asks it"
        ));
    }
}

/// Completes after so many seconds, or at Ctrl-C.
pub fn until_told(seconds: Option<u64>) -> Result<impl Future<Output = ()>, Error> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|why| Error::Usage(format!("cannot listen for Ctrl-C: {why}")))?;
    // A moment that the system's clock cannot say never comes.
    let end = seconds.and_then(|seconds| {
        std::time::Instant::now().checked_add(std::time::Duration::from_secs(seconds))
    });
    Ok(async move {
        while !STOP.load(Ordering::Relaxed) && end.is_none_or(|end| std::time::Instant::now() < end)
        {
            Timer::after(std::time::Duration::from_millis(100)).await;
        }
    })
}
