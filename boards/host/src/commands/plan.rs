//! `dunlin plan`: how often to visit each page?

use dunlin::plan::{self, PlanHost, PlanPage, Spacing};
use dunlin::time::Duration;
use serde::Serialize;

use crate::allotment::{self, Demand, Holds, Method, Objective};
use crate::duration;
use crate::error::Error;
use crate::lists::listing::{Listing, ListingArgs};
use crate::lists::pages::ListedPage;
use crate::output::{self, Format, Table};
use crate::planning::{
    Assumed, Assumption, ProgressPages, explain, plan_hosts, plan_pages, quasi_costs, significant,
};

/// Plan how often to visit each page
///
/// Divides the crawls of an interval over the pages so that they are as fresh as can be, within
/// each host's politeness:
///
///   dunlin plan PAGES.csv --interval 24h --crawls 5000 --politeness 15s
///
/// optimal           rates at even spacing; nothing does better (the default)
/// azar              rates that would be best for visits at random moments
/// greedy, select    whole crawls, the best there are; the same plan by a heap and by a price
/// uniform, proportional, weighted-uniform, weighted-proportional rules of thumb, to compare with
///
/// A page that never changes gets its minimum. A page whose rate is not known yet is taken to
/// change as often as --assume says, or as the others do (the geometric mean of their rates).
///
/// The figure of a method that gives rates holds in the long run; that of greedy and select for one
/// interval that begins with fresh copies, so it is higher: their long-run figure stands beside it.
/// `dunlin help terms` explains the words.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// The time to plan for, such as 24h
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "24h")]
    interval: Duration,
    /// How many crawls there are in an interval
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    crawls: f64,
    /// How to divide them
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// What is to be made best: time fresh, age of stale copies, or freshness that gives no page up
    #[arg(long, value_enum, default_value_t)]
    objective: Objective,
    #[command(flatten)]
    assumption: Assumption,
}

/// What is printed; the contract of `--format json`.
#[derive(Serialize)]
struct Plan<'a> {
    method: Method,
    objective: Objective,
    interval_s: f64,
    crawls: f64,
    /// Weighted mean freshness, or age in seconds.
    value: f64,
    /// The best any schedule could reach.
    bound: f64,
    /// For what time `value` and `bound` hold.
    holds: Holds,
    /// What the same crawls come to when every interval has them; `value` for rates.
    long_run_value: f64,
    /// What was taken for rates that the list does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<Assumed>,
    /// The same for the harmonic objective, whose own unit `value` is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    harmonic: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harmonic_bound: Option<f64>,
    /// What one more crawl an interval would save.
    price: f64,
    pages: Vec<PageRow<'a>>,
    hosts: Vec<HostRow<'a>>,
    given_up: Vec<GivenUp<'a>>,
}

#[derive(Serialize)]
struct PageRow<'a> {
    url: &'a str,
    crawls: f64,
    freshness: f64,
    age_s: f64,
}

#[derive(Serialize)]
struct HostRow<'a> {
    host: &'a str,
    /// The most crawls in an interval; `null` without politeness.
    cap: f64,
    crawls: f64,
}

#[derive(Serialize)]
struct GivenUp<'a> {
    url: &'a str,
    reason: String,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file, or what makes the demand infeasible.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let listing = args.listing.read(Duration::ZERO)?;
    if args.interval.is_zero() {
        return Err(Error::Usage(
            "found an interval of 0, expected a time such as 24h".into(),
        ));
    }
    let plan = make(args, &listing)?;
    args.assumption.say(plan.assumed, &listing);
    match format {
        Format::Json => output::print(&output::json(&plan)),
        Format::Csv => output::print(&page_table(&plan.pages, or_nothing).to_csv()),
        Format::Table => output::print(&to_text(&plan)),
    }
}

fn make<'a>(args: &Args, listing: &'a Listing) -> Result<Plan<'a>, Error> {
    // A quasi-deterministic page has one table of costs for each thing that is asked about it.
    let spacing = args.method.spacing();
    let costs = |objective, spacing| quasi_costs(listing, args.interval, objective, spacing);
    let fresh_costs = costs(plan::Objective::Freshness, spacing)?;
    let age_costs = costs(plan::Objective::Age, spacing)?;
    let by_freshness = plan_pages(listing, args.interval, &fresh_costs, args.assumption);
    let by_age = plan_pages(listing, args.interval, &age_costs, args.assumption);
    let mut hosts = plan_hosts(&listing.gates, args.interval);
    let reads = args.method.reads(by_freshness.len(), args.crawls);
    let demand = Demand {
        method: args.method,
        objective: args.objective,
        interval: args.interval,
        crawls: args.crawls,
    };
    let mut planned = allotment::divide(
        &demand,
        &ProgressPages::new(&by_freshness, reads),
        &ProgressPages::new(&by_age, reads),
        &mut hosts,
    )
    .map_err(|error| explain(error, listing))?;
    if planned.holds == Holds::OneInterval && fresh_costs.iter().any(|costs| !costs.is_empty()) {
        let costs = costs(args.objective.told_in(), Spacing::Steady)?;
        let pages = plan_pages(listing, args.interval, &costs, args.assumption);
        planned.long_run_value = allotment::long_run(&demand, &pages[..], &planned.crawls);
    }
    let rows: Vec<PageRow<'a>> = (listing.list.pages.iter().enumerate())
        .map(|(index, listed)| PageRow {
            url: &listed.url,
            crawls: planned.crawls[index],
            freshness: planned.freshness[index],
            age_s: planned.age_s[index],
        })
        .collect();
    let pages = if args.objective == Objective::Age {
        &by_age
    } else {
        &by_freshness
    };
    let days: f64 = args.interval.as_days();
    let given_up = (rows.iter().zip(pages).zip(&listing.list.pages))
        .filter(|((row, _), _)| !(row.crawls > 0.0))
        .filter_map(|((row, page), listed)| {
            let why = reason(page, planned.price, &hosts[page.host as usize])?;
            let often = how_often(page, listed, days);
            Some(GivenUp {
                url: row.url,
                reason: format!("{often}: {why}"),
            })
        })
        .collect();
    Ok(Plan {
        method: args.method,
        objective: args.objective,
        interval_s: args.interval.as_secs_f64(),
        crawls: args.crawls,
        value: planned.value,
        bound: planned.bound,
        holds: planned.holds,
        long_run_value: planned.long_run_value,
        assumed: Assumed::of(listing, pages, args.interval),
        harmonic: planned.harmonic,
        harmonic_bound: planned.harmonic_bound,
        price: planned.price,
        pages: rows,
        hosts: host_rows(listing, &hosts, args.method),
        given_up,
    })
}

fn host_rows<'a>(
    listing: &'a Listing,
    hosts: &[PlanHost<f64>],
    method: Method,
) -> Vec<HostRow<'a>> {
    let row = |(gate, host): (&'a crate::lists::listing::Gate, &PlanHost<f64>)| HostRow {
        host: &gate.name,
        cap: method.cap(host),
        crawls: host.crawls,
    };
    listing.gates.iter().zip(hosts).map(row).collect()
}

/// Why a page is not crawled; `None` if it need not be, because it never changes.
fn reason(page: &PlanPage<'_, f64>, price: f64, host: &PlanHost<f64>) -> Option<&'static str> {
    let worth = match page.change.rate() {
        Some(rate) if rate > 0.0 => page.weight / rate,
        Some(_) => return None,
        None => f64::INFINITY,
    };
    Some(if page.max == 0 {
        "its maximum is 0"
    } else if host.price > price && worth > price {
        "its host is at its cap, and other pages there matter more"
    } else if worth <= host.price {
        "cannot be kept fresh at this budget"
    } else {
        "a crawl is worth more elsewhere"
    })
}

/// As in "changes 40 × a day".
fn how_often(page: &PlanPage<'_, f64>, listed: &ListedPage, days: f64) -> String {
    let rate = page.change.rate().map(|rate| significant(rate / days));
    let known = listed.change.is_known();
    match rate {
        Some(rate) if known => format!("changes {rate} × a day"),
        Some(rate) => format!("rate not known, taken to change {rate} × a day"),
        None => "changes at known times".to_owned(),
    }
}

/// A number of CSV: nothing where JSON has `null`, such as the age of a page that is never visited.
fn or_nothing(number: &f64) -> String {
    match number.is_finite() {
        true => number.to_string(),
        false => String::new(),
    }
}

fn page_table(pages: &[PageRow<'_>], number: impl Fn(&f64) -> String) -> Table {
    let mut table = Table::new(&["url", "crawls", "freshness", "age_s"]);
    for page in pages {
        table.row(vec![
            page.url.to_owned(),
            number(&page.crawls),
            number(&page.freshness),
            number(&page.age_s),
        ]);
    }
    table
}

/// The most crawled pages, the hosts at their cap, the pages given up, and what it comes to.
fn to_text(plan: &Plan<'_>) -> String {
    const SHOWN: usize = 20;
    let mut order: Vec<&PageRow<'_>> = plan.pages.iter().collect();
    order.sort_by(|a, b| b.crawls.total_cmp(&a.crawls));
    let mut table = Table::new(&["url", "crawls", "freshness", "age_s"]);
    for page in order.iter().take(SHOWN) {
        let crawls = format!("{:.3}", page.crawls);
        let freshness = format!("{:.4}", page.freshness);
        table.row(vec![
            page.url.to_owned(),
            crawls,
            freshness,
            format!("{:.0}", page.age_s),
        ]);
    }
    let mut text = table.to_text();
    text += &more(order.len(), SHOWN, "pages");
    let full: Vec<_> = plan
        .hosts
        .iter()
        .filter(|host| host.crawls >= host.cap * (1.0 - 1e-6))
        .collect();
    if !full.is_empty() {
        let mut table = Table::new(&["host at its cap", "crawls", "cap"]);
        for host in full.iter().take(SHOWN) {
            table.row(vec![
                host.host.to_owned(),
                format!("{:.1}", host.crawls),
                format!("{:.1}", host.cap),
            ]);
        }
        text += &format!("\n{}{}", table.to_text(), more(full.len(), SHOWN, "hosts"));
    }
    if !plan.given_up.is_empty() {
        let mut table = Table::new(&["page given up", "why"]);
        for page in plan.given_up.iter().take(SHOWN) {
            table.row(vec![page.url.to_owned(), page.reason.clone()]);
        }
        text += &format!(
            "\n{}{}",
            table.to_text(),
            more(plan.given_up.len(), SHOWN, "pages")
        );
    }
    let unit = if plan.objective == Objective::Age {
        "s mean age"
    } else {
        "mean freshness"
    };
    let shown = |value: f64| {
        if plan.objective == Objective::Age {
            format!("{value:.1}")
        } else {
            format!("{value:.5}")
        }
    };
    let value = shown(plan.value);
    let bound = shown(plan.bound);
    text += &match plan.holds {
        Holds::LongRun => {
            format!("\n{value} {unit} in the long run; the best possible is {bound}\n")
        }
        Holds::OneInterval => format!(
            "\n{value} {unit} in one interval that begins with fresh copies; the best possible is {bound}\n\
            {} {unit} in the long run, if every interval has these crawls (compare this with `optimal`)\n",
            shown(plan.long_run_value)
        ),
    };
    text
}

/// "… and 80 more pages", if there are.
fn more(all: usize, shown: usize, what: &str) -> String {
    match all.checked_sub(shown) {
        Some(rest) if rest > 0 => format!("… and {rest} more {what}\n"),
        _ => String::new(),
    }
}
