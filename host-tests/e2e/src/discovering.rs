//! Pages beyond the list, on a web whose PageRank only the server knows: judged by the server.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::discover::{FrontierSettings, Scope};
use dunlin::rank::Topic;
use dunlin_host::crawl::generate::{Web as Shape, generate};
use dunlin_host::crawl::graph::Graph;
use dunlin_host::crawl::incremental::{SimulatedCollection, collect};
use dunlin_host::lists::discovery::Wanted;
use dunlin_tools::firmware::budgets::DISCOVER;
use dunlin_tools::qemu::crawl::Crawl;
use dunlin_tools::qemu::list::{LOOPBACK, listing, options};
use dunlin_tools::web::changing::{Changing, DAY, World};
use dunlin_tools::web::{Answer, Hit, Web, shortest_gap};

use crate::{show, trace};

/// A web, and what a probe is given.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub pages: usize,
    pub hosts: usize,
    pub places: u16,
    pub gap: Duration,
    pub seconds: u32,
    /// Visits a place, if that is all that there are; else what politeness allows.
    pub visits: Option<u32>,
    /// The least share of the best pages' PageRank that has to be held.
    pub share: f64,
    /// By how much less may be held than the simulator holds after as many visits; `None` where
    /// there are too few of them.
    pub behind: Option<f64>,
    /// Seconds between two changes of the busiest page and of the quietest one.
    pub changes: (f64, f64),
    /// The least share of the freshness that the budget allows, less what explores, in the second
    /// half of the run.
    pub fresh: f64,
}

/// A run of half a minute.
pub const SHORT: Setting = Setting {
    pages: 240,
    hosts: 4,
    places: 40,
    gap: Duration::from_millis(200),
    seconds: 40,
    visits: None,
    share: 0.65,
    behind: None,
    changes: (4.0, 120.0),
    fresh: 0.9,
};
/// Ten visits a place.
pub const LONG: Setting = Setting {
    pages: 2_000,
    hosts: 10,
    places: 256,
    gap: Duration::from_millis(200),
    seconds: 300,
    visits: Some(10),
    share: 0.70,
    behind: Some(0.05),
    changes: (30.0, 900.0),
    fresh: 0.97,
};

/// The firmware that discovers, beside the other.
fn firmware(elf: &Path) -> PathBuf {
    let name = elf.file_name().unwrap_or_default().to_string_lossy();
    elf.with_file_name(format!("{name}+{DISCOVER}"))
}

/// One page in eleven is not for robots.
fn is_denied(page: usize) -> bool {
    page % 11 == 7
}

/// The site of a graph: its pages, its robots.txt and, on the first host, an endless calendar.
struct Site {
    graph: Graph,
    by_address: HashMap<(String, String), usize>,
    /// When each page changes.
    changing: Vec<Changing>,
}

impl Site {
    fn new(graph: Graph, setting: &Setting) -> Self {
        let pages = 0..graph.len();
        let by_address = pages
            .filter_map(|page| {
                let rest = graph.url(page).strip_prefix("http://")?;
                let (host, path) = rest.split_once('/')?;
                Some(((host.to_owned(), format!("/{path}")), page))
            })
            .collect();
        let (busiest, quietest) = setting.changes;
        let seconds = f64::from(setting.seconds) + 60.0;
        let (pages, hosts) = (setting.pages, setting.hosts);
        let world = World::between(busiest, quietest, pages, hosts, seconds, 5);
        let mut changing = world.pages;
        for (page, changes) in changing.iter_mut().enumerate() {
            let (host, path) = address(graph.url(page));
            changes.host = host
                .trim_matches(|letter: char| !letter.is_ascii_digit())
                .parse()
                .unwrap_or(0);
            changes.path = path;
        }
        Self {
            graph,
            by_address,
            changing,
        }
    }

    fn page(&self, hit: &Hit) -> Option<usize> {
        let address = (hit.host.clone(), hit.path.clone());
        self.by_address.get(&address).copied()
    }

    fn path(&self, page: usize) -> &str {
        let url = self.graph.url(page);
        url.splitn(4, '/').nth(3).unwrap_or_default()
    }

    fn answer(&self, hit: &Hit, port: u16) -> Answer {
        if hit.path == "/robots.txt" {
            let denied = (0..self.graph.len()).filter(|page| {
                is_denied(*page) && self.graph.url(*page).contains(&format!("//{}/", hit.host))
            });
            let rules: String = denied
                .map(|page| format!("Disallow: /{}$\n", self.path(page)))
                .collect();
            return Answer::page(&format!("User-agent: *\n{rules}"));
        }
        if let Some(day) = hit.path.strip_prefix("/cal/") {
            let day: u64 = day.parse().unwrap_or(0);
            let links = [day + 1, day.saturating_sub(1), day + 7];
            let links = links.map(|day| format!("<a href=/cal/{day}>{day}</a>"));
            return Answer::page(&format!("<h1>{day}</h1>{}", links.concat()));
        }
        let Some(page) = self.page(hit) else {
            return Answer::status(404, "X: none");
        };
        let links = self.graph.targets(page).iter().map(|target| {
            let url = self.graph.url(*target as usize);
            let rest = url.strip_prefix("http://").unwrap_or(url);
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            format!("<a href=\"http://{host}:{port}/{path}\">on</a>\n")
        });
        let links: String = links.collect();
        let trap = match page {
            0 => "<a href=/cal/1>calendar</a><a href=/?PHPSESSID=1>again</a>",
            _ => "",
        };
        let version = self
            .changing
            .get(page)
            .map_or(0, |page| page.version(hit.at));
        Answer::page(&format!("<title>{page}</title>{links}{trap}<p>{version}"))
    }
}

/// Candidates that the firmware has room for.
const CANDIDATES: usize = 2_048;

/// What the simulator holds of the best pages' PageRank after so many visits a place: the same web,
/// but for the pages that are not for robots.
fn simulated(graph: &Graph, setting: &Setting, visits: usize) -> f64 {
    let open: Vec<usize> = (0..graph.len()).filter(|page| !is_denied(*page)).collect();
    let numbers: HashMap<usize, u32> = open.iter().copied().zip(0..).collect();
    let urls = open.iter().map(|page| graph.url(*page).to_owned());
    let links = open.iter().flat_map(|page| {
        let from = numbers[page];
        let targets = graph.targets(*page).iter();
        let numbers = &numbers;
        targets.filter_map(move |to| Some((from, *numbers.get(&(*to as usize))?)))
    });
    let web = Graph::new(urls.collect(), links.collect());
    let rank = graph.page_rank();
    let measure: Vec<f64> = open.iter().map(|page| rank[*page]).collect();
    let is_front = |page: &usize| web.url(*page).splitn(4, '/').nth(3) == Some("");
    let seeds: Vec<usize> = (0..web.len()).filter(is_front).collect();
    let collection = SimulatedCollection {
        places: setting.places.into(),
        candidates: CANDIDATES,
        settings: FrontierSettings::DEFAULT,
        topic: Topic::default(),
        seed: 1,
    };
    let (held, _) = collect(&web, &seeds, &collection, visits, &measure, &mut |_| {});
    held.last().map_or(0.0, |held| held.share)
}

/// The best pages are held, traps are not, and nobody is asked too soon or against its will.
pub fn holds_the_best(elf: &Path, setting: &Setting) -> Result<()> {
    let shape = Shape::new(setting.pages, setting.hosts);
    let site = Arc::new(Site::new(generate(&shape, 11), setting));
    let serving = Arc::clone(&site);
    let web = Web::start(move |hit| serving.answer(hit, hit.port))?;
    let fronts: Vec<String> = (0..setting.hosts)
        .map(|host| format!("s{host}.test"))
        .collect();
    let seeds: Vec<(&str, &str)> = fronts.iter().map(|host| (host.as_str(), "/")).collect();
    let listing = listing(web.port(), &seeds, setting.gap);
    let mut options = options();
    options.resolve = vec![("*".into(), LOOPBACK)];
    options.discovery = Some(Wanted::new(
        Scope::Hosts,
        setting.places,
        setting.gap.as_millis() as u32,
    ));
    let visits = setting.visits.map(f64::from);
    let per_second =
        visits.map(|visits| visits * f64::from(setting.places) / f64::from(setting.seconds));
    options.per_day = per_second.map(|rate| rate * DAY);
    let elf = firmware(elf);
    let crawl = Crawl::new(&elf, &listing, &options, setting.seconds);
    let mut admitted = HashMap::new();
    let report = crawl.run(|line| {
        trace(line);
        if let Some((_, url)) = line
            .message
            .strip_prefix("admitted ")
            .and_then(|rest| rest.split_once("url="))
        {
            admitted.insert(url.to_owned(), web.now());
        }
    })?;
    let end = web.now();
    let held = crawl.collection(&report)?;
    let log = web.log();
    judge(&site, setting, &held, &log)?;
    judge_freshness(&site, setting, &held, &admitted, &log, end)?;
    let summary = &report.summary;
    ensure!(
        summary.found > 0 && summary.admitted > 0 && summary.replaced > 0,
        "found {}, admitted {}, replaced {}",
        summary.found,
        summary.admitted,
        summary.replaced
    );
    Ok(())
}

/// Copies of what is held are as fresh as the visits allow that do not explore.
fn judge_freshness(
    site: &Site,
    setting: &Setting,
    held: &[String],
    admitted: &HashMap<String, Duration>,
    log: &[Hit],
    end: Duration,
) -> Result<()> {
    let to = log.last().map_or(end, |hit| hit.at);
    let half = Duration::from_secs(u64::from(setting.seconds / 2));
    let from = to.saturating_sub(half);
    let mut fresh = 0.0;
    let mut time = 0.0;
    let mut pages = Vec::new();
    for url in held {
        let (host, path) = address(url);
        let Some(page) = site.by_address.get(&(host.clone(), path)) else {
            continue;
        };
        // Before it was admitted it was not to be kept fresh.
        let from = admitted
            .get(url)
            .map_or(from, |at| from.max(*at))
            .as_secs_f64();
        let seconds = to.as_secs_f64() - from;
        fresh += site.changing[*page].fresh_at(&host, log, from, to.as_secs_f64()) * seconds;
        time += seconds;
        pages.push(site.changing[*page].clone());
    }
    let fresh = fresh / time;
    let is_counted = |hit: &&Hit| hit.at >= from && hit.at <= to && hit.path != "/robots.txt";
    let visits = log.iter().filter(is_counted).count() as f64 / half.as_secs_f64();
    let budget = visits * (1.0 - f64::from(FrontierSettings::DEFAULT.exploring));
    let best = World {
        hosts: setting.hosts,
        pages,
    }
    .optimum(budget, setting.gap)?;
    show(format_args!(
        "freshness {fresh:.3} of what is held, {best:.3} at best with {budget:.1} visits a second that do not explore: \
         {:.1} %",
        100.0 * fresh / best
    ));
    ensure!(
        fresh >= setting.fresh * best,
        "{fresh:.3} fresh, {best:.3} at best"
    );
    Ok(())
}

/// The host and the path of a URL.
fn address(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.split(':').next().unwrap_or(host);
    (host.to_owned(), format!("/{path}"))
}

fn judge(site: &Site, setting: &Setting, held: &[String], log: &[Hit]) -> Result<()> {
    let rank = site.graph.page_rank();
    let places = usize::from(setting.places);
    let of = |url: &String| {
        let rest = url.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/')?;
        let host = host.split(':').next()?.to_owned();
        site.by_address.get(&(host, format!("/{path}"))).copied()
    };
    let pages: HashSet<usize> = held.iter().filter_map(of).collect();
    let own: f64 = pages.iter().map(|page| rank[*page]).sum();
    let may: Vec<f64> = (0..rank.len())
        .filter(|page| !is_denied(*page))
        .map(|page| rank[page])
        .collect();
    let mut best = may;
    best.sort_unstable_by(|one, other| other.total_cmp(one));
    let best: f64 = best.iter().take(places).sum();
    let share = own / best;
    let visits = log.iter().filter(|hit| hit.path != "/robots.txt").count();
    let trapped = log
        .iter()
        .filter(|hit| hit.path.starts_with("/cal/"))
        .count();
    let robots = log.len() - visits;
    let kept_traps = held.iter().filter(|url| url.contains("/cal/")).count();
    let simulated = simulated(&site.graph, setting, (visits / places).max(1));
    show(format_args!(
        "{share:.3} of the best {places} pages' PageRank after {visits} visits ({robots} robots.txt), \
         {simulated:.3} in the simulator, {trapped} visits and {kept_traps} places in traps"
    ));
    if let Some(each) = setting.visits {
        // The first round is ahead of the budget, and each slot may be one visit ahead.
        let most = each as usize * places + setting.hosts + 4;
        ensure!(visits <= most, "{visits} visits, {most} allowed");
    }
    ensure!(
        setting
            .behind
            .is_none_or(|behind| share >= simulated - behind),
        "{share:.3} of the best, the simulator {simulated:.3}"
    );
    ensure!(
        held.len() <= places,
        "{} pages in {places} places",
        held.len()
    );
    ensure!(
        pages.len() + kept_traps == held.len(),
        "pages that nobody serves"
    );
    ensure!(
        share >= setting.share,
        "{share:.3} of the best, expected {}",
        setting.share
    );
    ensure!(
        20 * trapped <= visits,
        "{trapped} of {visits} visits in traps"
    );
    ensure!(
        20 * kept_traps <= places,
        "{kept_traps} of {places} places in traps"
    );
    let sessions = log.iter().filter(|hit| hit.path.contains("PHPSESSID"));
    ensure!(sessions.count() == 0, "a session was followed");
    for hit in log {
        if let Some(page) = site.page(hit).filter(|page| is_denied(*page)) {
            let url = site.graph.url(page);
            ensure!(false, "{url} was asked for against robots.txt");
        }
    }
    for host in 0..setting.hosts {
        let name = format!("s{host}.test");
        let gap = shortest_gap(log, &name).with_context(|| format!("{name} was not asked"))?;
        ensure!(gap >= setting.gap, "{gap:?} between two requests to {name}");
    }
    Ok(())
}
