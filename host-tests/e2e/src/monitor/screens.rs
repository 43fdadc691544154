//! The terminal view in tmux: keys in, screens out, compared with host-tests/screens.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dunlin_tools::shell::root;

use super::Fixture;

const PATIENCE: Duration = Duration::from_secs(30);
/// What the shell in the terminal shows when it waits for a command.
const PROMPT: &str = "ready>";

/// Screens by name: the keys that lead there, and a text that only this screen shows.
const SCREENS: &[(&str, &[&str], &str)] = &[
    ("pages", &[], "news.test/headlines"),
    ("hosts", &["Tab"], "hosts: 6 of 6"),
    ("log", &["Tab"], "done after"),
    ("news", &["Tab"], "news: the last"),
    ("search", &["Tab", "/", "d", "o", "c", "s"], "search: docs"),
    ("found", &["Enter"], "pages: 3 of 13"),
    ("sorted", &["Escape", "s", "s", "r"], "changes/day▼"),
    ("paused", &["p"], "PAUSED"),
];

/// A terminal. Ends when dropped.
struct Tmux {
    socket: String,
}

impl Tmux {
    fn start() -> Result<Self> {
        let tmux = Self {
            socket: format!("dunlin-{}", std::process::id()),
        };
        tmux.run(&[
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "40",
            &format!("PS1='{PROMPT} ' exec sh"),
        ])?;
        tmux.wait(PROMPT)?;
        Ok(tmux)
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-L", &self.socket])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .output()
            .context("cannot start tmux")?;
        ensure!(
            output.status.success(),
            "tmux {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn press(&self, keys: &[&str]) -> Result<()> {
        // One at a time: an Escape followed by a letter at once is another key.
        for key in keys {
            self.run(&["send-keys", key])?;
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn screen(&self) -> Result<String> {
        self.run(&["capture-pane", "-p"])
    }

    /// How the terminal is set: echo, line by line or key by key, and so on.
    fn settings(&self) -> Result<String> {
        self.press(&["clear; echo settings=$(stty -g)", "Enter"])?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let screen = self.screen()?;
            let settings = |line: &str| line.strip_prefix("settings=").map(str::to_owned);
            if let Some(settings) = screen.lines().find_map(settings) {
                return Ok(settings);
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("the shell does not say how the terminal is set")
    }

    /// Starts the command, takes the terminal away under it, and returns its process.
    fn hang_up(&self, command: &str) -> Result<String> {
        self.press(&[command, "Enter"])?;
        self.wait("q quit")?;
        let shell = self.run(&["display-message", "-p", "#{pane_pid}"])?;
        let children = Command::new("ps")
            .args(["-o", "pid=", "--ppid", shell.trim()])
            .output()?;
        let child = String::from_utf8_lossy(&children.stdout).trim().to_owned();
        ensure!(!child.is_empty(), "the terminal's shell runs nothing");
        self.run(&["kill-server"])?;
        Ok(child)
    }

    /// The screen once it shows `text` and has come to rest.
    fn wait(&self, text: &str) -> Result<String> {
        let start = Instant::now();
        let mut last = String::new();
        while start.elapsed() < PATIENCE {
            let screen = self.screen()?;
            if screen.contains(text) && screen == last {
                return Ok(screen);
            }
            last = screen;
            thread::sleep(Duration::from_millis(300));
        }
        bail!("waited for {text:?} in vain; the terminal shows\n{last}")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

/// Goes through the screens; returns the first one with its colours.
pub fn check(program: &Path, fixture: &Fixture, bless: bool) -> Result<String> {
    let tmux = Tmux::start()?;
    let before = tmux.settings()?;
    let command = format!(
        "clear; {} monitor {}",
        program.display(),
        fixture.arguments().join(" ")
    );
    tmux.press(&[&command, "Enter"])?;
    let mut coloured = String::new();
    for (name, keys, text) in SCREENS {
        tmux.press(keys)?;
        let screen = tmux.wait(text)?;
        if coloured.is_empty() {
            coloured = tmux.run(&["capture-pane", "-p", "-e"])?;
        }
        compare(name, &screen, bless)?;
    }
    tmux.press(&["p"])?;
    tmux.run(&["resize-window", "-x", "80", "-y", "24"])?;
    thread::sleep(Duration::from_millis(600));
    compare("small", &tmux.wait("q quit")?, bless)?;
    tmux.run(&["resize-window", "-x", "120", "-y", "40"])?;
    tmux.press(&["q"])?;
    tmux.wait(PROMPT)?;
    let after = tmux.settings()?;
    let orphan = tmux.hang_up(&command)?;
    let start = Instant::now();
    while Path::new(&format!("/proc/{orphan}")).exists() {
        ensure!(
            start.elapsed() < PATIENCE,
            "process {orphan} goes on although its terminal is gone"
        );
        thread::sleep(Duration::from_millis(100));
    }
    ensure!(
        before == after,
        "the terminal is not as it was: {before}, now {after}"
    );
    Ok(coloured)
}

fn compare(name: &str, screen: &str, bless: bool) -> Result<()> {
    let folder = root().join("host-tests/screens");
    let path = folder.join(format!("{name}.txt"));
    let screen: String = screen
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    if bless {
        fs::create_dir_all(&folder)?;
        return Ok(fs::write(&path, screen)?);
    }
    let golden =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(
        golden == screen,
        "the terminal view is not as in {} (`cargo xtask monitor --bless` takes it as it is):\n{screen}",
        path.display()
    );
    Ok(())
}
