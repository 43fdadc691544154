//! What a step has said: handed on as it comes, and what counts of it kept for the end.

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Lines of each kind that are kept.
const MOST: usize = 60;

/// Lines that speak of a failure, and the last ones. A clone keeps to the same lines.
#[derive(Clone, Debug, Default)]
pub struct Words(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    failures: VecDeque<String>,
    last: VecDeque<String>,
}

impl Words {
    fn hear(&self, line: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        push(&mut kept.last, line);
        if speaks_of_a_failure(line) {
            push(&mut kept.failures, line);
        }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for line in &kept.failures {
            writeln!(f, "  ! {line}")?;
        }
        for line in &kept.last {
            writeln!(f, "  > {line}")?;
        }
        Ok(())
    }
}

/// As cargo, its test programs, pytest and our own cases say it.
fn speaks_of_a_failure(line: &str) -> bool {
    line.contains("FAILED") || line.contains("panicked at") || line.starts_with("error")
}

fn push(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() == MOST {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}

/// Hands on every line in the background, whatever bytes are in it. The channel is disconnected
/// when the pipe ends.
pub fn hand_on(
    pipe: Option<impl Read + Send + 'static>,
    words: &Words,
    show: impl Fn(&str) + Send + 'static,
) -> Receiver<()> {
    let words = words.clone();
    let (until_the_end, end) = channel();
    thread::spawn(move || {
        let _until_the_end = until_the_end;
        let lines = pipe.map(|pipe| BufReader::new(pipe).split(b'\n'));
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            words.hear(&line);
            show(&line);
        }
    });
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_still_known_after_a_thousand_other_lines() {
        let words = Words::default();
        words.hear("test it ... FAILED");
        (0..1_000).for_each(|line| words.hear(&format!("line {line}")));
        let said = words.to_string();
        assert!(said.starts_with("  ! test it ... FAILED\n"), "{said}");
        assert!(said.ends_with("  > line 999\n"), "{said}");
        assert_eq!(said.lines().count(), MOST + 1);
    }
}
