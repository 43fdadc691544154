//! The project's commands. Each says on stderr what it is doing and prints on stdout what it found.

mod flash;
mod list_arguments;
mod qemu;
mod release;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use dunlin_bench::{self as bench, throughput};
use dunlin_e2e::{self as e2e, day, demo, monitor, update};
use dunlin_tools::firmware::budgets::Rows;
use dunlin_tools::firmware::{boards, sizes};
use dunlin_tools::{fuzz, mutants, papers};
use test::Settings;

/// dunlin's own commands: see it run, test it, measure it.
///
/// Start with `cargo xtask demo`. Each command installs what it lacks (Rust targets through rustup,
/// qemu-system-arm through apt when run as root), says so, and leaves the rest of the system alone.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    /// Install nothing: fail with one line that says what is missing
    #[arg(long, global = true)]
    no_install: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Let the probe, on an emulated Cortex-M4F, crawl a small changing web for a minute (the first
    /// time, a few more go into building)
    Demo {
        /// Instead: sign a firmware, let the probe fetch, try and confirm it, and take back one
        /// that panics
        #[arg(long)]
        update: bool,
    },
    /// Run everything that must pass; after a failure nothing more is begun
    ///
    /// Formatting, clippy and rustdoc without warnings, unit, doc and host tests, the on-target
    /// suite in QEMU, and the promises: no allocator, few panic sites, flash and RAM within budget,
    /// a package that builds. Firmware and QEMU have a lane of their own, whose lines begin with
    /// a bar.
    Test {
        /// Also the long variants of tests (sets DUNLIN_LONG=1)
        #[arg(long)]
        long: bool,
        /// Only this step; a name that does not exist lists those that do
        #[arg(long, value_name = "NAME")]
        step: Option<String>,
        /// Begin the other steps after a failure, too
        #[arg(long)]
        no_fail_fast: bool,
    },
    Qemu(qemu::Arguments),
    Flash(flash::Arguments),
    Keygen(release::KeygenArguments),
    Release(release::Arguments),
    /// List the boards: what the firmware takes of each chip, and how many pages and hosts it
    /// holds
    ///
    /// Prints the table that README.md has, and builds nothing.
    Boards {
        /// Build every board, and write the table into README.md, between its marks
        #[arg(long)]
        readme: bool,
        /// Build firmware and suite of each, and hold the images against the chips' memory maps
        #[arg(long, conflicts_with = "readme")]
        check: bool,
    },
    /// Run the end-to-end cases alone: the probe in QEMU against servers on loopback, judged by the
    /// servers' logs
    E2e {
        /// Only cases whose name contains this
        name: Option<String>,
        /// Also those that take many minutes: ten runs of five minutes beside the optimum, fifty
        /// power cuts
        #[arg(long)]
        long: bool,
    },
    /// Watch a probe in QEMU with `dunlin monitor`, in a headless browser and in a terminal, and
    /// check what they show
    Monitor {
        /// Take what they show for the truth: a new record, new screens, new pictures for the
        /// README
        #[arg(long)]
        bless: bool,
    },
    /// Run the probe for a day of virtual time on a simulated network, twice, and compare the logs
    Day,
    /// Compare the probe's requests a second with those of a bare TCP loop on the same emulated
    /// board
    Throughput,
    /// Run libFuzzer on everything that reads what strangers send: responses, robots.txt and its
    /// patterns, URLs, dates, page images, state, names, links, sitemaps, feeds, pushes, messages
    /// of a fleet
    Fuzz {
        /// Run only this target
        #[arg(value_parser = fuzz::TARGETS)]
        target: Option<String>,
        /// How long each runs
        #[arg(long, value_name = "N", default_value_t = fuzz::SECONDS)]
        seconds: u32,
    },
    /// Put faults into the crate one at a time, with cargo-mutants, and see whether its tests catch
    /// them
    ///
    /// Fails below 90 %, and when a survivor has no reason in host-tests/mutants.toml. What became
    /// of each is printed.
    Mutants {
        /// Only this part of the crate, or the faults by hand
        #[arg(value_parser = mutants::rooms())]
        room: Option<String>,
        /// All of them, instead of a sample
        #[arg(long)]
        all: bool,
        /// How many a sample has
        #[arg(long, value_name = "N", default_value_t = mutants::SAMPLE)]
        sample: usize,
        /// Of the sample: the same seed, the same mutants
        #[arg(long, value_name = "S", default_value_t = 1)]
        seed: u64,
    },
    /// Print flash and static RAM per board; fail above the budget in host-tests/budgets.toml
    Size {
        /// Only this image (repeatable): a board with `+FEATURE` for each feature, as in
        /// host-tests/budgets.toml
        #[arg(long, value_name = "NAME")]
        image: Vec<String>,
        /// Also the flash by crate and module: of the images that are named, or of the emulated board
        #[arg(long)]
        modules: bool,
    },
    /// Print one table: device (instructions, counted in QEMU), host, memory and network figures
    /// beside what else there is
    ///
    /// Fails when anything grows faster than documented.
    Bench {
        /// Only instructions and memory, which take a few minutes and are the same on every
        /// computer
        #[arg(long)]
        device: bool,
        /// Write host-tests/baseline.toml, which `cargo xtask test` holds instruction counts and
        /// sizes against
        #[arg(long)]
        renew: bool,
        /// Print nothing but what is worse than host-tests/baseline.toml, and fail if anything is
        #[arg(long, conflicts_with_all = ["device", "renew", "page"])]
        check: bool,
        /// Write the performance page, host-tests/PERFORMANCE.md
        #[arg(long, conflicts_with = "device")]
        page: bool,
        /// Only the peers: what a user would pick instead, on the same lists; writes its section of
        /// the performance page
        #[arg(long, conflicts_with_all = ["device", "renew", "check", "page"])]
        peers: bool,
        /// Only what https costs: instructions, bytes, memory, and sessions of 4, 16 and 64 hosts
        #[arg(long, conflicts_with_all = ["device", "renew", "check", "page", "peers"])]
        https: bool,
        /// Only what keeping a collection costs: bodies and look-ups of the archive, and what
        /// copies to a collector cost a probe
        #[arg(long, conflicts_with_all = ["device", "renew", "check", "page", "peers", "https"])]
        collection: bool,
        /// Only what finding pages costs: instructions, memory and flash
        #[arg(long, conflicts_with_all = ["device", "renew", "check", "page", "peers", "https", "collection"])]
        discovery: bool,
    },
    /// Reproduce the papers' experiments and write host-tests/papers (all of them at full size:
    /// half an hour on two cores)
    Papers {
        /// Reproduce only this paper
        #[arg(value_parser = papers::NAMES)]
        name: Option<String>,
        /// As small as in the tests, and without writing anything
        #[arg(long)]
        reduced: bool,
        /// Pages of the large experiments (wolf, desouza) [default: the papers' million]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5_000..=2_000_000))]
        pages: Option<u32>,
        /// Real changes, as from the Open Terms Archive (service, page, unix_time, kind) [default:
        /// the excerpt in host-tests/data]
        #[arg(long, value_name = "FILE")]
        traces: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let Arguments {
        no_install,
        command,
    } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return dunlin_host::cli::refuse(&error, &Arguments::command()),
    };
    let install = !no_install;
    let result = match command {
        Command::Demo { update: true } => update::demo::demo(install),
        Command::Demo { update: false } => demo::demo(install),
        Command::Test {
            long,
            step,
            no_fail_fast: keep_going,
        } => {
            let settings = Settings {
                install,
                long,
                keep_going,
            };
            test::test(settings, step.as_deref())
        }
        Command::Qemu(arguments) => qemu::qemu(install, &arguments),
        Command::Flash(arguments) => flash::flash(install, &arguments),
        Command::Keygen(arguments) => release::keygen(&arguments),
        Command::Release(arguments) => release::release(install, &arguments),
        Command::Boards { check: true, .. } => boards::check(install, Rows::All),
        Command::Boards { readme, .. } => boards::boards(install, readme),
        Command::E2e { name, long } => {
            e2e::run(install, name.as_deref(), long).map(|passed| println!("{passed} passed"))
        }
        Command::Monitor { bless } => monitor::monitor(install, bless),
        Command::Day => day::day(install),
        Command::Throughput => throughput::throughput(install),
        Command::Fuzz { target, seconds } => fuzz::fuzz(install, target.as_deref(), seconds),
        Command::Mutants {
            room,
            all,
            sample,
            seed,
        } => {
            let room = room.as_deref();
            let choice = mutants::Choice {
                room,
                all,
                sample,
                seed,
            };
            mutants::mutants(install, choice)
        }
        Command::Size { image, modules } => sizes::size(install, Rows::All, &image, modules),
        Command::Papers {
            name,
            reduced,
            pages,
            traces,
        } => papers::papers(name.as_deref(), reduced, pages, traces),
        Command::Bench { check: true, .. } => bench::guard(install),
        Command::Bench { peers: true, .. } => bench::beside_peers(),
        Command::Bench { https: true, .. } => bench::https(install),
        Command::Bench {
            collection: true, ..
        } => bench::collection(install),
        Command::Bench {
            discovery: true, ..
        } => bench::discovery(install),
        Command::Bench {
            device: device_only,
            renew,
            page,
            ..
        } => {
            let wanted = bench::Wanted {
                device_only,
                renew,
                page,
            };
            bench::bench(install, wanted)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            // What the user can put right is told apart from what broke.
            let usage = error.is::<dunlin_host::error::Error>();
            if usage {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_readme::{commands, compare, filled_in, is_only_named, options};
    use dunlin_tools::shell::root;

    /// Every page that says what to type.
    const PAGES: [&str; 10] = [
        "README.md",
        "boards/EMBEDDING.md",
        "boards/PORTING.md",
        "boards/host/ARCHIVE.md",
        "boards/host/COLLECT.md",
        "boards/host/FLEET.md",
        "boards/nucleo-h753zi/README.md",
        "boards/pico2-w/README.md",
        "boards/w5500-evb-pico2/README.md",
        "host-tests/README.md",
    ];

    #[test]
    fn what_pages_say_to_type_is_understood() {
        let mut understood = 0;
        for page in PAGES {
            let text = std::fs::read_to_string(root().join(page)).expect("a page");
            for words in commands(&text, &["cargo xtask"]) {
                if is_only_named(&words[2..], &Arguments::command()) {
                    continue;
                }
                // The program's name stands for the first two.
                let words = words[1..].iter().map(|word| filled_in(word));
                let words: Vec<&str> = words.collect();
                if let Err(error) = Arguments::try_parse_from(&words) {
                    panic!("{page}: {words:?}: {error}");
                }
                understood += 1;
            }
        }
        assert!(understood > 15, "{understood}");
        let wrong = ["xtask", "flash", "--board", "pico2-w"];
        assert!(
            Arguments::try_parse_from(wrong).is_err(),
            "without a page list"
        );
    }

    #[test]
    fn every_default_is_in_the_table() {
        let file = root().join("host-tests/OPTIONS.md");
        compare(
            &file,
            &options(
                "The options of cargo xtask, and their defaults",
                &Arguments::command(),
            ),
        );
    }
}
