//! Progress on stderr for work that takes longer than a second: a bar on a terminal, a line every
//! now and then elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How long work may take before a bar appears.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two lines where there is no terminal, at first: later they are a tenth of the
/// time so far apart, so that an hour's work has a page of them.
const LINES: Duration = Duration::from_secs(10);
/// How often [`Steps`] looks at the clock.
const TICK: Duration = Duration::from_millis(250);

/// The bar that is on the screen, which lines have to make room for.
static ON_SCREEN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes to stderr with the bar out of the way.
pub fn beside_bar(write: impl FnOnce()) {
    let bar = ON_SCREEN.lock().ok().and_then(|bar| bar.clone());
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Shows nothing for the first second.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    total: u64,
    label: String,
    shown: bool,
    plain: bool,
    began: Instant,
    last_line: Instant,
}

impl Progress {
    /// Counts `total` steps of what `label` names, as in "planning".
    pub fn new(label: impl Into<String>, total: u64) -> Self {
        let now = Instant::now();
        Self {
            bar: ProgressBar::hidden(),
            total,
            label: label.into(),
            shown: false,
            plain: !std::io::stderr().is_terminal(),
            began: now,
            last_line: now,
        }
    }

    /// Lines on a terminal, too: for work that writes there itself.
    pub fn in_lines(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Shows that `done` steps of the total are done.
    pub fn at(&mut self, done: u64) {
        if self.plain {
            return self.line(done).into_iter().for_each(super::say);
        }
        if !self.shown && self.bar.elapsed() > PATIENCE {
            self.shown = true;
            let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta} left");
            self.bar = ProgressBar::new(self.total)
                .with_elapsed(self.bar.elapsed())
                .with_message(self.label.clone());
            if let Ok(style) = style {
                self.bar.set_style(style);
            }
            if let Ok(mut bar) = ON_SCREEN.lock() {
                *bar = Some(self.bar.clone());
            }
        }
        self.bar.set_position(done);
    }

    /// Names what is being done now.
    pub fn name(&mut self, label: &str) {
        label.clone_into(&mut self.label);
        self.bar.set_message(self.label.clone());
    }

    /// What is to be said now, if anything.
    fn line(&mut self, done: u64) -> Option<String> {
        let so_far = self.began.elapsed();
        if self.last_line.elapsed() < LINES.max(so_far / 10) || done == 0 {
            return None;
        }
        self.last_line = Instant::now();
        let share = done as f64 / self.total.max(1) as f64;
        let left = so_far.as_secs_f64() * (1.0 / share - 1.0).max(0.0);
        Some(format!(
            "{}: {:.0} %, about {} left",
            self.label,
            100.0 * share,
            seconds(left)
        ))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.shown
            && let Ok(mut bar) = ON_SCREEN.lock()
        {
            *bar = None;
        }
    }
}

/// "40 s", "3 min"
fn seconds(left: f64) -> String {
    if left < 90.0 {
        format!("{left:.0} s")
    } else {
        format!("{:.0} min", left / 60.0)
    }
}

/// Progress through steps that cannot be looked into: by how long each took on this computer the
/// last time, which is kept in a file, and before that on another one.
#[derive(Debug)]
pub struct Steps {
    shared: Arc<Mutex<Shared>>,
    stop: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
}

/// Seconds of a step that was never taken anywhere.
const UNKNOWN: f64 = 60.0;

#[derive(Debug)]
struct Shared {
    progress: Progress,
    memory: PathBuf,
    /// How many seconds each step took the last time.
    times: BTreeMap<String, f64>,
    /// Milliseconds that the steps before this one were expected to take.
    done: u64,
    now: Option<(String, Instant)>,
}

impl Steps {
    /// Steps of these names, in any order; `memory` is a file of lines `name<tab>seconds`, and
    /// `elsewhere` the text of such a file, for steps that were never taken here.
    pub fn new(label: &str, names: &[impl AsRef<str>], memory: &Path, elsewhere: &str) -> Self {
        let mut times = times(elsewhere);
        times.extend(remembered(memory));
        let seconds = |name: &str| times.get(name).copied().unwrap_or(UNKNOWN);
        let total: f64 = names.iter().map(|name| seconds(name.as_ref())).sum();
        let shared = Arc::new(Mutex::new(Shared {
            progress: Progress::new(label, (1e3 * total) as u64),
            memory: memory.to_owned(),
            times,
            done: 0,
            now: None,
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let ticker = std::thread::spawn({
            let shared = Arc::clone(&shared);
            let stop = Arc::clone(&stop);
            move || {
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(mut shared) = shared.lock() {
                        shared.tick();
                    }
                    std::thread::park_timeout(TICK);
                }
            }
        });
        Self {
            shared,
            stop,
            ticker: Some(ticker),
        }
    }

    /// Lines on a terminal, too: for steps that write there themselves.
    pub fn in_lines(self) -> Self {
        if let Ok(mut shared) = self.shared.lock() {
            shared.progress.plain = true;
        }
        self
    }

    /// The next step begins.
    pub fn begin(&self, name: &str) {
        if let Ok(mut shared) = self.shared.lock() {
            shared.end();
            shared.progress.name(name);
            shared.now = Some((name.to_owned(), Instant::now()));
        }
    }

    /// The last step has ended well: how long it took is kept.
    pub fn end(self) {
        if let Ok(mut shared) = self.shared.lock() {
            shared.end();
        }
    }
}

/// Seconds of each step, as they were kept the last time.
fn remembered(memory: &Path) -> BTreeMap<String, f64> {
    times(&std::fs::read_to_string(memory).unwrap_or_default())
}

/// Seconds of each step, from lines `name<tab>seconds`; others are passed over.
fn times(text: &str) -> BTreeMap<String, f64> {
    let time = |line: &str| {
        let (name, seconds) = line.split_once('\t')?;
        let seconds = seconds.parse().ok()?;
        (0.0..1e6)
            .contains(&seconds)
            .then_some((name.to_owned(), seconds))
    };
    text.lines().filter_map(time).collect()
}

impl Shared {
    fn expected(&self, name: &str) -> u64 {
        (1e3 * self.times.get(name).copied().unwrap_or(UNKNOWN)) as u64
    }

    fn tick(&mut self) {
        let Some((name, began)) = &self.now else {
            return;
        };
        // A step that takes longer than expected stays short of its end.
        let most = self.expected(name) * 95 / 100;
        let spent = (began.elapsed().as_millis() as u64).min(most);
        self.progress.at(self.done + spent);
    }

    fn end(&mut self) {
        let Some((name, began)) = self.now.take() else {
            return;
        };
        self.done += self.expected(&name);
        // Others may have kept theirs meanwhile.
        let mut times = remembered(&self.memory);
        times.insert(name, began.elapsed().as_secs_f64());
        let lines = times.iter();
        let text: String = lines.map(|(name, s)| format!("{name}\t{s:.1}\n")).collect();
        // It only makes the next forecast worse.
        let _ = std::fs::write(&self.memory, text);
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_a_line_says_how_far_it_is_every_now_and_then() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        let mut progress = Progress::new("planning", 200).in_lines();
        assert_eq!(progress.line(50), None, "not in the first seconds");
        let minute = ago(60).expect("the computer runs for longer");
        (progress.began, progress.last_line) = (minute, minute);
        assert_eq!(progress.line(0), None, "nothing is known yet");
        let line = progress.line(100).expect("a line");
        assert_eq!(line, "planning: 50 %, about 60 s left");
        assert_eq!(progress.line(101), None, "one is enough");
        // After five minutes, half a minute lies between two of them.
        progress.began = ago(300).expect("for longer");
        progress.last_line = ago(20).expect("for longer");
        assert_eq!(progress.line(150), None);
        progress.last_line = ago(31).expect("for longer");
        let line = progress.line(150).expect("a line");
        assert_eq!(line, "planning: 75 %, about 2 min left");
    }

    #[test]
    fn steps_remember_how_long_they_took() {
        let memory = std::env::temp_dir().join(format!("dunlin-steps-{}", std::process::id()));
        std::fs::write(&memory, "one\t5\nbroken\nother\tNaN\n").expect("written");
        let elsewhere = "one\t100\ntwo\t200\n";
        let steps = Steps::new("testing", &["one", "two", "three"], &memory, elsewhere);
        {
            let shared = steps.shared.lock().expect("not poisoned");
            assert_eq!(shared.progress.total, 5_000 + 200_000 + 60_000);
        }
        steps.begin("one");
        steps.begin("two");
        {
            let shared = steps.shared.lock().expect("not poisoned");
            assert_eq!(shared.done, 5_000, "as long as the last time");
        }
        steps.end();
        let text = std::fs::read_to_string(&memory).expect("kept");
        assert_eq!(text, "one\t0.0\ntwo\t0.0\n");
        std::fs::remove_file(&memory).expect("removed");
    }
}
