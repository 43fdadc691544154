//! `dunlin fleet PAGES.csv`: the planner of a fleet, until Ctrl-C.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use dunlin::fleet::Drift;
use dunlin::time::Duration;
use futures_lite::FutureExt as _;

use super::run::{A_CENTURY_S, POLITENESS, until_told};
use super::web_args::{self, WebArgs};
use crate::board::net::{HostConnect, HostResolve};
use crate::board::state_file::random_key;
use crate::duration;
use crate::error::Error;
use crate::fleet::asking::Control;
use crate::fleet::broker::Broker;
use crate::fleet::broker_url::BrokerUrl;
use crate::fleet::collection::Collection;
use crate::fleet::coordinator::{Coordinator, Settings};
use crate::fleet::http::{self, Look, Shared, Site};
use crate::fleet::link;
use crate::fleet::saved::Folder;
use crate::fleet::service::Service;
use crate::lists::hosts;
use crate::lists::listing::{Listing, ListingArgs};
use crate::lists::page_image::Options;
use crate::lists::probe_args::ProbeArgs;
use crate::output::{self, Format};

/// A probe has at most so many times the mean share, whatever it claims.
const CAP: f32 = 3.0;
/// Shorter leases than this are over before a report has been answered.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);
/// A grant counts milliseconds in 32 bits.
const LONGEST_LEASE: Duration = Duration::from_secs(49 * 86_400);

/// What a planner takes.
#[derive(Debug, clap::Args)]
pub struct PlannerArgs {
    /// The page list of the whole fleet: a header row, then one page a line; or a URL a line, a
    /// sitemap, OPML
    #[arg(value_name = "PAGES.csv")]
    pages: Option<PathBuf>,
    /// What is special about some hosts: politeness, group, hours, pin
    #[arg(long, value_name = "HOSTS.csv")]
    hosts: Option<PathBuf>,
    /// Least time between two fetches from one host, by whichever probe [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    politeness: Option<Duration>,
    /// The broker: mqtt://USER:PASSWORD@HOST:PORT/FLEET, mqtts:// over TLS, or @FILE with that in
    /// it
    #[arg(long, value_name = "URL", value_parser = BrokerUrl::parse)]
    broker: Option<BrokerUrl>,
    /// Start the broker that `dunlin fleet init DIR` has configured, unless it is running
    #[arg(long, value_name = "DIR")]
    mosquitto: Option<PathBuf>,
    /// Keep in this folder what the planner knows. One planner at a time can use it
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How long a probe goes on without hearing of the planner
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    lease: Duration,
    /// Where probes get their lists, and the planner its orders: a port on loopback, or an address
    /// and a port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8091", value_parser = web_args::address)]
    listen: SocketAddr,
    /// How probes reach that, if not by this address, such as http://10.0.2.2:8091/
    #[arg(long, value_name = "URL")]
    lists_url: Option<String>,
    /// The probes speak https themselves: https pages need no --gateway
    #[arg(long)]
    https: bool,
    /// Stop after this long, at most a century
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=A_CENTURY_S))]
    seconds: Option<u64>,
    #[command(flatten)]
    pub(super) probe: ProbeArgs,
    #[command(flatten)]
    web: WebArgs,
}

/// Runs the planner.
///
/// # Errors
/// Something is wrong with a file or an option; another planner is at work.
pub fn run(args: &PlannerArgs, format: Format) -> Result<(), Error> {
    args.web.check()?;
    let (Some(pages), Some(state)) = (&args.pages, &args.state) else {
        return Err(Error::Usage(
            "found no PAGES.csv or no --state DIR, expected both, or --simulate PROBES; see 'dunlin fleet --help'".into(),
        ));
    };
    if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&args.lease) {
        return Err(Error::Usage(format!(
            "found --lease {}, expected 1s to 49d",
            duration::format(args.lease)
        )));
    }
    let (collection, options) = collection(args, pages)?;
    let url = broker_url(args)?;
    let folder = Folder::open(state)?;
    let (listener, address) = http::bind(args.listen)?;
    let settings = settings(args, options, &url, address)?;
    let budget = settings.budget;
    let start = Instant::now();
    let now = dunlin::time::Instant::ZERO;
    let random = random_key()?;
    let planner = number(&random[..8]);
    let seed = number(&random[8..]);
    let coordinator = Coordinator::start(settings, collection, folder, [planner, seed], now)?;
    let _broker = args.mosquitto.as_deref().map(Broker::start).transpose()?;
    let shared = Arc::new(Shared {
        coordinator: Mutex::new(coordinator),
        start,
    });
    let token: String = random_key()?
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let control = Control {
        address,
        token: token.clone(),
    };
    shared
        .lock()
        .publish_control(&control)
        .map_err(|why| Error::writing(state, why))?;
    let site = Site::Control {
        token,
        shared: Arc::clone(&shared),
    };
    http::serve(listener, site);
    let looked = Arc::clone(&shared);
    show(&args.web, Arc::new(move || looked.view()))?;
    output::say(format_args!(
        "planning for {url}: {budget:.0} fetches a day, leases of {}, lists at {}",
        duration::format(args.lease),
        shared.lock().lists_url(),
    ));
    work(args, url, &shared, format)
}

/// Shows a fleet in a browser, if that is wanted.
///
/// # Errors
/// The address cannot be listened on.
pub(super) fn show(web: &WebArgs, look: Look) -> Result<(), Error> {
    if let Some((address, token)) = web.site() {
        let (listener, address) = http::bind(address)?;
        http::serve(listener, Site::Seen { token, look });
        output::say(format_args!(
            "fleet: http://{address}/ and http://{address}/metrics"
        ));
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The pages, and what lists of them say besides.
fn collection(args: &PlannerArgs, pages: &std::path::Path) -> Result<(Collection, Options), Error> {
    let listing = ListingArgs {
        pages: pages.to_owned(),
        hosts: args.hosts.clone(),
        politeness: args.politeness,
    };
    let politeness = args.politeness.unwrap_or(POLITENESS);
    if args.probe.discover.discover {
        return Err(Error::Usage(
            "found --discover, expected it with a probe that is alone: a fleet's probes visit what its planner lists".into(),
        ));
    }
    let listed = listing.read(POLITENESS)?;
    let options = args.probe.options(&listed)?;
    check_hosts(&listed)?;
    let special = args.hosts.as_deref().map(hosts::read).transpose()?;
    let collection = Collection::new(listed, special.unwrap_or_default(), politeness);
    Ok((collection, options))
}

/// Is there nothing in HOSTS.csv that a fleet's probes would have to know and are not told?
///
/// # Errors
/// A header: a host that needs it would be asked without.
fn check_hosts(listed: &Listing) -> Result<(), Error> {
    if let Some((host, _)) = listed.headers.first() {
        return Err(Error::Usage(format!(
            "{host}: found a header in HOSTS.csv, expected none in a fleet: its lists carry no headers, and probes would ask without"
        )));
    }
    if !listed.tellers.is_empty() {
        output::say("note: `hints` of HOSTS.csv are not for a fleet: its probes learn without");
    }
    Ok(())
}

/// Where the broker is: as it is said, or as the folder of a broker says.
fn broker_url(args: &PlannerArgs) -> Result<BrokerUrl, Error> {
    match (&args.broker, &args.mosquitto) {
        (Some(url), _) => Ok(url.clone()),
        (None, Some(folder)) => {
            let file = folder.join("planner.url");
            let url = BrokerUrl::parse(&format!("@{}", file.display()));
            url.map_err(|why| Error::Usage(format!("--mosquitto: {why}")))
        }
        (None, None) => Err(Error::Usage(
            "found no broker, expected --broker mqtt://USER:PASSWORD@HOST:PORT/FLEET, or --mosquitto DIR after `dunlin fleet init DIR`".into(),
        )),
    }
}

fn settings(
    args: &PlannerArgs,
    mut options: Options,
    url: &BrokerUrl,
    address: SocketAddr,
) -> Result<Settings, Error> {
    if url.tls && !args.https {
        // The authority vouches for the broker: probes without https could not take it in a list.
        options.authorities.clear();
    }
    let Some(budget) = options.per_day else {
        return Err(Error::Usage(
            "found --crawls-per-day max, expected a number: it is what the probes share".into(),
        ));
    };
    let lists = match &args.lists_url {
        Some(url) if url.starts_with("http://") && url.ends_with('/') && url.len() <= 64 => {
            url.clone()
        }
        Some(url) => {
            return Err(Error::Usage(format!(
                "found --lists-url {url}, expected a URL such as http://10.0.2.2:8091/, up to 64 bytes, with a slash at its end"
            )));
        }
        None if address.ip().is_unspecified() => {
            return Err(Error::Usage(format!(
                "found --listen {address}, expected --lists-url with it: probes have to be told an address"
            )));
        }
        None => format!("http://{address}/"),
    };
    Ok(Settings {
        fleet: url.fleet.clone(),
        lists,
        options,
        https: args.https,
        budget: budget as f32,
        cap: CAP,
        lease: args.lease,
        drift: Drift::DEFAULT,
    })
}

/// On the broker, until it is told to stop.
fn work(
    args: &PlannerArgs,
    url: BrokerUrl,
    shared: &Arc<Shared>,
    format: Format,
) -> Result<(), Error> {
    let probes = format!("dunlin/1/{}/probe/+/up", url.fleet);
    let link = link::Settings {
        client: format!("dunlin-planner-{}", url.fleet),
        filters: vec![
            (shared.lock().presence_topic(), false),
            (format!("{probes}/state"), false),
            (format!("{probes}/report"), false),
            (format!("{probes}/visits"), true),
            (format!("{probes}/done"), true),
        ],
        will: None,
        url,
    };
    let connect = HostConnect::to_broker(&link.url.host, args.probe.authorities()?);
    let resolve = HostResolve::default();
    let mut service = Service::new(Arc::clone(shared), format == Format::Json);
    let stop = until_told(args.seconds)?;
    async_io::block_on(stop.or(link::serve(&link, &connect, &resolve, &mut service)));
    let now = shared.now();
    let saved = shared.lock().save_learnt(now);
    if let Some(why) = service.refused {
        return Err(Error::Usage(why));
    }
    let path = args.state.clone().unwrap_or_default();
    saved.map_err(|why| Error::writing(&path, why))
}
