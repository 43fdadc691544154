//! Runs the papers' experiments and writes the pages about them. Run through `cargo xtask papers`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use dunlin_host::output::progress::Steps;
use dunlin_papers::{PAPERS, Settings};

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
            "--traces" => settings.traces = arguments.next().map(PathBuf::from),
            name => names.push(name.to_owned()),
        }
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut failed = 0;
    let papers: Vec<_> = PAPERS
        .iter()
        .filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name))
        .collect();
    let size = if settings.full { "" } else { " reduced" };
    let step = |name: &str| format!("papers {name}{size}");
    let steps: Vec<String> = papers.iter().map(|(name, _)| step(name)).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let progress = Steps::new("papers", &steps, &folder.join("../../target/times.tsv"));
    for (name, run) in papers {
        progress.begin(&step(name));
        let start = Instant::now();
        let section = run(&settings);
        println!("{}", section.markdown());
        // Reduced tables are for a quick look: the pages hold the full ones.
        if settings.full
            && let Err(error) = section.write(&folder)
        {
            eprintln!("error: cannot write {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
        let wrong = section.checks.iter().filter(|(_, holds)| !holds).count();
        failed += wrong;
        eprintln!(
            "{name}: {} of {} claims hold, {:.0} s",
            section.checks.len() - wrong,
            section.checks.len(),
            start.elapsed().as_secs_f64()
        );
    }
    progress.end();
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
