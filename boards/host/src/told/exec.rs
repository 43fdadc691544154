//! A command of the owner's that is run for each message. No shell reads it, so nothing that a web
//! page or a URL holds is ever taken for a command; the message is JSON on its standard input.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::outbox::{Delivery, NotTaken, Recipient};
use crate::output;

/// A command that runs longer is ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    program: String,
    arguments: Vec<String>,
}

impl Exec {
    /// A command as somebody types it: words at spaces, and '…' or "…" around what holds some.
    ///
    /// # Errors
    /// Says what is wrong: nothing to run, a quote that does not end, no such program.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = words(text)?.into_iter();
        let program = words.next().ok_or("found nothing, expected a command")?;
        if !is_there(&program) {
            return Err(format!(
                "found no program {program:?}, expected one on PATH"
            ));
        }
        Ok(Self {
            program,
            arguments: words.collect(),
        })
    }

    fn start(&self) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            // Our standard output holds one JSON document a line, and nothing else.
            .stdout(std::io::stderr())
            // Ctrl-C is for us, who end it.
            .process_group(0)
            .spawn()
    }
}

impl Recipient for Exec {
    fn name(&self) -> String {
        format!("--exec {}", self.program)
    }

    fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken> {
        let started = self.start();
        let mut child = started.map_err(|why| NotTaken::Yet(format!("cannot be run: {why}")))?;
        if let Some(mut input) = child.stdin.take() {
            let line = output::json(delivery);
            // On a thread of its own: a command that does not read must not hold us up. It may well
            // not want to know.
            std::thread::spawn(move || input.write_all(line.as_bytes()));
        }
        let deadline = Instant::now() + PATIENCE;
        match wait(&mut child, deadline) {
            Some(status) if status.success() => Ok(()),
            // Whether it would work another time only its author knows.
            Some(status) => Err(NotTaken::Ever(format!("it ended with {status}"))),
            None => Err(NotTaken::Ever(format!(
                "it took longer than {} s and was ended",
                PATIENCE.as_secs()
            ))),
        }
    }
}

/// Waits until it has ended; ends it, and what it has started, if it does not by `deadline`.
fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    while Instant::now() < deadline {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    // It leads a group of its own, see `start`.
    let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Is there such a program, here or on PATH?
fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("found {quote} once, expected it twice"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_spaces_outside_of_quotes() {
        let split = |text| words(text).expect("words");
        assert_eq!(split("a  b"), ["a", "b"]);
        assert_eq!(
            split(r#"a 'b c' "d 'e'" f"g"h ''"#),
            ["a", "b c", "d 'e'", "fgh", ""]
        );
        assert_eq!(split("a $(b); c|d `e`"), ["a", "$(b);", "c|d", "`e`"]);
        assert!(words("a 'b").is_err());
        assert!(Exec::parse("  ").is_err());
        assert!(Exec::parse("no-such-program-anywhere").is_err());
        assert!(Exec::parse("/no/such/program").is_err());
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let exec = Exec::parse("sleep 100").expect("a command");
        let mut child = exec.start().expect("it runs");
        assert_eq!(wait(&mut child, Instant::now()), None);
        assert!(matches!(child.try_wait(), Ok(Some(_))), "it is over");
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let file = std::env::temp_dir().join(format!("dunlin-exec-{}", std::process::id()));
        let script = format!("sh -c 'sleep 100 & echo $! >{}; wait'", file.display());
        let mut child = Exec::parse(&script).and_then(|exec| {
            let started = exec.start();
            started.map_err(|why| why.to_string())
        });
        let child = child.as_mut().expect("it runs");
        let sleeper = || {
            std::fs::read_to_string(&file)
                .ok()?
                .trim()
                .parse::<u32>()
                .ok()
        };
        let patience = Instant::now() + Duration::from_secs(20);
        while sleeper().is_none() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        let sleeper = sleeper().expect("the shell starts it");
        let is_running = || {
            let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat"));
            // Behind the name: Z is what nobody has asked about yet.
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        assert!(is_running());
        assert_eq!(wait(child, Instant::now()), None);
        while is_running() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_running(), "{sleeper} is left");
        let _ = std::fs::remove_file(&file);
    }
}
