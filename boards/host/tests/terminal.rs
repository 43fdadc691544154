//! `dunlin monitor` on a terminal of its own: whatever ends it, the terminal is left as it was
//! found.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin_host::monitor::state::MonitoredProbe;
use dunlin_host::monitor::terminal;
use dunlin_host::monitor::web::Probes;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

const PATIENCE: Duration = Duration::from_secs(60);
/// Leave the shell's screen, and come back to it.
const ENTER: &[u8] = b"\x1b[?1049h";
const LEAVE: &[u8] = b"\x1b[?1049l";
const HIDE_CURSOR: &[u8] = b"\x1b[?25l";
const SHOW_CURSOR: &[u8] = b"\x1b[?25h";

/// A terminal: one end for the program, one for the person.
struct Screen {
    line: File,
    person: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    fn new() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&person).expect("ours");
        unlockpt(&person).expect("open");
        let line = ptsname(&person, Vec::new())
            .expect("its other end")
            .into_string()
            .expect("UTF-8");
        let line = File::options()
            .read(true)
            .write(true)
            .open(line)
            .expect("opened");
        tcsetwinsize(
            &line,
            Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )
        .expect("a size");
        let person = File::from(person);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut reader = person.try_clone().expect("a second handle");
        let all = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                all.lock()
                    .expect("nobody panicked")
                    .extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            line,
            person,
            shown,
        }
    }

    /// How the terminal is set: echo, line by line or key by key, and so on.
    fn settings(&self) -> String {
        format!("{:?}", tcgetattr(&self.line).expect("a terminal"))
    }

    fn start(&self, command: &mut Command) -> Running {
        let end = || self.line.try_clone().expect("one more handle");
        Running(
            command
                .stdin(end())
                .stdout(end())
                .stderr(end())
                .spawn()
                .expect("the program starts"),
        )
    }

    fn shows(&self, text: &[u8]) -> Option<usize> {
        let shown = self.shown.lock().expect("nobody panicked");
        shown.windows(text.len()).rposition(|window| window == text)
    }

    fn wait_for(&self, text: &[u8]) {
        let start = Instant::now();
        while self.shows(text).is_none() {
            assert!(
                start.elapsed() < PATIENCE,
                "no {:?} on the screen",
                String::from_utf8_lossy(text)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_as_before(&self, settings: &str) {
        // What the program wrote last may still be on its way.
        self.wait_for(LEAVE);
        self.wait_for(SHOW_CURSOR);
        assert_eq!(self.settings(), settings);
        assert!(
            self.shows(LEAVE) > self.shows(ENTER),
            "the shell's screen is not back"
        );
        assert!(
            self.shows(SHOW_CURSOR) > self.shows(HIDE_CURSOR),
            "the cursor is not back"
        );
    }
}

/// A program that is ended when this is dropped.
struct Running(Child);

impl Running {
    fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let status = Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .expect("kill is there");
        assert!(status.success(), "kill -s {name}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn monitor(screen: &Screen) -> Running {
    let file = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../host-tests/data/monitor")
            .join(name)
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
    command
        .args(["monitor", "--elf"])
        .arg(file("probe.elf"))
        .arg("--log")
        .arg(file("probe.defmt"));
    screen.start(command.env("TERM", "xterm-256color"))
}

#[test]
fn keys_and_signals_leave_the_terminal_as_it_was() {
    for way in ["q", "\x03", "INT", "TERM", "HUP"] {
        let mut screen = Screen::new();
        let before = screen.settings();
        let mut program = monitor(&screen);
        screen.wait_for(b"quit");
        assert_ne!(screen.settings(), before, "the view reads keys, not lines");
        if way.len() == 1 {
            screen.person.write_all(way.as_bytes()).expect("typed");
        } else {
            program.signal(way);
        }
        assert_eq!(program.end().code(), Some(0), "{way:?}");
        screen.is_as_before(&before);
    }
}

/// Starts itself again, on a terminal, to be the program that panics.
#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    const NAME: &str = "a_panic_leaves_the_terminal_as_it_was";
    const CHILD: &str = "DUNLIN_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let probes: Probes = Arc::new(vec![Arc::new(Mutex::new(MonitoredProbe::new(
            "probe".into(),
            Arc::default(),
        )))]);
        // Not the thread that draws: that one would go on.
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            panic!("as planned");
        });
        let stop = Arc::new(AtomicBool::new(false));
        let screen = terminal::Screen::prepare(&stop).expect("a terminal");
        screen.run(&probes, &stop).expect("a terminal");
        return;
    }
    let screen = Screen::new();
    let before = screen.settings();
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    let mut program = screen.start(
        command
            .args(["--exact", NAME, "--nocapture"])
            .env(CHILD, "1"),
    );
    screen.wait_for(ENTER);
    screen.wait_for(b"quit");
    program.end();
    screen.is_as_before(&before);
    let shown = screen.shown.lock().expect("nobody panicked");
    let back = shown
        .windows(LEAVE.len())
        .position(|window| window == LEAVE)
        .expect("seen above");
    let reason = String::from_utf8_lossy(&shown[back..]);
    assert!(
        reason.contains("as planned"),
        "nobody can read why: {reason}"
    );
}
