//! `dunlin crawl-order`: which pages of a web would a crawl find first, and which would it keep?

use std::path::PathBuf;

use dunlin::discover::FrontierSettings;
use dunlin::rank::{Replacement, Topic};
use serde::Serialize;

use crate::crawl::generate::{Web, generate};
use crate::crawl::graph::{Graph, MOST_PAGES};
use crate::crawl::incremental::{Held, SimulatedCollection, collect};
use crate::crawl::order::VisitOrder;
use crate::crawl::parallel::{self, Achieved, Crawlers, Mode, Partition};
use crate::crawl::selection::{Importance, Point, above, curve, hottest, limited_buffer};
use crate::error::Error;
use crate::lists::edges;
use crate::output::progress::Progress;
use crate::output::{self, Format, Table};

/// Show which pages of a web a crawl finds first, and which it keeps
///
/// Over a link graph – EDGES.csv, a header row `from,to` and one link a line, or a web that is
/// generated – a simulated crawler follows links by the frontier and the ranking of a probe.
///
///   dunlin crawl-order EDGES.csv --order pagerank --model stop --pages 1000
///   dunlin crawl-order --web 2000 --sites 12 --model incremental --pages 256 --visits 30
///   dunlin crawl-order --web 20000 --sites 1000 --crawlers 4 --mode exchange
///
/// Models (Cho, sections 2.3 and 7.3): `stop` crawls K pages, and is judged by the share of the K
/// best pages among them; `threshold` by the share of all pages of at least G links or PageRank;
/// `buffer` crawls everything and keeps K pages; `incremental` keeps K pages, visits them again and
/// again, and lets better ones take the places of worse ones: its share is of the K best pages'
/// importance, and its orders are those that pages can be ranked by (not random and breadth). With `--crawlers`, several crawlers share the web (chapter 3).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Links: a header row `from,to`, then one a line; `-` for stdin
    #[arg(
        value_name = "EDGES.csv",
        required_unless_present = "web",
        conflicts_with = "web"
    )]
    edges: Option<PathBuf>,
    /// Generate a web of so many pages instead
    #[arg(long, value_name = "PAGES")]
    web: Option<usize>,
    /// On so many sites
    #[arg(long, value_name = "N", default_value_t = 12)]
    sites: usize,
    /// Which page is crawled next [default: pagerank; with --crawlers: breadth]
    #[arg(long, value_enum)]
    order: Option<VisitOrder>,
    /// How the crawl ends, and what it is judged by
    #[arg(long, value_enum, default_value = "stop")]
    model: Model,
    /// K: pages to crawl, or to keep [default: a tenth of the web]
    #[arg(long, value_name = "K")]
    pages: Option<usize>,
    /// What makes a page a good one
    #[arg(long, value_enum, default_value = "pagerank")]
    importance: Importance,
    /// G: the least importance of a hot page, for `threshold`; PageRank is 1 on average
    #[arg(long, value_name = "G", default_value_t = 10.0)]
    threshold: f64,
    /// Visits a place, for `incremental`
    #[arg(long, value_name = "N", default_value_t = 10)]
    visits: usize,
    /// The share of visits that explore, for `incremental`
    #[arg(long, value_name = "SHARE", default_value_t = Replacement::SHARE)]
    explore: f32,
    /// Pages that are known besides, for `incremental`: what a probe has room for
    #[arg(long, value_name = "N", default_value_t = 2048)]
    candidates: usize,
    /// Words that URLs on the topic hold, for `--order topic`
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    topic: Vec<String>,
    /// The page to start from [default: the first of the file, or every site's front page]
    #[arg(long, value_name = "PAGE")]
    start: Vec<String>,
    /// Let so many crawlers share the web
    #[arg(long, value_name = "N")]
    crawlers: Option<usize>,
    /// Who is responsible for a page
    #[arg(long, value_enum, default_value = "site")]
    partition: Partition,
    /// What crawlers do with links to each other's pages
    #[arg(long, value_enum, default_value = "exchange")]
    mode: Mode,
    /// Let each crawler start from so many pages of its own, by chance
    #[arg(
        long,
        value_name = "N",
        requires = "crawlers",
        conflicts_with = "start"
    )]
    seeds: Option<usize>,
    /// Pages that a crawler downloads before it tells the others of theirs
    #[arg(long, value_name = "PAGES", default_value_t = 1)]
    batch: usize,
    /// The so many most popular pages are known to all crawlers
    #[arg(long, value_name = "N", default_value_t = 0)]
    replicate: usize,
    /// Seed of all that is random: the same seed, the same result
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Model {
    /// Crawl K pages, and stop
    Stop,
    /// The same, judged by all pages above a threshold
    Threshold,
    /// Crawl everything, keep K pages
    Buffer,
    /// Keep K pages, visit and replace them
    Incremental,
}

/// What is printed as JSON.
#[derive(Debug, Serialize)]
struct Report {
    model: Model,
    order: VisitOrder,
    importance: Importance,
    web_pages: usize,
    web_links: usize,
    web_hosts: usize,
    pages: usize,
    /// What the model is judged by, at the end.
    share: f64,
    curve: Vec<Point>,
    visits: Vec<Held>,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with the file or the options.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let graph = read(args)?;
    let seeds = seeds(args, &graph)?;
    if let Some(count) = args.crawlers {
        return share(args, count, &graph, &seeds, format);
    }
    let pages = args.pages.unwrap_or(graph.len().div_ceil(10));
    if pages == 0 || pages > graph.len() {
        return Err(Error::Usage(format!(
            "--pages: found {pages}, expected 1 to {}: the web has no more pages",
            graph.len()
        )));
    }
    if !(0.0..=0.9).contains(&args.explore) {
        return Err(Error::Usage(format!(
            "--explore: found {}, expected a share from 0 to 0.9",
            args.explore
        )));
    }
    let report = simulate(args, &graph, &seeds, pages)?;
    output::print(&match format {
        Format::Json => output::json(&report),
        Format::Csv => table(&report, format).to_csv(),
        Format::Table => table(&report, format).to_text(),
    })
}

fn read(args: &Args) -> Result<Graph, Error> {
    match (&args.edges, args.web) {
        (Some(path), _) => edges::read(path),
        (None, Some(pages)) if (1..=MOST_PAGES).contains(&pages) && args.sites >= 1 => {
            let sites = args.sites.min(pages);
            Ok(generate(&Web::new(pages, sites), args.seed))
        }
        (None, pages) => Err(Error::Usage(format!(
            "--web: found {} pages on {} sites, expected 1 to {MOST_PAGES} pages on 1 site or more",
            pages.unwrap_or(0),
            args.sites
        ))),
    }
}

/// The pages that crawls start from.
fn seeds(args: &Args, graph: &Graph) -> Result<Vec<usize>, Error> {
    let mut seeds = Vec::new();
    for name in &args.start {
        let page = (0..graph.len()).find(|page| graph.url(*page) == name);
        seeds.push(page.ok_or_else(|| {
            Error::Usage(format!(
                "--start: found {name:?}, expected a page of the graph"
            ))
        })?);
    }
    if seeds.is_empty() && args.web.is_none() {
        seeds.push(0);
    }
    if seeds.is_empty() {
        let mut known = vec![false; graph.hosts()];
        // The first page of each site is its front page.
        seeds = (0..graph.len())
            .filter(|page| !std::mem::replace(&mut known[usize::from(graph.host(*page))], true))
            .collect();
    }
    Ok(seeds)
}

fn simulate(args: &Args, graph: &Graph, seeds: &[usize], pages: usize) -> Result<Report, Error> {
    let order = args.order.unwrap_or(VisitOrder::Pagerank);
    let topic = Topic::new(args.topic.iter().map(String::as_str))
        .map_err(|error| Error::Usage(format!("--topic: {error}")))?;
    let measure = args.importance.of(graph);
    let mut report = Report {
        model: args.model,
        order,
        importance: args.importance,
        web_pages: graph.len(),
        web_links: graph.links(),
        web_hosts: graph.hosts(),
        pages,
        share: 0.0,
        curve: Vec::new(),
        visits: Vec::new(),
    };
    let hot = match args.model {
        Model::Threshold => above(&measure, args.threshold),
        _ => hottest(&measure, pages),
    };
    match args.model {
        Model::Stop | Model::Threshold => {
            report.curve = curve(graph, order, &topic, seeds, pages, &hot, args.seed);
        }
        Model::Buffer => {
            report.curve = limited_buffer(graph, order, &topic, seeds, pages, &measure, args.seed);
        }
        Model::Incremental => {
            let measure_of = order.measure().ok_or_else(|| {
                Error::Usage(format!(
                    "--order: found {} with --model incremental, expected pagerank, cash, backlink, \
                     location or topic: what pages can be ranked by",
                    word(order)
                ))
            })?;
            let collection = SimulatedCollection {
                places: pages,
                candidates: args.candidates.clamp(8, MOST_PAGES),
                settings: FrontierSettings {
                    exploring: args.explore,
                    measure: measure_of,
                    ..FrontierSettings::DEFAULT
                },
                topic,
                seed: args.seed,
            };
            let visits = args.visits.clamp(1, 10_000);
            let mut visited = counted("visiting", visits * pages);
            let (held, _) = collect(graph, seeds, &collection, visits, &measure, &mut |_| {
                visited();
            });
            report.visits = held;
        }
    }
    let of_curve = report.curve.last().map(|point| point.share);
    let of_visits = report.visits.last().map(|held| held.share);
    report.share = of_curve.or(of_visits).unwrap_or(0.0);
    Ok(report)
}

/// Shows progress: what it returns is called for each of so many steps.
fn counted(label: &str, total: usize) -> impl FnMut() {
    let mut progress = Progress::new(label, total as u64);
    let mut done = 0;
    move || {
        done += 1;
        progress.at(done);
    }
}

/// A share as a format has it: to the last digit for machines.
fn shown(share: f64, format: Format) -> String {
    match format {
        Format::Table => format!("{share:.3}"),
        _ => share.to_string(),
    }
}

fn table(report: &Report, format: Format) -> Table {
    if report.model == Model::Incremental {
        let mut table = Table::new(&["visits", "share", "replaced", "explored"]);
        for held in &report.visits {
            table.row(vec![
                held.visits.to_string(),
                shown(held.share, format),
                held.replaced.to_string(),
                held.explored.to_string(),
            ]);
        }
        return table;
    }
    let mut table = Table::new(&["crawled", "share"]);
    for point in &report.curve {
        let share = shown(point.share, format);
        table.row(vec![point.crawled.to_string(), share]);
    }
    table
}

/// Lets several crawlers share the web.
fn share(
    args: &Args,
    count: usize,
    graph: &Graph,
    seeds: &[usize],
    format: Format,
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Shared {
        crawlers: usize,
        partition: Partition,
        mode: Mode,
        order: VisitOrder,
        batch: usize,
        replicated: usize,
        #[serde(flatten)]
        achieved: Achieved,
    }
    if !(1..=1_024).contains(&count) {
        return Err(Error::Usage(format!(
            "--crawlers: found {count}, expected 1 to 1024"
        )));
    }
    let order = args.order.unwrap_or(VisitOrder::Breadth);
    if !matches!(order, VisitOrder::Breadth | VisitOrder::Backlink) {
        return Err(Error::Usage(format!(
            "--order: found {} with --crawlers, expected breadth or backlink",
            word(order)
        )));
    }
    if args.batch == 0 {
        let found = "--batch: found 0, expected 1 page or more";
        return Err(Error::Usage(found.into()));
    }
    let crawlers = Crawlers {
        count,
        partition: args.partition,
        mode: args.mode,
        by_backlinks: order == VisitOrder::Backlink,
        batch: args.batch,
        replicated: args.replicate,
        limit: args.pages.unwrap_or(usize::MAX),
    };
    let own = args
        .seeds
        .map(|each| crawlers.seeds(graph, each, args.seed));
    let seeds = own.as_deref().unwrap_or(seeds);
    let mut downloaded = counted("crawling", graph.len());
    let shared = Shared {
        crawlers: count,
        partition: args.partition,
        mode: args.mode,
        order,
        batch: args.batch,
        replicated: args.replicate,
        achieved: parallel::simulate(graph, &crawlers, seeds, &mut |_, _| downloaded()),
    };
    drop(downloaded);
    let mut table = Table::new(&[
        "crawlers",
        "partition",
        "mode",
        "order",
        "batch",
        "replicated",
        "overlap",
        "coverage",
        "quality",
        "communication",
    ]);
    table.row(vec![
        count.to_string(),
        word(args.partition),
        word(args.mode),
        word(order),
        args.batch.to_string(),
        args.replicate.to_string(),
        shown(shared.achieved.overlap, format),
        shown(shared.achieved.coverage, format),
        shown(shared.achieved.quality, format),
        shown(shared.achieved.communication, format),
    ]);
    output::print(&match format {
        Format::Json => output::json(&shared),
        Format::Csv => table.to_csv(),
        Format::Table => table.to_text(),
    })
}

/// What an option's value is called.
fn word(value: impl clap::ValueEnum) -> String {
    let named = value.to_possible_value();
    named.map_or_else(String::new, |named| named.get_name().to_owned())
}
