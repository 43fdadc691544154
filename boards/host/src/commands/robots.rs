//! `dunlin robots`: may this URL be fetched, and which rule says so?

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dunlin::fetch::robots::{Judge, LIMITS, Reason, RobotsReader};
use dunlin::fetch::{Agent, Url};
use dunlin::time::Duration;
use serde::Serialize;

use crate::error::{Error, quoted};
use crate::lists::pages::url_argument;
use crate::output::{self, Format, Table};

/// Say whether a robots.txt allows a URL, and which rule decides
///
/// Decides as the probe does, by RFC 9309: the group with the agent's name or else the one for *,
/// the longest match, allow before disallow. Exit code 0 if allowed, 1 if disallowed.
///
///   dunlin robots robots.txt --agent dunlin http://example.org/private/
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// A robots.txt, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Who asks: the name that user-agent lines are compared with
    #[arg(long, value_name = "NAME", default_value = "dunlin")]
    agent: String,
    /// What is asked for
    #[arg(value_name = "URL", value_parser = url_argument)]
    url: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    url: &'a str,
    agent: &'a str,
    allowed: bool,
    line: Option<u32>,
    rule: Option<String>,
    crawl_delay_s: Option<f64>,
}

/// Runs the command.
///
/// # Errors
/// The file cannot be read, or the URL or the agent is none.
pub fn run(args: &Args, format: Format) -> Result<ExitCode, Error> {
    let usage = |what: &str, error: &dyn std::fmt::Display| {
        Error::Usage(format!("{}: {error}", quoted(what)))
    };
    let url = Url::parse(&args.url).map_err(|error| usage(&args.url, &error))?;
    let agent = Agent::new(&args.agent, None).map_err(|error| usage(&args.agent, &error))?;
    let file = read(&args.file)?;
    let mut reader = RobotsReader::new(agent.token(), Judge::new(url));
    reader.update(&file);
    let (judge, crawl_delay) = reader.finish();
    let decision = judge.ruling();
    let line = match decision.reason {
        Reason::Line(line) => Some(line),
        _ => None,
    };
    let answer = Answer {
        url: &args.url,
        agent: agent.token(),
        allowed: decision.allowed,
        line,
        rule: line.map(|line| text_of(&file, line)),
        crawl_delay_s: crawl_delay.map(Duration::as_secs_f64),
    };
    print(
        &answer,
        matches!(decision.reason, Reason::RobotsTxt),
        format,
    )?;
    Ok(if answer.allowed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(answer: &Answer<'_>, is_robots_txt: bool, format: Format) -> Result<(), Error> {
    let verdict = if answer.allowed {
        "allowed"
    } else {
        "disallowed"
    };
    match format {
        Format::Json => output::print(&output::json(answer)),
        Format::Csv => {
            let mut table =
                Table::new(&["url", "agent", "allowed", "line", "rule", "crawl_delay_s"]);
            table.row(vec![
                answer.url.to_owned(),
                answer.agent.to_owned(),
                answer.allowed.to_string(),
                answer.line.map(|line| line.to_string()).unwrap_or_default(),
                answer.rule.clone().unwrap_or_default(),
                answer
                    .crawl_delay_s
                    .map(|delay| delay.to_string())
                    .unwrap_or_default(),
            ]);
            output::print(&table.to_csv())
        }
        Format::Table => {
            let why = match (answer.line, &answer.rule) {
                (Some(line), Some(rule)) => format!("line {line}: {rule}"),
                _ if is_robots_txt => "robots.txt itself always is".to_owned(),
                _ => "no rule matches".to_owned(),
            };
            let delay = answer
                .crawl_delay_s
                .map(|delay| format!("\ncrawl-delay {delay} s"))
                .unwrap_or_default();
            output::print(&format!("{verdict}  ({why}){delay}\n"))
        }
    }
}

/// The file, as far as a probe would read it.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let limit = u64::from(LIMITS.body_bytes);
    if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(path)
            .map_err(|error| Error::opening(path, error))?
            .take(limit)
            .read_to_end(&mut bytes)
    }
    .map_err(|error| Error::reading(path, error))?;
    Ok(bytes)
}

/// A line of the file, counted as its reader counts: CR, LF and CRLF each end one.
fn text_of(file: &[u8], line: u32) -> String {
    let text = String::from_utf8_lossy(file)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    text.split('\n')
        .nth(line as usize - 1)
        .unwrap_or_default()
        .trim()
        .to_owned()
}
