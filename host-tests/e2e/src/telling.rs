//! Two hosts whose pages change at the same moments, one of which says so in a sitemap: how fresh a
//! probe in QEMU keeps its copies of each, by the web's own log.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow, bail, ensure};
use dunlin::fetch::HttpDate;
use dunlin_host::lists::hosts::ListedHints;
use dunlin_host::simulate::Random;
use dunlin_tools::firmware::budgets::{HINTS, PUSH};
use dunlin_tools::qemu::crawl::Crawl;
use dunlin_tools::qemu::list::{LOOPBACK, options};
use dunlin_tools::web::changing::{Changing, DAY, Rates, World, host};
use dunlin_tools::web::{Answer, Hit, Web, shortest_gap};

use crate::{show, trace};

/// Pages of each host.
const PAGES: usize = 12;
/// Seconds between two changes of a page, on average.
const MEAN: f64 = 12.0;
/// Visits to a page in that time.
const VISITS: f64 = 2.0;
const GAP: Duration = Duration::from_millis(200);
/// The probe learns for so long.
const LEARNT: Duration = Duration::from_secs(12);

/// What the first host's sitemap says of each page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// There is no sitemap at all.
    Nothing,
    /// It says when the page changed.
    Truth,
    /// That it has just changed.
    Now,
}

/// The firmware that listens, beside the other: the one that hears pushes, too.
fn firmware(elf: &Path) -> PathBuf {
    let name = elf.file_name().unwrap_or_default().to_string_lossy();
    elf.with_file_name(format!("{name}+{HINTS}+{PUSH}"))
}

/// Pages of the second host change whenever those of the first do.
fn world(seconds: f64) -> World {
    let mut random = Random(24);
    let mut pages = Vec::new();
    for page in 0..PAGES {
        let mut changes = Vec::new();
        let mut time = random.exponential() * MEAN;
        while time < seconds {
            changes.push(time);
            time += random.exponential() * MEAN;
        }
        pages.extend((0..2).map(|host| Changing {
            host,
            path: format!("/page{page}"),
            rate: 1.0 / MEAN,
            changes: changes.clone(),
        }));
    }
    World { hosts: 2, pages }
}

fn date(begin: SystemTime, at: f64) -> String {
    let unix = begin.duration_since(SystemTime::UNIX_EPOCH);
    let unix = unix.map_or(0.0, |since| since.as_secs_f64()) + at;
    let date = HttpDate::from_unix(unix as u64);
    date.map_or_else(String::new, |date| {
        String::from_utf8_lossy(&date.format()).into_owned()
    })
}

/// Serves it, with a sitemap on the first host that its robots.txt names.
fn serve(world: &Arc<World>, says: Says) -> Result<Web> {
    let world = Arc::clone(world);
    let begin = SystemTime::now();
    Web::start(move |hit| {
        let now = hit.at.as_secs_f64();
        let mut answer = answer(&world, begin, says, hit);
        answer.headers.push(format!("Date: {}", date(begin, now)));
        answer
    })
}

fn answer(world: &World, begin: SystemTime, says: Says, hit: &Hit) -> Answer {
    let now = hit.at.as_secs_f64();
    let own = |page: &&Changing| host(page.host) == hit.host;
    match hit.path.as_str() {
        "/robots.txt" if hit.host == host(0) && says != Says::Nothing => {
            Answer::page("User-agent: *\nDisallow: /private/\nSitemap: /news.xml\n")
        }
        "/news.xml" if hit.host == host(0) && says != Says::Nothing => {
            let versions = world.pages.iter().filter(own).map(|page| {
                let at = page.changes.iter().rev().find(|at| **at <= now);
                (page, *at.unwrap_or(&0.0), page.version(hit.at))
            });
            let versions: Vec<(&Changing, f64, usize)> = versions.collect();
            let mut text = String::from("<urlset>\n");
            for (page, at, _) in &versions {
                let at = match says {
                    Says::Nothing | Says::Truth => *at,
                    Says::Now => now,
                };
                let name = host(page.host);
                let path = &page.path;
                let at = date(begin, at);
                let _ = writeln!(
                    text,
                    "<url><loc>http://{name}:{}{path}</loc><lastmod>{at}</lastmod></url>",
                    hit.port
                );
            }
            let version = match says {
                Says::Nothing | Says::Truth => versions.iter().map(|(_, _, version)| version).sum(),
                Says::Now => hit.at.as_millis() as usize,
            };
            let answer = Answer::version(hit, version);
            match answer.status {
                304 => answer,
                _ => Answer {
                    body: text + "</urlset>\n",
                    ..answer
                },
            }
        }
        path => match world
            .pages
            .iter()
            .filter(own)
            .find(|page| page.path == path)
        {
            Some(page) => Answer::version(hit, page.version(hit.at)),
            None => Answer::status(404, "X: none"),
        },
    }
}

/// Freshness of each of one host's pages.
fn freshness(world: &World, of: usize, log: &[Hit], to: Duration) -> Vec<f64> {
    let pages = world.pages.iter().filter(|page| page.host == of).cloned();
    pages
        .map(|page| {
            let alone = World {
                hosts: world.hosts,
                pages: vec![page],
            };
            alone.freshness(log, LEARNT, to)
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A probe on both hosts; what the freshness of the first and the second host's pages was.
fn crawl(elf: &Path, says: Says, seconds: u32) -> Result<[Vec<f64>; 2]> {
    let world = Arc::new(world(f64::from(seconds) + 20.0));
    let web = serve(&world, says)?;
    let mut listing = world.listing(web.port(), Rates::Learnt, GAP);
    if says != Says::Nothing {
        listing.tellers = vec![(0, ListedHints::Auto)];
    }
    let per_day = 2.0 * PAGES as f64 * VISITS / MEAN * DAY;
    let mut options = options();
    options.resolve = vec![("*".into(), LOOPBACK)];
    options.per_day = Some(per_day);
    let report = Crawl::new(elf, &listing, &options, seconds).run(|line| trace(line))?;
    let log = web.log();
    let asked = |path: &str| {
        let hits = log.iter().filter(|hit| hit.path == path);
        hits.filter(|hit| hit.host == host(0)).count()
    };
    let told = asked("/news.xml");
    ensure!(
        told >= 3 || says == Says::Nothing,
        "the teller was asked for {told} times"
    );
    // Like every page that is not where the list says, it is looked for there now and then.
    let usual = asked("/sitemap.xml");
    ensure!(
        usual <= 1 + told / 16,
        "robots.txt says where the sitemap is, and {usual} requests went elsewhere"
    );
    let visits = log.iter().filter(|hit| hit.path != "/robots.txt").count();
    let budget = per_day / DAY * f64::from(seconds);
    // The first round is ahead of the budget, and three slots may each be one ahead.
    let most = budget + 2.0 * PAGES as f64 + 4.0;
    ensure!(visits as f64 <= most, "{visits} visits, {most:.0} allowed");
    for place in 0..2 {
        let gap = shortest_gap(&log, &host(place));
        ensure!(gap.is_some_and(|gap| gap >= GAP), "{gap:?}");
    }
    ensure!(report.summary.errors == 0, "{:?}", report.summary);
    let to = Duration::from_secs(seconds.into());
    let result = [0, 1].map(|place| freshness(&world, place, &log, to));
    show(format_args!(
        "{says:?}: freshness {:.3} of the host that tells, {:.3} of the other; asked {told} times",
        mean(&result[0]),
        mean(&result[1])
    ));
    Ok(result)
}

/// Probes on such hosts, at the same time.
fn crawl_all<const N: usize>(
    elf: &Path,
    all: [Says; N],
    seconds: u32,
) -> Result<[[Vec<f64>; 2]; N]> {
    let elf = firmware(elf);
    let results = thread::scope(|scope| {
        let probes = all.map(|says| {
            let elf = &elf;
            scope.spawn(move || crawl(elf, says, seconds))
        });
        probes.map(|probe| match probe.join() {
            Ok(result) => result,
            Err(_) => bail!("a probe's thread panicked"),
        })
    });
    let results: Result<Vec<[Vec<f64>; 2]>> = results.into_iter().collect();
    let results = results?.try_into();
    results.map_err(|_| anyhow!("a probe has no result"))
}

/// A host that tells the truth is fresher than one that says nothing; one that always says "now" is
/// not. `least` and `most` are by how much: in seconds, a probe has hardly begun to believe
/// anybody, and a few dozen changes are a matter of luck.
pub fn tells(elf: &Path, seconds: u32, least: f64, most: f64) -> Result<()> {
    let [truth, lie] = crawl_all(elf, [Says::Truth, Says::Now], seconds)?;
    let [told, silent] = truth.map(|pages| mean(&pages));
    let [liar, other] = lie.map(|pages| mean(&pages));
    ensure!(
        told >= silent + least,
        "the telling host {told:.3}, the silent one {silent:.3}"
    );
    ensure!(
        liar <= other + most,
        "the liar {liar:.3}, the silent host beside it {other:.3}"
    );
    ensure!(
        (silent - other).abs() <= most,
        "the silent host {silent:.3} beside the truth, {other:.3} beside the lie"
    );
    Ok(())
}

/// What others may lose, and a liar gain, as a share.
const COST: f64 = 0.01;
/// And however few pages there are, no more than this.
const MOST: f64 = 0.04;

/// By how much pages are fresher here than there, page by page: on average, and twice the standard
/// error of that.
fn lead(here: &[f64], there: &[f64]) -> (f64, f64) {
    let leads: Vec<f64> = here.iter().zip(there).map(|(a, b)| a - b).collect();
    let lead = mean(&leads);
    let squares: f64 = leads.iter().map(|one| (one - lead).powi(2)).sum();
    let count = leads.len() as f64;
    (lead, 2.0 * (squares / (count - 1.0) / count).sqrt())
}

/// The same beside a third probe, whose hosts both say nothing: the first host gains by telling the
/// truth and not by lying, and whatever it says the second one loses at most a hundredth. Pages
/// change at the same moments for all three, so they are compared one by one.
pub fn beside_silence(elf: &Path, seconds: u32, least: f64) -> Result<()> {
    let all = [Says::Truth, Says::Now, Says::Nothing];
    let [[told, by_truth], [lied, by_lie], [silent, alone]] = crawl_all(elf, all, seconds)?;
    let (gain, _) = lead(&told, &silent);
    ensure!(gain >= least, "the truth brings {gain:.3}");
    let (beside, _) = lead(&told, &by_truth);
    ensure!(beside >= least, "{beside:.3} more than the silent host");
    for (what, (cost, chance), of) in [
        ("a lie brings its host", lead(&lied, &silent), &silent),
        ("a lie costs the other host", lead(&alone, &by_lie), &alone),
        (
            "the truth costs the other host",
            lead(&alone, &by_truth),
            &alone,
        ),
    ] {
        let share = cost / mean(of);
        show(format_args!("{what} {:.2} % ± {chance:.4}", 100.0 * share));
        ensure!(
            cost - chance <= COST * mean(of) && cost <= MOST,
            "{what} {cost:.4} ± {chance:.4} of {:.4}",
            mean(of)
        );
    }
    Ok(())
}
