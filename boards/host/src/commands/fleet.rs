//! `dunlin fleet`: many probes share one collection, one budget and each host's politeness.

use std::path::PathBuf;

use clap::Subcommand;

use super::fleet_watch::{self, WatchArgs};
use super::planner::{self, PlannerArgs};
use crate::error::Error;
use crate::fleet::asking::Control;
use crate::fleet::broker::{self, Setup};
use crate::fleet::orders::{Answered, Order};
use crate::fleet::simulate::{PARTS, Setting, Simulated, simulate};
use crate::fleet::view::{self, FleetView};
use crate::lists::pages::url_argument;
use crate::output::progress::Progress;
use crate::output::{self, Format, Table};

/// Plan for many probes that keep one collection fresh, or simulate them
///
/// The planner shares out hosts, budget and leases among probes, over an MQTT broker; each host has
/// one owner, so its politeness holds, whatever happens to probes, broker and planner:
///
///   dunlin fleet init roof --probes 2          a broker's configuration, and a URL for each probe
///   dunlin fleet PAGES.csv --mosquitto roof --state roof/state --crawls-per-day 2000
///   dunlin run --fleet "$(cat roof/p1.url)"    a probe; --broker @roof/planner.url: a broker you have
///
/// and from another shell, with the same --state:
///
///   dunlin fleet pull URL --state roof/state   visit it now; also add, remove, pause, resume, budget,
///                                              status
///
/// A probe that is cut off goes on until its lease is over, and its hosts go to others after that.
/// What the planner knows is in --state; it survives whatever ends it, and one planner at a time
/// can use it.
///
/// Without probes, in virtual time, with some 2,500 pages a probe:
///
///   dunlin fleet --simulate 1000 --seed 1 --format json
///   dunlin fleet --simulate 1000 --message-loss 0.2 --liars 9
///
/// `loss` is the share of the central optimum's freshness that is lost after `rounds` of grants
/// (`equal_loss`: with equal shares; `second_loss`: after two rounds). `violations` counts hosts
/// that were given away too soon and budgets that were exceeded. Then one probe in a hundred falls
/// silent, and its pages go to others: `churned_loss` is after two rounds with these. `fixed_loss` is what equal budgets
/// that cannot be changed lose with hosts assigned by name, `rehomed_loss` that after
/// `rehomed_pages` of the pages have moved.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    ask: Option<Ask>,
    #[command(flatten)]
    planner: Box<PlannerArgs>,
    /// Simulate so many probes
    #[arg(long, value_name = "PROBES", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    simulate: Option<u32>,
    /// The share of messages that the network loses, with --simulate
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    message_loss: f32,
    /// So many probes claim that a fetch is worth 1,100 times what it is, with --simulate
    #[arg(long, value_name = "N", default_value_t = 0)]
    liars: usize,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
enum Ask {
    /// Write a broker's configuration, and a file with a URL for the planner and each probe
    Init(InitArgs),
    /// Visit a page as soon as budget and politeness allow
    Pull {
        /// URL of the page to be visited
        #[arg(value_parser = url_argument)]
        url: String,
        #[command(flatten)]
        of: Of,
    },
    /// Add a page to the collection
    Add {
        /// URL of the page to be added
        #[arg(value_parser = url_argument)]
        url: String,
        /// How important it is
        #[arg(long, value_name = "W", default_value_t = 1.0)]
        weight: f64,
        #[command(flatten)]
        of: Of,
    },
    /// Remove a page from the collection
    Remove {
        /// URL of the page to be removed
        #[arg(value_parser = url_argument)]
        url: String,
        #[command(flatten)]
        of: Of,
    },
    /// Have a probe, or all of them, fetch nothing until told otherwise
    Pause {
        /// The probe; without it all of them
        probe: Option<String>,
        #[command(flatten)]
        of: Of,
    },
    /// Have a probe, or all of them, go on
    Resume {
        /// The probe; without it all of them
        probe: Option<String>,
        #[command(flatten)]
        of: Of,
    },
    /// Set the fetches a day of all probes together
    Budget {
        /// Fetches a day from now on
        #[arg(value_name = "N")]
        crawls_per_day: f32,
        #[command(flatten)]
        of: Of,
    },
    /// Watch a fleet from its broker alone, until Ctrl-C: a line each time something has changed
    Watch(Box<WatchArgs>),
    /// Show the fleet: probes, leases, shares, freshness
    Status {
        #[command(flatten)]
        of: Of,
    },
}

/// Which planner is asked.
#[derive(Debug, clap::Args)]
struct Of {
    /// The folder of the planner
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
}

/// What `fleet init` takes.
#[derive(Debug, clap::Args)]
struct InitArgs {
    /// The folder to be made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Probes that get credentials: p1, p2, …
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    probes: u16,
    /// Name of the fleet, which is part of every topic
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    fleet: String,
    /// Where the broker listens: a port on loopback, or an address and a port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:1883", value_parser = super::web_args::address)]
    broker: std::net::SocketAddr,
    /// Speak TLS, with this certificate and those that it rests on: a PEM file. Probes reach the
    /// broker by mqtts://, and trust its authority by --ca
    #[arg(long, value_name = "FILE.pem", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate: a PEM file
    #[arg(long, value_name = "FILE.pem", requires = "certificate")]
    key: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// An option is out of range, a file is wrong, or stdout cannot be written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    match (&args.ask, args.simulate) {
        (Some(ask), _) => answer(ask, format),
        (None, Some(probes)) => simulated(args, probes as usize, format),
        (None, None) => planner::run(&args.planner, format),
    }
}

fn answer(ask: &Ask, format: Format) -> Result<(), Error> {
    let (order, of) = match ask {
        Ask::Init(args) => return init(args, format),
        Ask::Status { of } => return status(of, format),
        Ask::Watch(args) => return fleet_watch::run(args, format),
        Ask::Pull { url, of } => (Order::Pull { url: url.clone() }, of),
        Ask::Add { url, weight, of } => (
            Order::Add {
                url: url.clone(),
                weight: *weight,
            },
            of,
        ),
        Ask::Remove { url, of } => (Order::Remove { url: url.clone() }, of),
        Ask::Pause { probe, of } => (
            Order::Pause {
                probe: probe.clone(),
                resume: false,
            },
            of,
        ),
        Ask::Resume { probe, of } => (
            Order::Pause {
                probe: probe.clone(),
                resume: true,
            },
            of,
        ),
        Ask::Budget { crawls_per_day, of } => (
            Order::Budget {
                crawls_per_day: *crawls_per_day,
            },
            of,
        ),
    };
    let body = output::json(&order);
    let said = Control::read(&of.state)?.ask("POST", "/orders", body.trim())?;
    if format == Format::Json {
        return output::print(&said);
    }
    let answered: Answered = serde_json::from_str(&said).unwrap_or_default();
    let mut table = Table::new(&["changed", "probe", "command"]);
    table.row(vec![
        answered.changed.to_string(),
        answered.probe.unwrap_or_default(),
        answered
            .command
            .map_or_else(String::new, |id| id.to_string()),
    ]);
    print(&table, format)
}

fn init(args: &InitArgs, format: Format) -> Result<(), Error> {
    let written = broker::init(
        &args.folder,
        &Setup {
            fleet: args.fleet.clone(),
            probes: args.probes,
            listen: args.broker,
            identity: args.certificate.clone().zip(args.key.clone()),
        },
    )?;
    if !args.broker.ip().is_loopback() && args.certificate.is_none() {
        output::say(
            "warning: the broker can be reached by others, and passwords cross the network as they are: \
             give it a certificate with --certificate and --key",
        );
    }
    if format == Format::Json {
        return output::print(&output::json(&written));
    }
    let file = |path: &PathBuf| path.display().to_string();
    if format == Format::Csv {
        let mut table = Table::new(&["configuration", "planner", "monitor", "home", "probes"]);
        let common = [
            &written.configuration,
            &written.planner,
            &written.monitor,
            &written.home,
        ];
        for probe in &written.probes {
            table.row(common.into_iter().chain([probe]).map(file).collect());
        }
        return output::print(&table.to_csv());
    }
    let mut table = Table::new(&["file", "for"]);
    table.row(vec![
        file(&written.configuration),
        "mosquitto -c FILE".into(),
    ]);
    table.row(vec![
        file(&written.planner),
        "dunlin fleet --broker @FILE".into(),
    ]);
    table.row(vec![file(&written.monitor), "who only looks".into()]);
    table.row(vec![file(&written.home), "Home Assistant".into()]);
    for probe in &written.probes {
        table.row(vec![file(probe), "a probe's --fleet".into()]);
    }
    output::print(&table.to_text())
}

fn status(of: &Of, format: Format) -> Result<(), Error> {
    let said = Control::read(&of.state)?.ask("GET", "/fleet.json", "")?;
    if format == Format::Json {
        return output::print(&said);
    }
    let view: FleetView = serde_json::from_str(&said)
        .map_err(|why| Error::Usage(format!("the planner's answer: {why}")))?;
    output::print(&match format {
        Format::Csv => view::csv(&view, true),
        _ => view::table(&view).to_text(),
    })
}

fn print(table: &Table, format: Format) -> Result<(), Error> {
    output::print(&match format {
        Format::Csv => table.to_csv(),
        _ => table.to_text(),
    })
}

fn simulated(args: &Args, probes: usize, format: Format) -> Result<(), Error> {
    if !(0.0..=0.9).contains(&args.message_loss) {
        return Err(Error::Usage(format!(
            "found --message-loss {}, expected a share from 0 to 0.9",
            args.message_loss
        )));
    }
    if args.liars >= probes {
        return Err(Error::Usage(format!(
            "found --liars {}, expected fewer than the {probes} probes",
            args.liars
        )));
    }
    let setting = Setting {
        probes,
        seed: args.planner.probe.seed.unwrap_or(1).into(),
        loss: args.message_loss,
        liars: args.liars,
    };
    let mut progress = Progress::new("simulating", PARTS);
    let simulated = simulate(setting, &mut |done| progress.at(done));
    drop(progress);
    output::print(&match format {
        Format::Json => output::json(&simulated),
        Format::Csv => table(&simulated, |number, _| number.to_string()).to_csv(),
        Format::Table => {
            let rounded = |number: f64, digits: usize| format!("{number:.digits$}");
            table(&simulated, rounded).to_text()
        }
    })
}

/// A table with numbers shown to so many digits, or exactly.
fn table(simulated: &Simulated, show: impl Fn(f64, usize) -> String) -> Table {
    let mut table = Table::new(&[
        "probes",
        "pages",
        "rounds",
        "loss",
        "equal_loss",
        "second_loss",
        "bytes_per_probe_day",
        "violations",
        "liars_share",
        "left_pages",
        "moved_pages",
        "churned_loss",
        "fixed_loss",
        "rehomed_loss",
        "rehomed_pages",
    ]);
    let share = |share: f64| show(share, 5);
    table.row(vec![
        simulated.probes.to_string(),
        simulated.pages.to_string(),
        simulated.rounds.to_string(),
        share(simulated.loss),
        share(simulated.equal_loss),
        share(simulated.second_loss),
        show(simulated.bytes_per_probe_day, 1),
        simulated.violations.to_string(),
        share(simulated.liars_share),
        simulated.left_pages.to_string(),
        simulated.moved_pages.to_string(),
        share(simulated.churned_loss),
        share(simulated.fixed_loss),
        share(simulated.rehomed_loss),
        share(simulated.rehomed_pages),
    ]);
    table
}
