//! Other programs: say what is run, run it, and turn a failure into a sentence.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use dunlin_host::output::progress::Steps;

/// Says on stderr what is going on.
pub fn say(what: impl std::fmt::Display) {
    dunlin_host::output::say(format_args!("xtask: {what}"));
}

/// Returns the repository's top folder.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .map_or_else(|| here.clone(), PathBuf::from)
}

/// How many seconds steps take on a computer with two cores where nothing was built before: a line
/// `name<tab>seconds` each, as runs write them to `target/times.tsv`.
pub const USUAL_TIMES: &str = include_str!("../../times.tsv");

/// Progress through long steps, by how long each took the last time.
pub fn steps(label: &str, names: &[impl AsRef<str>]) -> Steps {
    HAS_BAR.store(true, Ordering::Relaxed);
    Steps::new(label, names, &root().join("target/times.tsv"), USUAL_TIMES)
}

/// There is a bar of our own: two would fight for the line.
static HAS_BAR: AtomicBool = AtomicBool::new(false);

/// The environment variable that a step of `cargo xtask test` finds: whoever has started it says how
/// far all of them are.
pub const IS_STEP: &str = "DUNLIN_IS_STEP";

/// The option that keeps cargo silent where somebody else says how far it is.
pub fn quiet() -> Option<&'static str> {
    let is_step = std::env::var_os(IS_STEP).is_some() && !std::io::stderr().is_terminal();
    silenced(is_step, HAS_BAR.load(Ordering::Relaxed))
}

fn silenced(is_step: bool, has_bar: bool) -> Option<&'static str> {
    (is_step || has_bar).then_some("--quiet")
}

/// Returns the cargo that runs this program, in the repository's top folder.
pub fn cargo() -> Command {
    let mut command =
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    command
}

/// Runs `command` to its end, its output going where ours goes.
pub fn check(command: &mut Command) -> Result<()> {
    let status = run(command)?;
    if !status.success() {
        bail!("`{}` failed: {status}", describe(command));
    }
    Ok(())
}

/// The same; how it ended is for the caller to judge.
pub fn run(command: &mut Command) -> Result<ExitStatus> {
    let shown = describe(command);
    say(&shown);
    command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{shown}`"))
}

/// Runs `command` to its end and returns what it printed; its complaints go where ours go.
pub fn capture(command: &mut Command) -> Result<String> {
    let shown = describe(command);
    say(&shown);
    let command = command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` quietly and returns its standard output if it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Finds a program on PATH, or where distributions keep servers.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// There is one, or it cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the command line as a person would type it.
fn describe(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command
        .get_args()
        .map(|argument| format!(" {}", argument.to_string_lossy()));
    arguments.fold(name, |line, argument| line + &argument)
}

/// Words as a shell takes them: what is more than a plain word is quoted.
pub fn words(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_an_error() {
        let shell = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            shell
        };
        assert!(check(&mut shell("exit 0")).is_ok());
        assert!(check(&mut shell("exit 1")).is_err());
        assert!(check(&mut shell("kill -9 $$")).is_err());
        assert_eq!(capture(&mut shell("echo it")).ok().as_deref(), Some("it\n"));
        assert!(capture(&mut shell("echo it; exit 3")).is_err());
        assert_eq!(output(&mut shell("echo it; exit 3")), None);
        assert!(check(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn cargo_is_silent_only_where_somebody_else_speaks() {
        assert_eq!(silenced(false, false), None, "a first build takes minutes");
        assert_eq!(silenced(true, false), Some("--quiet"));
        assert_eq!(silenced(false, true), Some("--quiet"));
    }

    #[test]
    fn words_come_out_of_a_shell_as_they_went_in() {
        let awkward = ["a b", "it's", "", "$HOME", "plain.csv", "tcp:127.0.0.1:1"];
        let line = words(&awkward.map(String::from));
        let script = format!("printf '%s\\n' {line}");
        let said = output(Command::new("sh").args(["-c", &script])).expect("a shell");
        assert_eq!(said.lines().collect::<Vec<_>>(), awkward, "{line}");
    }
}
