//! `dunlin run`: the probe's own loop on this computer's sockets.

use std::future::{Future, poll_fn};
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use async_io::Timer;
use dunlin::image::Image;
use dunlin::probe::{HostMemory, Memory, PageMemory, Probe, Slot, Totals};
use dunlin::scheduler::{DynTables, Settings};
use dunlin::store::Store;
use dunlin::time::Duration;
use serde::Serialize;

use super::archive_args::ArchiveArgs;
use super::told_args::ToldArgs;
use super::web_args::WebArgs;
use crate::archive::keeper::Keeper;
use crate::board::computer::{Computer, EventLog, Keep, Keeping, unix_time};
use crate::board::flash::FileFlash;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::state_file::{StateFile, random_key};
use crate::board::tape::Tapes;
use crate::board::verify::Trust;
use crate::collect::client::Courier;
use crate::error::Error;
use crate::lists::budget::Budget;
use crate::lists::listing::{ListingArgs, host_name};
use crate::lists::page_image::{self, Capacity, Options};
use crate::lists::terms::{Goal, parse_interval};
use crate::lists::trust;
use crate::monitor::names::Names;
use crate::monitor::own::Watched;
use crate::monitor::web::Site;
use crate::output::{self, Format, Table, file};
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
/// crawl up. Without --state nothing is kept between runs. At the end, a summary; with --format json as a
/// last line on stdout.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// Fetches a day, over all hosts; `max` for what politeness allows [default: 24 a page]
    #[arg(long, value_name = "N|max")]
    crawls_per_day: Option<Budget>,
    /// Stop after this long, at most a century
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=A_CENTURY_S))]
    seconds: Option<u64>,
    /// Fetches at once, from different hosts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=8))]
    slots: u16,
    /// Who asks, as the servers and their robots.txt know it
    #[arg(long, value_name = "NAME", default_value = concat!("dunlin/", env!("CARGO_PKG_VERSION")))]
    agent: String,
    /// Where a webmaster can complain: a URL or an e-mail address
    #[arg(long, value_name = "CONTACT")]
    contact: Option<String>,
    /// Where a host is, instead of asking for its name; `*` for all hosts
    #[arg(long, value_name = "HOST=IP")]
    resolve: Vec<String>,
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
    /// Keep in this file what is learnt: a second run resumes. One run at a time can use it
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// What `min`, `max` and `updates` of the list are counted in, from midnight UTC on
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, default_value = "24h")]
    interval: Duration,
    /// What is to be kept small: the time that copies are stale, or how long they have been so
    #[arg(long, value_enum, default_value_t)]
    objective: Goal,
    /// For the little that is random, and for the key that what is stored is known by: the same
    /// seed, the same key. Without it, the key is drawn at random and kept in the state file
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
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
    web: WebArgs,
}

/// What runs longer can as well run without an end.
const A_CENTURY_S: u64 = 36_500 * 86_400;
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
/// For each page that redirects lead away: its URL and what is known of the way there.
const REDIRECT_BYTES: usize = 320;
/// The window requests and responses pass through.
const WINDOW: usize = 4096;

/// Runs the command.
///
/// # Errors
/// Something wrong with a file or an option; nothing has been fetched then.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    args.web.check()?;
    let log = args.log.iter().map(|path| ("--log", path.as_path()));
    let state = args.state.iter().map(|path| ("--state", path.as_path()));
    let written = log.chain(state).chain(args.told.files());
    file::keep_apart(&written.collect::<Vec<_>>(), &args.listing.files())?;
    let listing = args.listing.read(POLITENESS)?;
    let budget = args.crawls_per_day.unwrap_or_default();
    let resolve =
        HostResolve::new(args.resolve.iter().map(String::as_str)).map_err(Error::Usage)?;
    let options = Options {
        agent: args.agent.clone(),
        contact: args.contact.clone(),
        per_day: budget.per_day(&listing),
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
    let (image, order) = page_image::build(&listing, &options, CAPACITY)?;
    let image = Image::parse(&image).map_err(wrong)?;
    let new_key = match args.seed {
        Some(_) => None,
        None => Some(random_key()?),
    };
    let state = args.state.as_deref();
    let state = state.map(|path| StateFile::open(path, new_key));
    let state = state.transpose()?;
    let kept = Kept {
        // A seed that is given stands for the key that it always stood for, and so does a state
        // that was begun without a key of its own.
        key: match (&state, args.seed) {
            (_, Some(_)) => None,
            (Some(state), None) => state.key,
            (None, None) => new_key,
        },
        flash: state.map(|state| state.flash),
    };
    let hosts = listing.list.hosts.iter();
    let trust = Trust {
        authorities: options.authorities,
        own: hosts
            .map(|host| host_name(host).to_ascii_lowercase())
            .collect(),
        pins: listing.pins.iter().cloned().collect(),
    };
    let connect = HostConnect::new(trust);
    let archive = args.archive.open()?;
    let token = args.collect_token.as_ref().map(|name| {
        std::env::var(name).map_err(|_| {
            Error::Usage(format!(
                "found no environment variable {name}, expected the collector's token in it"
            ))
        })
    });
    let token = token.transpose()?;
    let told = args.told.start(&connect, &resolve, unix_time())?;
    say_if_proxied();
    let log = args.log.as_deref().map(EventLog::open).transpose()?;
    output::say(budget.describe(&listing));
    let watched = args.web.is_asked().then(|| Names::of(&image));
    let watched = watched.transpose().map_err(wrong)?.map(Watched::new);
    if let Some(watched) = &watched {
        args.web.start(Site {
            probes: watched.probes(),
            recent: Some(told.recent()),
            archive: args.archive.folder().cloned(),
        })?;
    }
    let courier = args
        .collect
        .as_ref()
        .map(|url| Keep::There(Courier::new(url, token, connect.clone(), resolve.clone())));
    let keep = archive.map(|archive| Keep::Here(Keeper::new(archive)));
    let keep = keep.or(courier);
    let tapes = Rc::new(Tapes::new(match &keep {
        Some(_) => args.slots.into(),
        None => 0,
    }));
    let keeping = keep.map(|keep| Keeping {
        keep,
        tapes: Rc::clone(&tapes),
        revisits: args.archive.wants_revisits(),
    });
    let board = Computer::new(&listing, order, log, watched, told, keeping);
    let network = Network {
        connect,
        resolve,
        tapes,
    };
    let (summary, lost) = crawl(image, board, network, kept, args)?;
    report(&summary, format)?;
    lost.map_or(Ok(()), Err)
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
            "{name} is set, but proxies are not used: hosts are asked directly"
        ));
    }
}

/// The way to other computers.
struct Network {
    connect: HostConnect,
    resolve: HostResolve,
    /// What goes over the connections, for the archive.
    tapes: Rc<Tapes>,
}

/// What outlives a run.
struct Kept {
    /// Instead of the image's key.
    key: Option<[u8; 16]>,
    /// Where what is learnt is stored.
    flash: Option<FileFlash>,
}

/// The loop, until it is told to stop: what came of it, and why a part of that could not be written
/// down.
fn crawl(
    image: Image<'_>,
    board: Computer<'_>,
    network: Network,
    kept: Kept,
    args: &Args,
) -> Result<(Summary, Option<Error>), Error> {
    let mut tables = DynTables::new(image.pages(), image.hosts());
    let mut pages = vec![PageMemory::NEW; image.pages()];
    let mut hosts = vec![HostMemory::NEW; image.hosts()];
    let mut redirects = vec![0; REDIRECT_BYTES * image.pages()];
    let memory = Memory {
        scheduler: tables.scheduler(Settings::DEFAULT),
        pages: &mut pages,
        hosts: &mut hosts,
        redirects: &mut redirects,
    };
    let probe = Probe::new(image, memory, args.slots.into(), board).map_err(wrong)?;
    let probe = match kept.key {
        Some(key) => probe.with_key(key),
        None => probe,
    };
    let mut store = kept.flash.map(Store::new);
    let resumed = store
        .as_mut()
        .map(|store| async_io::block_on(probe.persistence().restore(store, true)));
    probe.set_online(true);
    let mut buffers = vec![[0; WINDOW]; args.slots.into()];
    let mut slots: Vec<_> = buffers
        .iter_mut()
        .enumerate()
        .map(|(number, buffer)| Slot {
            connect: network.tapes.around(number, network.connect.clone()),
            resolve: network.resolve.clone(),
            buffer,
        })
        .collect();
    let mut work: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for (number, slot) in slots.iter_mut().enumerate() {
        let probe = &probe;
        let tapes = &network.tapes;
        work.push(Box::pin(async move {
            tapes.during(number, probe.run_slot(number, slot)).await
        }));
    }
    work.push(Box::pin(async { probe.keep_house().await }));
    if let Some(store) = &mut store {
        let probe = &probe;
        work.push(Box::pin(
            async move { probe.persistence().run(store).await },
        ));
    }
    if std::io::stderr().is_terminal() {
        work.push(Box::pin(async { show_status(&probe).await }));
    }
    let mut stop = std::pin::pin!(until_told(args.seconds)?);
    // So few futures that polling all of them when one wakes costs nothing.
    async_io::block_on(poll_fn(|context| {
        for future in &mut work {
            let _: Poll<()> = future.as_mut().poll(context);
        }
        stop.as_mut().poll(context)
    }));
    drop(work);
    probe.board().finish();
    let mut lost = probe.board().lost();
    if let Some(store) = &mut store {
        async_io::block_on(probe.persistence().save(store));
        lost = lost.or(store.flash().finish().err());
    }
    let summary = Summary {
        resumed_pages: resumed.map_or(0, |resumed| resumed.pages),
        ..Summary::new(&probe)
    };
    Ok((summary, lost))
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

/// A line about what has happened, rewritten in place, for ever. *Cancellation*: safe.
async fn show_status(probe: &Probe<'_, Computer<'_>>) -> ! {
    loop {
        let totals = probe.totals();
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K{} fetched, {} unchanged (304), {} changed, {} errors, {} denied by robots, {} bytes",
            totals.fetches,
            totals.not_modified,
            totals.changed,
            totals.errors,
            totals.denied,
            totals.bytes
        );
        Timer::after(std::time::Duration::from_secs(1)).await;
    }
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Summary {
    fetches: u32,
    not_modified: u32,
    changed: u32,
    errors: u32,
    robots_denied: u32,
    bytes: u64,
    freshness_estimate: Option<f32>,
    optimum_estimate: Option<f32>,
    resumed_pages: u16,
}

impl Summary {
    fn new(probe: &Probe<'_, Computer<'_>>) -> Self {
        let Totals {
            fetches,
            not_modified,
            changed,
            errors,
            denied,
            bytes,
            ..
        } = probe.totals();
        let (freshness_estimate, optimum_estimate) = probe.freshness();
        Self {
            fetches,
            not_modified,
            changed,
            errors,
            robots_denied: denied,
            bytes,
            freshness_estimate,
            optimum_estimate,
            resumed_pages: 0,
        }
    }
}

fn report(summary: &Summary, format: Format) -> Result<(), Error> {
    if format == Format::Json {
        return output::print(&output::json(summary));
    }
    let mut table = Table::new(&[
        "fetches",
        "304",
        "changed",
        "errors",
        "robots_denied",
        "bytes",
        "freshness",
        "optimum",
    ]);
    let share = |share: Option<f32>| share.map_or_else(String::new, |share| format!("{share:.4}"));
    table.row(vec![
        summary.fetches.to_string(),
        summary.not_modified.to_string(),
        summary.changed.to_string(),
        summary.errors.to_string(),
        summary.robots_denied.to_string(),
        summary.bytes.to_string(),
        share(summary.freshness_estimate),
        share(summary.optimum_estimate),
    ]);
    let text = if format == Format::Csv {
        table.to_csv()
    } else {
        table.to_text()
    };
    // Stdout holds the news.
    let _ = write!(std::io::stderr(), "\n{text}");
    Ok(())
}
