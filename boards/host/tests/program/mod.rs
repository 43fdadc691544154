//! Runs the program for the tests of its commands.

// Not every test uses all of it.
#![allow(dead_code)]

pub mod site;

use std::collections::HashMap;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `dunlin` with `input` on its stdin.
pub fn dunlin(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses its input early closes the pipe: that is no failure of the test.
    let _ = child.stdin.take().expect("stdin is piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

/// Starts the program without root's privilege to write where nobody may: for a user who has none,
/// as it is.
pub fn unprivileged() -> Command {
    let program = env!("CARGO_BIN_EXE_dunlin");
    let own = std::fs::metadata("/proc/self").expect("Linux says who we are");
    if own.uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", program]);
    command
}

/// Makes a folder one that nobody without privileges writes to, or ends that.
pub fn set_read_only(folder: &Path, read_only: bool) {
    let mode = if read_only { 0o555 } else { 0o755 };
    std::fs::set_permissions(folder, Permissions::from_mode(mode)).expect("it is ours");
}

/// What a program has printed, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Exit code 2, one line on stderr that says `expected`, nothing on stdout.
pub fn refuses(arguments: &[&str], input: &[u8], expected: &str) {
    let output = dunlin(arguments, input);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(
        text(&output.stdout),
        "",
        "{arguments:?} wrote a partial result"
    );
    assert_eq!(
        error.lines().count(),
        1,
        "{arguments:?}: not one line: {error}"
    );
    assert!(
        error.contains(expected),
        "{arguments:?}: {error:?} does not say {expected:?}"
    );
}

/// Bodies in the archive, by path, oldest first, as another program reads them.
pub fn read_by_others(folder: &Path, more: &[&str]) -> HashMap<String, Vec<String>> {
    let output = python("archive.py")
        .arg(folder)
        .args(more)
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A program of `tests/python`, in the virtual environment that `cargo xtask test` makes.
pub fn python(name: &str) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/python/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: `cargo xtask test --step tools` makes it",
        python.display()
    );
    let mut command = Command::new(python);
    command.arg(here.join("tests/python").join(name));
    command
}
