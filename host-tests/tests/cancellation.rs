//! Whoever drops a future in the middle has to know what that leaves behind: every async function
//! says so.

use std::fs;
use std::path::{Path, PathBuf};

const WORD: &str = "*Cancellation*";

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder)
        .expect("a folder of the repository")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" && entry.file_name() != "tests" {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Is this the first line of an async function?
fn is_async_function(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest.trim_start();
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest)
    });
    rest.trim_start().starts_with("async fn ")
}

/// Lines of async functions that do not say what dropping them means, and how many do. Tasks are
/// exempt: nothing drops them. So are implementations of traits: the trait says it.
fn judge(text: &str) -> (Vec<usize>, usize) {
    let lines: Vec<&str> = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .collect();
    let mut silent = Vec::new();
    let mut told = 0;
    let mut of_a_trait = false;
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("impl") {
            // The head of a block may go on over several lines, up to its brace.
            let rest = lines[number..].iter().copied();
            let head: Vec<&str> = rest
                .scan(false, |ended, line| {
                    let go_on = !*ended;
                    *ended = line.contains('{');
                    go_on.then_some(line)
                })
                .collect();
            of_a_trait = head.join(" ").contains(" for ");
        } else if line.starts_with('}') {
            of_a_trait = false;
        }
        if !is_async_function(line) || of_a_trait {
            continue;
        }
        let above = lines[..number].iter().rev().map(|line| line.trim_start());
        let above: Vec<&str> = above
            .take_while(|line| line.starts_with("///") || line.starts_with("#["))
            .collect();
        if above
            .iter()
            .any(|line| line.starts_with("#[embassy_executor::task"))
        {
            continue;
        }
        match above.iter().any(|line| line.contains(WORD)) {
            true => told += 1,
            false => silent.push(number + 1),
        }
    }
    (silent, told)
}

#[test]
fn every_async_function_says_what_dropping_it_means() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    rust_files(&root.join("boards"), &mut files);
    let mut silent = Vec::new();
    let mut told = 0;
    for file in files {
        let (lines, count) = judge(&fs::read_to_string(&file).expect("a text of the repository"));
        silent.extend(
            lines
                .into_iter()
                .map(|line| format!("{}:{line}", file.display())),
        );
        told += count;
    }
    assert!(
        silent.is_empty(),
        "no word of {WORD} above {}",
        silent.join(", ")
    );
    assert!(
        told > 25,
        "only {told} async functions were found: this test looks for the wrong thing"
    );
}

#[test]
fn silence_is_noticed() {
    let text = "/// Waits.\nasync fn a() {}\n/// *Cancellation*: safe.\npub(super) async fn b() {}\n\
        #[embassy_executor::task]\nasync fn c() {}\nimpl A\n    for B\n{\n    async fn d() {}\n}\nimpl B {\n    pub async fn e() {}\n}\n";
    assert_eq!(judge(text), (vec![2, 13], 1));
}
