//! One list is crawled, with all that is told and kept meanwhile.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use async_io::Timer;
use dunlin::image::Image;
use dunlin::learn::hints::Hint;
use dunlin::probe::{Board as _, HostMemory, Memory, PageMemory, Probe, Slot};
use dunlin::scheduler::{DynTables, Settings};
use dunlin::store::{Store, TextLog};

use super::summary::Summary;
use super::{Args, variable, wrong};
use crate::archive::keeper::Keeper;
use crate::board::computer::{Computer, EventLog, Judge, Keep, Keeping, unix_time};
use crate::board::flash::FileFlash;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::own::OwnFields;
use crate::board::room::Room;
use crate::board::state_file::StateFile;
use crate::board::tape::Tapes;
use crate::board::texts::TextFlash;
use crate::board::visit_log::VisitLog;
use crate::collect::client::Courier;
use crate::collect::news::{self, NewsPost};
use crate::error::Error;
use crate::filter::Filters;
use crate::fleet::joined::Joined;
use crate::lists::discovery::Wanted;
use crate::lists::listing::Listing;
use crate::lists::page_image;
use crate::lists::pages::ListedPage;
use crate::monitor::names::Names;
use crate::monitor::own::Watched;
use crate::monitor::web::Site;
use crate::output::{self, Table, file};
use crate::post::{Post, PostUrl};
use crate::push::Pushes;
use crate::told::outbox::Outbox;

/// For each page that redirects lead away: its URL and what is known of the way there.
const REDIRECT_BYTES: usize = 320;
/// The window requests and responses pass through.
const WINDOW: usize = 4096;

/// What ends a crawl: somebody says so, or a fleet has another list.
pub(super) type Until<'s, 'j, 'a, S> = (Pin<&'s mut S>, Option<&'j mut Joined<'a>>);
/// What a crawl came to: a summary, why a part of it could not be written down, and the list that
/// follows.
pub(super) type Crawled = (Summary, Option<Error>, Option<Vec<u8>>);

/// Crawls one list, with all that is told and kept meanwhile. What is `said` at the beginning comes
/// when nothing can be wrong with files and options any more.
pub(super) fn crawl_list<S: Future<Output = ()>>(
    args: &Args,
    (listing, order, image): (&Listing, Vec<usize>, Vec<u8>),
    wanted: Option<Wanted>,
    (connect, resolve): (HostConnect, HostResolve),
    new_key: Option<[u8; 16]>,
    until: Until<'_, '_, '_, S>,
    said: &[String],
) -> Result<Crawled, Error> {
    let image = Image::parse(&image).map_err(wrong)?;
    let filters = Filters::of(&listing.list, &page_image::pairs(&args.ignore));
    let filters = Arc::new(filters);
    let fields = OwnFields::of_list(listing, variable)?;
    say_in_the_clear(&fields);
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
        texts: match (&state, &wanted) {
            (Some(state), Some(_)) => state.texts()?,
            _ => TextFlash::in_memory(),
        },
        flash: state.map(|state| state.flash),
        wanted,
    };
    let archive = args.archive.open()?;
    let archive = archive.map(|archive| archive.with_filters(Arc::clone(&filters)));
    let token = args.collect_token.as_ref().map(|name| {
        std::env::var(name).map_err(|_| {
            Error::Usage(format!(
                "found no environment variable {name}, expected the collector's token in it"
            ))
        })
    });
    let token = token.transpose()?;
    let mut told = args.told.start(&connect, &resolve, unix_time())?;
    if let Some(archive) = &archive
        && (args.web.is_asked() || args.told.has_feed())
    {
        let pages = &listing.list.pages;
        told.resume(archive, |url| {
            let page = pages.iter().find(|page| page.url == url);
            page.and_then(|page| page.name.clone())
        })?;
    }
    let collector = collector(args, &image)?;
    if let Some(url) = &collector {
        let post = Post::new(url.at(news::PATH), connect.clone(), resolve.clone());
        let token = token.clone();
        told.also(Outbox::to(NewsPost { post, token }));
    }
    let log = args.log.as_deref().map(EventLog::open).transpose()?;
    let visits = visit_logs(args)?;
    said.iter().for_each(output::say);
    let watched = args.web.is_asked().then(|| Names::of(&image));
    let watched = watched.transpose().map_err(wrong)?.map(Watched::new);
    if let Some(watched) = &watched {
        args.web.start(Site {
            probes: watched.probes(),
            recent: Some(told.recent()),
            archive: args.archive.folder().cloned(),
            filters: Arc::clone(&filters),
        })?;
    }
    let courier = collector
        .as_ref()
        .map(|url| Keep::There(Courier::new(url, token, connect.clone(), resolve.clone())));
    let keep = archive.map(|archive| Keep::Here(Keeper::new(archive)));
    let keep = keep.or(courier);
    let selects = |page: &ListedPage| page.filter.as_ref().is_some_and(|one| one.css().is_some());
    let selects = listing.list.pages.iter().any(selects);
    let tapes = Rc::new(Tapes::new(match keep.is_some() || selects {
        true => args.slots.into(),
        false => 0,
    }));
    let judge = Judge {
        tapes: Rc::clone(&tapes),
        key: kept.key.unwrap_or(image.config().map_err(wrong)?.key),
        filters,
    };
    let keeping = keep.map(|keep| Keeping {
        keep,
        tapes: Rc::clone(&tapes),
        revisits: args.archive.wants_revisits(),
    });
    let pushes = args.push.start(&image)?;
    let board = Computer::new(listing, order, log, watched, told, keeping)
        .with_visits(visits)
        .with_judge(selects.then_some(judge))
        .with_pushes(pushes.clone());
    let network = Network {
        connect: connect.with_fields(fields),
        resolve,
        tapes,
        pushes,
    };
    crawl(image, board, network, kept, args, until)
}

/// Whom copies go to: as this run was told, or as the list of a fleet's planner says, unless this
/// run keeps them itself.
fn collector(args: &Args, image: &Image<'_>) -> Result<Option<PostUrl>, Error> {
    if args.collect.is_some() || args.archive.folder().is_some() {
        return Ok(args.collect.clone());
    }
    let told = image.collector().map(PostUrl::parse).transpose();
    told.map_err(|why| Error::Usage(format!("the list's collector: {why}")))
}

/// Where visits are written down: in the user's file, and beside the state as far as there is room.
fn visit_logs(args: &Args) -> Result<Vec<VisitLog>, Error> {
    let mut logs = Vec::new();
    if let Some(path) = &args.visits {
        logs.push(VisitLog::open(path)?);
    }
    match args.state.as_deref().map(VisitLog::of_state) {
        Some(Ok(log)) => logs.push(log),
        Some(Err(why)) => output::say(format_args!("visits are not kept with the state: {why}")),
        None => {}
    }
    Ok(logs)
}

/// Says which headers others can read on their way.
fn say_in_the_clear(fields: &OwnFields) {
    for host in fields.in_the_clear() {
        output::say(format_args!(
            "the headers for {host} go over http: everybody on the way can read them"
        ));
    }
}

/// The way to other computers.
struct Network {
    connect: HostConnect,
    resolve: HostResolve,
    /// What goes over the connections, for the archive.
    tapes: Rc<Tapes>,
    /// Who says that pages have changed.
    pushes: Option<Arc<Pushes>>,
}

/// What outlives a run.
struct Kept {
    /// Instead of the image's key.
    key: Option<[u8; 16]>,
    /// Where what is learnt is stored.
    flash: Option<FileFlash>,
    /// Where URLs of found pages are stored.
    texts: TextFlash,
    /// What is looked for beyond the list.
    wanted: Option<Wanted>,
}

/// The loop, until it is told to stop.
fn crawl<S: Future<Output = ()>>(
    image: Image<'_>,
    board: Computer<'_>,
    network: Network,
    kept: Kept,
    args: &Args,
    (mut stop, mut joined): Until<'_, '_, '_, S>,
) -> Result<Crawled, Error> {
    let listed = image.pages();
    let tellers = image.tellers().count();
    let wanted = kept.wanted.as_ref();
    let mut room = wanted.map(|wanted| Room::new(wanted, tellers));
    let page_count = room.as_ref().map_or(0, Room::places).max(image.pages());
    let host_count = image.hosts() + room.as_ref().map_or(0, Room::hosts);
    let mut tables = DynTables::new(page_count, host_count);
    let mut pages = vec![PageMemory::NEW; page_count];
    let mut hosts = vec![HostMemory::NEW; host_count];
    let mut redirects = vec![0; REDIRECT_BYTES * page_count];
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
    let probe = match joined {
        Some(_) => probe.in_fleet(None),
        None => probe,
    };
    let probe = match probe.board().is_collected() {
        true => probe.with_copies_by_board(),
        false => probe,
    };
    let texts = kept.texts;
    let mut log = room.as_ref().map(|_| TextLog::new(texts.clone()));
    let probe = match &mut room {
        Some(room) => probe.with_discovery(room.lend(), &texts),
        None => probe,
    };
    if let Some(log) = &mut log {
        async_io::block_on(probe.persistence().restore_found(log, true));
    }
    let mut store = kept.flash.map(Store::new);
    let resumed = store
        .as_mut()
        .map(|store| async_io::block_on(probe.persistence().restore(store, true)));
    if joined.is_some() {
        if store.is_none() {
            // What others have learnt, and this one under an earlier list.
            probe.membership().seed();
        }
        // Whoever had the hosts before, this probe or another: their politeness is kept.
        probe.membership().rest_since(probe.board().now());
    }
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
    if let Some(pushes) = &network.pushes {
        work.push(Box::pin(heed(&probe, pushes)));
    }
    if probe.board().is_collected() {
        work.push(Box::pin(settle(&probe)));
    }
    if let Some(store) = &mut store {
        let probe = &probe;
        work.push(Box::pin(
            async move { probe.persistence().run(store).await },
        ));
    }
    if let Some(log) = &mut log {
        let probe = &probe;
        work.push(Box::pin(
            async move { probe.persistence().run_found(log).await },
        ));
    }
    if std::io::stderr().is_terminal() {
        work.push(Box::pin(async { show_status(&probe).await }));
    }
    let next = Cell::new(None);
    if let Some(joined) = joined.as_deref_mut() {
        let probe = &probe;
        let next = &next;
        work.push(Box::pin(async move {
            next.set(Some(joined.run(probe).await));
            std::future::pending().await
        }));
    }
    // So few futures that polling all of them when one wakes costs nothing.
    async_io::block_on(poll_fn(|context| {
        for future in &mut work {
            let _: Poll<()> = future.as_mut().poll(context);
        }
        match next.get() {
            Some(_) => Poll::Ready(()),
            None => stop.as_mut().poll(context),
        }
    }));
    // No request goes on from here.
    drop(work);
    let next = joined.zip(next.get());
    let next = next.map(|(joined, version)| joined.listed(version, probe.board().now()));
    probe.board().finish();
    let settled = probe.board().settled();
    settled.into_iter().for_each(|page| probe.collected(page));
    let mut lost = probe.board().lost();
    if let Some(log) = &mut log {
        async_io::block_on(probe.persistence().save_found(log));
        lost = lost.or(texts.finish().err());
    }
    if let Some(path) = &args.export {
        lost = lost.or(export(&probe, path).err());
    }
    if let Some(store) = &mut store {
        async_io::block_on(probe.persistence().save(store));
        lost = lost.or(store.flash().finish().err());
    }
    let resumed = resumed.map_or(0, |resumed| resumed.pages);
    let summary = Summary::new(&probe, listed, resumed);
    Ok((summary, lost, next))
}

/// Tells the probe what the collector has got, for ever. *Cancellation*: safe.
async fn settle(probe: &Probe<'_, Computer<'_>>) {
    loop {
        let settled = probe.board().settled();
        settled.into_iter().for_each(|page| probe.collected(page));
        Timer::after(std::time::Duration::from_millis(100)).await;
    }
}

/// Hands what is pushed to the probe, for ever. *Cancellation*: safe.
async fn heed(probe: &Probe<'_, Computer<'_>>, pushes: &Pushes) {
    loop {
        for page in pushes.take() {
            // The page is there: it was found in the image.
            let _ = probe.hint(page, Hint::push(probe.board().now()));
        }
        Timer::after(std::time::Duration::from_millis(100)).await;
    }
}

/// A line about what has happened, rewritten in place, for ever. *Cancellation*: safe.
async fn show_status(probe: &Probe<'_, Computer<'_>>) -> ! {
    loop {
        let totals = probe.totals();
        let first = probe.board().first_versions();
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K{} fetched, {} unchanged (304), {} changed, {first} for the first time, {} errors, {} denied by robots, {} bytes",
            totals.fetches,
            totals.not_modified,
            totals.changed.saturating_sub(first),
            totals.errors,
            totals.denied,
            totals.bytes
        );
        Timer::after(std::time::Duration::from_secs(1)).await;
    }
}

/// Writes the collection as a page list: the list's own columns that say something of a found page.
fn export(probe: &Probe<'_, Computer<'_>>, path: &Path) -> Result<(), Error> {
    let mut table = Table::new(&["url", "weight", "changes_per_day"]);
    probe.found().each_kept(|page, url, _| {
        let (weight, rate) = probe.found().belief(page);
        let rate = rate.map_or_else(String::new, |rate| format!("{rate:.4}"));
        table.row(vec![url.to_owned(), weight.to_string(), rate]);
    });
    file::write(path, &table.to_csv())
}
