//! The workspace's tests, several programs at a time: most of them wait for clocks, servers and
//! browsers for longer than they compute, and cargo runs one after the other.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{capture, cargo, check, root, say};

/// Programs that run at a time. Each has threads for its own tests, too.
const AT_A_TIME: usize = 3;

/// A test program as cargo has built it.
#[derive(Debug)]
struct Program {
    /// Its package and its own name.
    name: String,
    path: PathBuf,
    /// Its package's folder, where cargo would start it.
    folder: PathBuf,
}

/// Builds all tests of the workspace and runs them, those of the documentation last. A failure
/// does not keep the others from running.
///
/// # Errors
/// One has failed, or they do not compile.
pub fn test(long: bool) -> Result<()> {
    let built = capture(cargo().args([
        "test",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]))?;
    let programs: VecDeque<Program> = built.lines().filter_map(program).collect();
    ensure!(!programs.is_empty(), "found no test program");
    let folder = root().join("target/test-output");
    fs::create_dir_all(&folder).context("cannot make a folder for what tests say")?;
    let total = programs.len();
    let waiting = Mutex::new(programs);
    let failed = Mutex::new(Vec::new());
    let next = || lock(&waiting).pop_front();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(program) = next() {
                    if let Err(why) = run(&program, &folder, long) {
                        lock(&failed).push(format!("{}: {why:#}", program.name));
                    }
                }
            });
        }
    });
    let mut doc = cargo();
    let documentation = check(doc.args(["test", "--workspace", "--doc", "--no-fail-fast"]));
    let mut failed = failed.into_inner().unwrap_or_default();
    failed.extend(documentation.err().map(|why| format!("{why:#}")));
    ensure!(
        failed.is_empty(),
        "{} of {total} test programs and the documentation FAILED: {}",
        failed.len(),
        failed.join("; ")
    );
    Ok(())
}

/// Nobody panics while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The test program that a line of cargo's speaks of, if it does.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?.to_owned();
    let package = folder.strip_prefix(root()).unwrap_or(&folder);
    let name = message["target"]["name"].as_str()?;
    Some(Program {
        name: package.join(name).display().to_string(),
        path: message["executable"].as_str()?.into(),
        folder,
    })
}

/// Runs one to its end, and says what it has said in one piece.
fn run(program: &Program, folder: &Path, long: bool) -> Result<()> {
    let said = folder.join(program.name.replace('/', "-"));
    let output = File::create(&said).context("cannot keep what a test says")?;
    let begin = Instant::now();
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        .env("INSTA_UPDATE", "no")
        .stdin(Stdio::null())
        .stdout(output.try_clone().context("cannot keep what a test says")?)
        .stderr(output);
    if long {
        command.env("DUNLIN_LONG", "1");
    }
    let status = command.status().context("cannot start it")?;
    let output = fs::read(&said).context("cannot read what it said")?;
    let output = String::from_utf8_lossy(&output);
    let seconds = begin.elapsed().as_secs_f64();
    say(format_args!(
        "tests of {} ended after {seconds:.0} s\n{}",
        program.name,
        output.trim()
    ));
    ensure!(status.success(), "{status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(profile: &str, executable: &str) -> String {
        let manifest = root().join("boards/host/Cargo.toml");
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"{}","target":{{"name":"cli"}},"profile":{{{profile}}},"executable":{executable}}}"#,
            manifest.display()
        )
    }

    #[test]
    fn what_cargo_has_built_as_a_test_is_one() {
        let found = program(&message(r#""test":true"#, r#""/target/cli-1""#)).expect("a test");
        assert_eq!(found.name, "boards/host/cli");
        assert_eq!(found.path, Path::new("/target/cli-1"));
        assert_eq!(found.folder, root().join("boards/host"));
        let others = [
            message(r#""test":false"#, r#""/target/cli""#),
            message(r#""test":true"#, "null"),
            "not JSON".to_owned(),
        ];
        assert!(others.iter().all(|line| program(line).is_none()));
    }

    #[test]
    fn a_test_program_that_fails_is_a_failure() {
        let folder = std::env::temp_dir().join(format!("dunlin-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let end = |path: &str| {
            let program = Program {
                name: "a/b".into(),
                path: path.into(),
                folder: folder.clone(),
            };
            run(&program, &folder, true)
        };
        assert!(end("/usr/bin/env").is_ok());
        let said = fs::read_to_string(folder.join("a-b")).expect("what it said");
        assert!(said.contains("DUNLIN_LONG=1") && said.contains("INSTA_UPDATE=no"));
        assert!(end("/bin/false").is_err());
        assert!(end("/no/such/program").is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
