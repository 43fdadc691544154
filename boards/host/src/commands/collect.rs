//! `dunlin collect`: one archive for many probes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_io::Timer;
use futures_lite::FutureExt as _;

use super::archive_args::ArchiveArgs;
use super::run::{A_CENTURY_S, until_told};
use super::told_args::ToldArgs;
use super::web_args::{self, WebArgs};
use crate::archive::LONGEST_BODY;
use crate::archive::exchange::Answer as Archived;
use crate::board::computer::unix_time;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::verify::Trust;
use crate::collect::publish::{Publish, Publisher, Publishing};
use crate::collect::server::{self, Said};
use crate::collect::tokens::Tokens;
use crate::error::Error;
use crate::filter::Filters;
use crate::lists::constraints::parse_interval;
use crate::lists::pages::PageList;
use crate::monitor::web::Site;
use crate::news::Kind;
use crate::output::{self, Format};
use crate::told::Told;
use crate::told::message::{Answer, Message};

/// Collect what probes fetch into one archive, until Ctrl-C
///
/// Probes, and `dunlin run --collect`, deliver each page that has changed; it is kept in --archive
/// DIR, as WARC files and an index, once for each version. What has been acknowledged to a probe is
/// in the archive, whatever happens next. A full disk is said, and told to the probes. What is
/// kept, and bad news of `dunlin run --collect`, is one line of JSON on stdout, like those of
/// `dunlin run`; --exec, --webhook and --feed tell others, --web shows changes, histories and
/// differences.
///
/// --tokens FILE says who may deliver: on each line the name of a probe, a space and its token.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Where probes deliver: a port on loopback, or an address and a port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8090", value_parser = web_args::address)]
    listen: SocketAddr,
    /// The probes that may deliver, and their tokens; needed where the address is not loopback
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Stop after this long, at most a century
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=A_CENTURY_S))]
    seconds: Option<u64>,
    /// The page list, whose columns `select` and `ignore` say what of a page counts: what differs
    /// in nothing that counts is the same version. Names of pages are told, too
    #[arg(long, value_name = "PAGES.csv")]
    pages: Option<PathBuf>,
    #[command(flatten)]
    archive: ArchiveArgs,
    /// When whoever serves the archive by its published.cdxj sees new versions. Shadowed, readers
    /// see one state of the whole collection until the next
    #[arg(long, value_name = "HOW", value_enum)]
    publish: Option<Publish>,
    /// The time between two publications with --publish shadow, from midnight UTC on
    #[arg(long, value_name = "DURATION", default_value = "1d", value_parser = parse_interval)]
    every: dunlin::time::Duration,
    #[command(flatten)]
    told: ToldArgs,
    #[command(flatten)]
    web: WebArgs,
}

/// The index is brought up to date this often, if there is anything new.
const TIDY: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
/// Something wrong with an option, a file or the archive; at the end, news that was not written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    args.web.check()?;
    if format == Format::Csv {
        let found =
            "found --format csv, expected json or none: what is kept is a line of JSON each";
        return Err(Error::Usage(found.into()));
    }
    if args.tokens.is_none() && !args.listen.ip().is_loopback() {
        return Err(Error::Usage(format!(
            "found --listen {}, which others can reach, expected --tokens FILE with it",
            args.listen
        )));
    }
    let tokens = args.tokens.as_deref().map(Tokens::read).transpose()?;
    let list = args.pages.as_deref().map(PageList::read).transpose()?;
    let list = list.unwrap_or_default();
    let filters = Arc::new(Filters::of(&list, &[]));
    let Some(archive) = args.archive.open()? else {
        let expected = "found no --archive, expected --archive DIR, where everything is kept";
        return Err(Error::Usage(expected.into()));
    };
    let folder = args.archive.folder().cloned().unwrap_or_default();
    let publishing = args
        .publish
        .map(|how| Publishing::new(how, args.every.as_secs_f64(), 0.0));
    let publisher = publishing.map(|how| Publisher::new(how, &folder, unix_time() as f64));
    let publisher = publisher.transpose();
    let mut publisher = publisher.map_err(|why| Error::writing(&folder, why))?;
    let connect = HostConnect::new(Trust::default());
    let mut told = args
        .told
        .start(&connect, &HostResolve::default(), unix_time())?;
    let names = list.pages.into_iter();
    let names: HashMap<String, String> = names
        .filter_map(|page| Some((page.url, page.name?)))
        .collect();
    if args.web.is_asked() || args.told.has_feed() {
        told.resume(&archive, |url| names.get(url).cloned())?;
    }
    if args.web.is_asked() {
        args.web.start(Site {
            probes: Default::default(),
            recent: Some(told.recent()),
            archive: args.archive.folder().cloned(),
            filters: Arc::clone(&filters),
        })?;
    }
    let told = Arc::new(Mutex::new((told, None)));
    let heard = Arc::clone(&told);
    let (address, tidy) = server::start(
        args.listen,
        archive.with_filters(filters),
        tokens,
        Box::new(move |said| {
            if let Ok(mut heard) = heard.lock() {
                let (told, lost) = &mut *heard;
                let Err(why) = tell(told, &message(said, &names)) else {
                    return;
                };
                if lost.is_none() {
                    output::say(format_args!("{why}; news is lost until that works again"));
                    *lost = Some(why);
                }
            }
        }),
    )?;
    output::say(format_args!("collecting at http://{address}/"));
    let stop = until_told(args.seconds)?;
    async_io::block_on(async {
        let mut stop = std::pin::pin!(stop);
        let mut failing = false;
        loop {
            let told = async {
                stop.as_mut().await;
                true
            };
            let quiet = async {
                Timer::after(TIDY).await;
                false
            };
            let over = told.or(quiet).await;
            match tidy(publisher.as_mut()) {
                Ok(()) => failing = false,
                // It is tried again every second, and said once.
                Err(_) if std::mem::replace(&mut failing, true) => {}
                Err(why) => output::say(format_args!("cannot write the archive's index: {why}")),
            }
            if over {
                break;
            }
        }
    });
    let Ok(mut told) = told.lock() else {
        return Ok(());
    };
    let (told, lost) = std::mem::take(&mut *told);
    told.finish();
    lost.map_or(Ok(()), Err)
}

/// What was heard, as a message.
fn message(said: Said<'_>, names: &HashMap<String, String>) -> Message {
    let (exchange, first) = match said {
        Said::News(message) => return message.clone(),
        Said::Version { exchange, first } => (exchange, first),
    };
    let answer = Archived::read(&exchange.response, LONGEST_BODY).ok();
    Message {
        time: exchange.time,
        event: Kind::Changed,
        url: Some(exchange.url.clone()),
        name: names.get(&exchange.url).cloned(),
        host: None,
        answer: answer.map(|answer| Answer {
            status: answer.status,
            bytes: answer.body.len() as u32,
            milliseconds: 0,
            first,
            encoded: false,
            cut: answer.cut,
        }),
        reason: None,
    }
}

/// Prints a message, and passes it on.
///
/// # Errors
/// It could not be printed, or the feed not be written; everybody else was told.
fn tell(told: &mut Told, message: &Message) -> Result<(), Error> {
    // That a page is as it was is news for those alone who know that it was away.
    if message.event == Kind::Recovered && !told.knows(message.about()) {
        return Ok(());
    }
    let heard = told.hear(message);
    output::print(&output::json(message)).and(heard)
}
