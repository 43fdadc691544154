//! Runs test programs until one of them finds the fault.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::workplace::Program;

/// Long enough for any of them, however slow the computer is at the moment.
const PATIENCE: Duration = Duration::from_secs(300);
/// A program that has not ended after so many times of what it takes without a fault never will.
const TIMES: u32 = 4;
/// The least it is given, as computers do other things, too.
const LEAST: Duration = Duration::from_secs(20);

/// A program and how long it takes when all is well.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    program: Program,
    limit: Duration,
}

impl Trial {
    /// Runs the program without any fault. None: it fails even so.
    pub fn new(program: Program) -> Result<Option<Self>> {
        let start = Instant::now();
        let passed = passes(&program, None, PATIENCE)?;
        let limit = (start.elapsed() * TIMES).max(LEAST);
        Ok(passed.then_some(Self { program, limit }))
    }

    /// The name of the test program.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Whether the program finds the mutant whose switch has this number; without one, what was
    /// compiled into it.
    pub fn catches(&self, number: Option<usize>) -> Result<bool> {
        Ok(!passes(&self.program, number, self.limit)?)
    }

    /// The same for another build of the program, which has a mutant that no switch turns on.
    pub fn of(&self, program: &Program) -> Self {
        Self {
            program: program.clone(),
            limit: self.limit,
        }
    }
}

/// Whether all tests of a program pass within `limit`. The first that fails ends it.
fn passes(program: &Program, mutant: Option<usize>, limit: Duration) -> Result<bool> {
    // A fault may ask for all memory there is.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 8388608; exec \"$0\""])
        .arg(&program.file)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        // A failure is enough; the smallest example of it takes minutes.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("INSTA_UPDATE", "no")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    match mutant {
        Some(number) => command.env("DUNLIN_MUTANT", number.to_string()),
        None => command.env_remove("DUNLIN_MUTANT"),
    };
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", program.file.display()))?;
    judged(child, limit)
}

fn judged(mut child: Child, limit: Duration) -> Result<bool> {
    let end = Instant::now() + limit;
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take().context("the program has no output")?;
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let passed = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.ends_with(" FAILED") => break false,
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => break false,
            Err(RecvTimeoutError::Disconnected) => break child.wait()?.success(),
        }
    };
    // It has ended already, unless it failed.
    drop(child.kill());
    child.wait()?;
    drop(lines);
    drop(reader.join());
    Ok(passed)
}
