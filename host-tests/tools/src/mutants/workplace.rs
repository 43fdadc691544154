//! A copy of the repository to put mutants into, with a build folder of its own: in a common one
//! cargo would take a crate with mutants for the crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Room;
use crate::shell::{capture, cargo, root};

/// Every feature that goes with the tests': a mutant may be in code that only one of them has.
const FEATURES: &str = "std,log,additions,collect,filter,headers,update,discover,fleet,hints,push";

/// A copy of the repository in which mutants are built.
#[derive(Debug)]
pub(super) struct Workplace {
    folder: PathBuf,
    /// The crate as it was when the copy was made: whoever goes on working meanwhile moves lines.
    originals: BTreeMap<String, String>,
}

/// A test program, ready to be run.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub name: String,
    pub file: PathBuf,
    /// Where cargo would run it.
    pub folder: PathBuf,
}

/// Why something does not compile.
#[derive(Clone, Debug)]
pub(super) struct Complaint {
    pub text: String,
    /// Files and lines it points at, from the copy's top folder.
    pub places: Vec<(String, usize)>,
}

impl Workplace {
    /// Makes the copy, or makes it equal again. Files that are equal stay untouched: cargo would
    /// compile them again.
    pub fn new() -> Result<Self> {
        let mut workplace = Self {
            folder: root().join("target/mutants/copy"),
            originals: BTreeMap::new(),
        };
        let mut git = Command::new("git");
        git.current_dir(root()).args(["ls-files", "-z", "--cached"]);
        let names = capture(git.args(["--others", "--exclude-standard"]))?;
        for name in names.split_terminator('\0') {
            let file = root().join(name);
            // Deleted, and git was not told yet.
            if !file.is_file() {
                continue;
            }
            let bytes = fs::read(&file).with_context(|| format!("cannot read {name}"))?;
            workplace.write(name, &bytes)?;
            if name.starts_with("src/") {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                workplace.originals.insert(name.to_owned(), text);
            }
        }
        Ok(workplace)
    }

    /// A file of the crate without any mutant.
    pub fn original(&self, name: &str) -> Result<&str> {
        let text = self.originals.get(name).map(String::as_str);
        text.with_context(|| format!("{name} is no file of the crate"))
    }

    /// Writes one file of the copy, unless it is so already.
    pub fn write(&self, name: &str, text: &[u8]) -> Result<()> {
        let file = self.folder.join(name);
        if fs::read(&file).is_ok_and(|there| there == text) {
            return Ok(());
        }
        let folder = file.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// What the compiler has against the copy, as far as it got.
    pub fn complaints(&self) -> Result<Vec<Complaint>> {
        let mut check = self.cargo();
        check.args(["check", "--lib", "--package", "dunlin", "--features"]);
        check.arg(FEATURES);
        let (succeeded, messages) = run(&mut check)?;
        let complaints: Vec<Complaint> = messages
            .into_iter()
            .filter_map(Message::into_complaint)
            .collect();
        ensure!(
            succeeded || !complaints.is_empty(),
            "cargo check failed in {}",
            self.folder.display()
        );
        Ok(complaints)
    }

    /// Compiles the crate's unit tests and the test programs of `rooms`; or says why that is not
    /// possible.
    pub fn build(&self, rooms: &[Room]) -> Result<std::result::Result<Vec<Program>, String>> {
        let mut build = self.cargo();
        build.args(["test", "--no-run", "--lib"]);
        build.args(["--package", "dunlin", "--package", "host-tests"]);
        for test in rooms.iter().flat_map(|room| room.tests) {
            build.args(["--test", test]);
        }
        let (succeeded, messages) = run(&mut build)?;
        if !succeeded {
            let complaints = messages.into_iter().filter_map(Message::into_complaint);
            let first = complaints.map(|complaint| complaint.text).next();
            return Ok(Err(first.unwrap_or_default()));
        }
        let programs = messages.into_iter().filter_map(Message::into_program);
        Ok(Ok(programs.collect()))
    }

    fn cargo(&self) -> Command {
        let mut command = cargo();
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", root().join("target/mutants/build"));
        command
    }
}

/// Runs cargo and reads its messages.
fn run(command: &mut Command) -> Result<(bool, Vec<Message>)> {
    command.args(["--quiet", "--message-format", "json"]);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok((output.status.success(), messages.collect()))
}

/// What is read of a message of cargo's.
#[derive(Debug, Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    message: Option<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Debug, Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    line_start: usize,
}

impl Message {
    fn into_complaint(self) -> Option<Complaint> {
        let diagnostic = self.message.filter(|message| message.level == "error")?;
        let places = diagnostic.spans.into_iter();
        Some(Complaint {
            text: diagnostic.rendered.unwrap_or_default(),
            places: places
                .map(|span| (span.file_name, span.line_start))
                .collect(),
        })
    }

    fn into_program(self) -> Option<Program> {
        Some(Program {
            name: self.target?.name,
            file: self.executable?,
            folder: self.manifest_path?.parent().map(Path::to_owned)?,
        })
    }
}
