//! Runs the papers' experiments and writes the pages about them. Run through `cargo xtask papers`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use dunlin_host::output::progress::Steps;
use dunlin_papers::page::{Section, Verdict};
use dunlin_papers::traces::Traces;
use dunlin_papers::{PAPERS, Settings, overview};

fn main() -> ExitCode {
    let mut settings = Settings {
        full: true,
        ..Settings::default()
    };
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--reduced" => settings.full = false,
            "--pages" => settings.pages = arguments.next().and_then(|pages| pages.parse().ok()),
            "--traces" => {
                let path = arguments.next().unwrap_or_default();
                settings.traces = match Traces::read(Path::new(&path)) {
                    Ok(traces) => Some(traces),
                    Err(error) => {
                        eprintln!("error: {error}");
                        return ExitCode::from(2);
                    }
                };
            }
            name => names.push(name.to_owned()),
        }
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut broken = 0;
    let papers: Vec<_> = PAPERS
        .iter()
        .filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name))
        .collect();
    let size = if settings.full { "" } else { " reduced" };
    let step = |name: &str| format!("papers {name}{size}");
    let steps: Vec<String> = papers.iter().map(|(name, _)| step(name)).collect();
    let memory = folder.join("../../target/times.tsv");
    let progress = Steps::new("papers", &steps, &memory, include_str!("../times.tsv"));
    for (name, run) in papers {
        progress.begin(&step(name));
        let start = Instant::now();
        let section = run(&settings);
        println!("{}", section.markdown());
        // Reduced tables are for a quick look: the pages hold the full ones.
        if settings.full
            && let Err(error) = section
                .write(&folder)
                .and_then(|()| overview::write(&folder))
        {
            eprintln!("error: cannot write {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
        broken += section.limits.iter().filter(|(_, holds)| !holds).count();
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{name}: {}, {seconds:.0} s", summary(&section));
    }
    progress.end();
    if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A claim that fails is a finding; only a broken limit of our own is an error.
fn summary(section: &Section) -> String {
    let count = |verdict: Verdict| {
        let claims = section.claims.iter();
        claims.filter(|claim| claim.verdict == verdict).count()
    };
    let broken = section.limits.iter().filter(|(_, holds)| !holds).count();
    format!(
        "claims {} ✔ {} ≈ {} ✘; {broken} of {} limits broken",
        count(Verdict::Holds),
        count(Verdict::Near),
        count(Verdict::Fails),
        section.limits.len()
    )
}
