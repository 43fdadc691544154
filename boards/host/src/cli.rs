//! The command line: what can be asked, and how answers and errors leave.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::{
    check, collect, crawl_order, diff, estimate, evolution, export, fleet, history, image, monitor,
    plan, push, release_list, report, robots, run, schedule, simulate, terms, test_filter,
};
use crate::error::Error;
use crate::output::{self, Format};

/// Keep a collection of web pages fresh: plan, schedule and simulate crawls
///
/// Start with a page list, PAGES.csv: a header row and one URL a line.
///
///   dunlin check PAGES.csv            is the list sound, and what is in it?
///   dunlin plan PAGES.csv --crawls N  how often to visit each page
///   dunlin schedule PAGES.csv --crawls N --method merge    what to fetch when, by which crawler
///   dunlin simulate PAGES.csv --days D --crawls-per-day N --compare    what each policy would achieve
///   dunlin estimate HISTORY.csv       how often do pages change, by what visits found?
///   dunlin evolution HISTORY.csv      how do they change and vanish, by domain?
///   dunlin crawl-order EDGES.csv --order pagerank --pages K    which pages would a crawl find first?
///   dunlin run PAGES.csv              watch the pages for changes, politely, from this computer
///   dunlin export STATE PAGES.csv     what `run --state STATE` has learnt, as a list for the next run
///   dunlin collect --archive DIR      one archive for what many probes fetch
///   dunlin fleet PAGES.csv --mosquitto DIR --state DIR    one collection for many probes
///   dunlin fleet --simulate 1000      how well would a thousand probes share one collection?
///   dunlin history URL --archive DIR  the versions of a page that `run --archive DIR` has kept
///   dunlin diff URL --archive DIR     what has changed between two of them
///   dunlin test-filter URL --select S  what of a page counts as a change
///   dunlin image PAGES.csv --out FILE  the list as a firmware of your own takes it
///   dunlin release-list PAGES.csv --key FILE --out DIR    the list as a signed update for probes
///   dunlin push URL --to WHERE --key FILE    tell a probe that a page has changed
///   dunlin monitor --elf FILE --log SOURCE    watch a probe at work, by its log
///   dunlin report LOG --elf FILE      a finished run as a page with plots
///   dunlin robots robots.txt URL      may this URL be fetched, and which rule says so?
///   dunlin help terms                 what bound, optimum, price, gate and belief mean
///   dunlin completions bash           completions for your shell
///
/// Results go to stdout, in the format you choose; everything else goes to stderr.
/// Exit codes: 0 done, 1 a negative answer, 2 bad usage or bad input (and nothing written).
#[derive(Debug, Parser)]
#[command(
    name = "dunlin",
    version,
    verbatim_doc_comment,
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How results are printed
    #[arg(long, global = true, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Collect(Box<collect::Args>),
    CrawlOrder(crawl_order::Args),
    Diff(diff::Args),
    Estimate(estimate::Args),
    Evolution(evolution::Args),
    Export(export::Args),
    Fleet(fleet::Args),
    History(history::Args),
    Image(image::Args),
    Monitor(monitor::Args),
    Plan(plan::Args),
    Push(push::Args),
    ReleaseList(release_list::Args),
    Report(report::Args),
    Robots(robots::Args),
    Run(Box<run::Args>),
    Schedule(schedule::Args),
    Simulate(simulate::Args),
    Terms(terms::Args),
    TestFilter(test_filter::Args),
    /// Print completions for a shell, to be sourced or put where it looks for them
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: Shell,
    },
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &Cli::command()),
    };
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            if !matches!(error, Error::Said(_)) {
                output::say(format_args!("error: {error}"));
            }
            ExitCode::from(2)
        }
    }
}

impl Cli {
    fn run(&self) -> Result<ExitCode, Error> {
        match &self.command {
            Command::Check(args) => check::run(args, self.format)?,
            Command::Collect(args) => collect::run(args, self.format)?,
            Command::CrawlOrder(args) => crawl_order::run(args, self.format)?,
            Command::Diff(args) => return diff::run(args, self.format),
            Command::Estimate(args) => estimate::run(args, self.format)?,
            Command::Evolution(args) => evolution::run(args, self.format)?,
            Command::Export(args) => export::run(args, self.format)?,
            Command::Fleet(args) => fleet::run(args, self.format)?,
            Command::History(args) => return history::run(args, self.format),
            Command::Image(args) => image::run(args, self.format)?,
            Command::Monitor(args) => monitor::run(args, self.format)?,
            Command::Plan(args) => plan::run(args, self.format)?,
            Command::Push(args) => return push::run(args, self.format),
            Command::ReleaseList(args) => release_list::run(args, self.format)?,
            Command::Report(args) => report::run(args, self.format)?,
            Command::Robots(args) => return robots::run(args, self.format),
            Command::Run(args) => run::run(args, self.format)?,
            Command::Schedule(args) => schedule::run(args, self.format)?,
            Command::Simulate(args) => simulate::run(args, self.format)?,
            Command::Terms(_) => terms::run()?,
            Command::TestFilter(args) => return test_filter::run(args, self.format),
            Command::Completions { shell } => {
                // Into memory, because the generator panics where it cannot write.
                let mut text = Vec::new();
                clap_complete::generate(*shell, &mut Self::command(), "dunlin", &mut text);
                output::print(&String::from_utf8_lossy(&text))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Answers what a program's command line is not: help and version as they are; an error as the one
/// line that says what is wrong.
pub fn refuse(error: &clap::Error, program: &clap::Command) -> ExitCode {
    if !error.use_stderr() {
        return match output::to_stdout(error.print()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(2),
        };
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let text = error.render().to_string();
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.filter_map(|word| word.into_string().ok());
    output::say(format_args!(
        "{}; see '{} --help'",
        one_line(&text),
        asked(&text, program, arguments)
    ));
    ExitCode::from(2)
}

/// The message of a clap error and its tip on one line, without the usage below them.
fn one_line(text: &str) -> String {
    let message = text
        .split("\n\nUsage:")
        .next()
        .unwrap_or(text)
        .split("\n\nFor more")
        .next()
        .unwrap_or(text);
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ").replace(" tip: ", "; tip: ");
    let plain = |line: String, (words, plain): &(&str, &str)| line.replace(words, plain);
    IN_PLAIN_WORDS.iter().fold(line, plain)
}

/// What Rust says of numbers that are none, and what is expected instead.
const IN_PLAIN_WORDS: [(&str, &str); 4] = [
    ("invalid float literal", "expected a number"),
    (
        "cannot parse float from empty string",
        "found nothing, expected a number",
    ),
    (
        "invalid digit found in string",
        "expected a whole number, without signs",
    ),
    (
        "cannot parse integer from empty string",
        "found nothing, expected a whole number",
    ),
];

/// The command of a program that was asked for, as far as the usage of a clap error says which. What
/// is said of a wrong value has no usage: then the first argument that is a command.
fn asked(
    text: &str,
    program: &clap::Command,
    mut arguments: impl Iterator<Item = String>,
) -> String {
    let name = program.get_bin_name().unwrap_or(program.get_name());
    let commands: Vec<String> = match text.split_once("\n\nUsage: ") {
        Some((_, usage)) => {
            let is_name = |word: &&str| !word.starts_with(['[', '<', '-']);
            // The program stands there by its file's name, in as many words.
            let words = usage.split_whitespace();
            let words = words.skip(name.split_whitespace().count());
            words.take_while(is_name).map(str::to_owned).collect()
        }
        None => {
            let is_command = |word: &String| program.find_subcommand(word).is_some();
            arguments.find(is_command).into_iter().collect()
        }
    };
    [vec![name.to_owned()], commands].concat().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_that_is_named_is_that_of_the_command() {
        let help = |arguments: &[&str]| {
            let error = Cli::try_parse_from(arguments).expect_err("it is wrong");
            let arguments = arguments.iter().map(|word| (*word).to_owned());
            asked(&error.render().to_string(), &Cli::command(), arguments)
        };
        assert_eq!(help(&["dunlin", "plan", "PAGES.csv"]), "dunlin plan");
        assert_eq!(help(&["dunlin", "plan", "--crawl", "1"]), "dunlin plan");
        assert_eq!(help(&["dunlin", "fleet", "pull"]), "dunlin fleet pull");
        assert_eq!(help(&["dunlin", "--nonsense"]), "dunlin");
        let wrong = ["dunlin", "run", "PAGES.csv", "--politeness", "15"];
        assert_eq!(help(&wrong), "dunlin run");
        let text = "error: it is wrong\n\nUsage: cargo xtask flash [OPTIONS] --board <NAME>\n";
        let xtask = clap::Command::new("cargo xtask").bin_name("cargo xtask");
        assert_eq!(asked(text, &xtask, [].into_iter()), "cargo xtask flash");
    }

    #[test]
    fn a_tip_stands_apart_from_what_is_wrong() {
        let text = "error: unexpected argument '--a' found\n\n  tip: a similar argument exists: '--b'\n\nUsage: x";
        assert_eq!(
            one_line(text),
            "error: unexpected argument '--a' found; tip: a similar argument exists: '--b'"
        );
    }
}
