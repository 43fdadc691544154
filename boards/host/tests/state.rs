//! The state file of `dunlin run`: what is taken for one, who may use it, and what is said when it
//! cannot be read or written.

mod program;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use program::text;

/// The pages of the kept files.
const PAGES: &str = "url\nhttp://a.test:8931/x\nhttp://a.test:8931/y\nhttp://b.test:8931/z\n";
/// A sector of the store in the file.
const SECTOR: usize = 65_536;
/// Bytes before the first sector.
const HEADER: usize = 4_096;

/// A temporary folder of its own, with a page list in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dunlin-state-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        fs::write(path.join("pages.csv"), PAGES).expect("a list");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A command that runs on the list for so many seconds, with this state file. Nothing listens
    /// where the pages are.
    fn run(&self, state: &Path, seconds: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
        command
            .arg("run")
            .arg(self.path("pages.csv"))
            .args(["--resolve", "*=127.0.0.1", "--politeness", "300ms"])
            .args(["--format", "json", "--seconds", seconds])
            .args(["--crawls-per-day", "max"])
            .args(more)
            .arg("--state")
            .arg(state)
            .stdin(Stdio::null());
        command
    }

    /// The same, to its end.
    fn ran(&self, state: &Path, more: &[&str]) -> Output {
        let command = &mut self.run(state, "0", more);
        command.output().expect("the program runs")
    }

    /// Pages that a run on this state file resumes.
    fn resumed(&self, state: &Path, more: &[&str]) -> u64 {
        let output = self.ran(state, more);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let summary: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a line of JSON");
        summary["resumed_pages"].as_u64().expect("a number")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file as versions before the header made it: whole sectors, blank behind what was written.
fn without_header() -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-tests/data/state-v0.bin");
    let mut bytes = fs::read(data).expect("a state file of version 0");
    bytes.resize(SECTOR, 0xff);
    bytes
}

/// A file as version 1 of the header made it, with the records of version 0.
fn with_header() -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-tests/data/state-v1.bin");
    let mut bytes = fs::read(data).expect("a state file of version 1");
    bytes.resize(HEADER + SECTOR, 0xff);
    bytes
}

#[test]
fn a_file_without_a_header_is_upgraded_and_resumed() {
    let folder = Folder::new("upgrade");
    let file = folder.path("old.state");
    let link = folder.path("link.state");
    fs::write(&file, without_header()).expect("written");
    symlink(&file, &link).expect("a link");
    assert_eq!(folder.resumed(&link, &[]), 3);
    let upgraded = fs::read(&file).expect("the file");
    assert!(upgraded.starts_with(b"dunlin state"));
    assert!(link.is_symlink(), "the link still leads there");
    assert_eq!(
        upgraded[HEADER..HEADER + 600],
        without_header()[..600],
        "the records are as they were"
    );
    assert_eq!(folder.resumed(&file, &[]), 3, "again, with its header");
    let names = fs::read_dir(&folder.0).expect("the folder");
    let names = names.map(|entry| entry.expect("a file").file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(
        names,
        ["link.state", "old.state", "old.state.visits", "pages.csv"],
        "nothing but its visits is left beside it"
    );
}

/// Written by today's program; `DUNLIN_GOLDEN=1` keeps it as the file of a new version.
#[test]
fn a_file_of_every_version_is_read() {
    let folder = Folder::new("versions");
    let file = folder.path("made.state");
    fs::write(&file, without_header()).expect("written");
    assert_eq!(folder.resumed(&file, &[]), 3);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-tests/data/state-v1.bin");
    if std::env::var_os("DUNLIN_GOLDEN").is_some() && !golden.exists() {
        let made = fs::read(&file).expect("the file");
        let end = made.iter().rposition(|byte| *byte != 0xff).unwrap_or(0) + 1;
        fs::write(&golden, &made[..end.next_multiple_of(4)]).expect("a place for it");
    }
    for (version, bytes) in [without_header(), with_header()].into_iter().enumerate() {
        let file = folder.path("kept.state");
        fs::write(&file, &bytes).expect("written");
        assert_eq!(folder.resumed(&file, &[]), 3, "version {version}");
    }
    assert_eq!(
        fs::read(&file).expect("the file")[..HEADER],
        with_header()[..HEADER],
        "the format has changed: raise the version and keep the old files"
    );
}

#[test]
fn what_is_no_state_file_is_refused_and_not_touched() {
    let folder = Folder::new("foreign");
    let mut newer = with_header();
    newer[12] = 9;
    let sum = newer[..40].iter().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    newer[40..44].copy_from_slice(&sum.to_le_bytes());
    // Both copies.
    let copy = newer[..44].to_vec();
    newer[HEADER / 2..HEADER / 2 + 44].copy_from_slice(&copy);
    let mut image = vec![0; 3 * SECTOR];
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    let cases: [(&str, Vec<u8>); 7] = [
        ("another file", image),
        ("another file", vec![0xff; SECTOR]),
        ("another file", vec![0; 2 * SECTOR]),
        ("another file", b"somebody's own text\n".to_vec()),
        ("another file", b"dunlin state".to_vec()),
        ("another file", without_header()[..60].to_vec()),
        ("a state file of version 9", newer),
    ];
    for (number, (found, bytes)) in cases.into_iter().enumerate() {
        let file = folder.path("other");
        fs::write(&file, &bytes).expect("written");
        let output = folder.ran(&file, &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{number}: {said}");
        assert!(said.contains(found), "{number}: {said}");
        assert_eq!(said.lines().count(), 1, "{number}: {said}");
        assert!(output.stdout.is_empty(), "{number}");
        assert_eq!(fs::read(&file).expect("the file"), bytes, "{number}");
    }
    let pipe = folder.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    for device in ["/dev/full", "/dev/zero", "/dev/null", "/tmp"] {
        let output = folder.ran(Path::new(device), &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{device}: {said}");
        assert!(said.contains("found no plain file"), "{device}: {said}");
    }
    let output = folder.ran(&pipe, &[]);
    assert_eq!(output.status.code(), Some(2), "a pipe");
}

#[test]
fn two_processes_do_not_share_a_state_file() {
    let folder = Folder::new("locked");
    let state = folder.path("shared.state");
    let mut first = folder
        .run(&state, "60", &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let start = Instant::now();
    while !state.exists() || fs::metadata(&state).is_ok_and(|found| found.len() < HEADER as u64) {
        assert!(start.elapsed() < Duration::from_secs(30), "no state file");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = folder.ran(&state, &[]);
    let _ = first.kill();
    let _ = first.wait();
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(
        said.contains("found that another process uses it"),
        "{said}"
    );
    assert_eq!(
        folder.resumed(&state, &[]),
        0,
        "the lock ends with its process"
    );
}

/// Runs a command that can write no byte of a file beyond so many blocks.
fn limited(command: &Command, blocks: usize) -> Output {
    let mut shell = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    shell.arg("-c").arg(script).arg(command.get_program());
    shell.args(command.get_args());
    shell.stdin(Stdio::null()).output().expect("a shell")
}

#[test]
fn a_full_disk_is_said_and_what_is_there_is_read_next_time() {
    let folder = Folder::new("full");
    let state = folder.path("full.state");
    fs::write(&state, without_header()).expect("written");
    assert_eq!(folder.resumed(&state, &[]), 3);
    // A limit on a file's length stands for a disk's, in blocks of 512 bytes: the header fits.
    let output = limited(&folder.run(&state, "0", &[]), HEADER / 512);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("cannot write ") && said.contains("full.state: File too large"),
        "{said}"
    );
    assert_eq!(folder.resumed(&state, &[]), 3, "the next run reads it");
    // A new file finds no room at all.
    let none = folder.path("none.state");
    let output = limited(&folder.run(&none, "0", &[]), 1);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("none.state: File too large"), "{said}");
    assert_eq!(folder.resumed(&none, &[]), 0, "and is a new one later");
}

/// Answers every request with links to a few pages. Returns its port.
fn serve_links() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            let head = lines.map_while(Result::ok);
            let target = head.take_while(|line| !line.is_empty()).last();
            let links: String = (0..5)
                .map(|page| format!("<a href=/{page}>on</a>"))
                .collect();
            let body = format!("{target:?}{links}");
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close");
            let _ = write!(stream, "{head}\r\n\r\n{body}");
        }
    });
    port
}

#[test]
fn the_file_of_found_pages_is_recognised_locked_and_missed() {
    let folder = Folder::new("found");
    let state = folder.path("a.state");
    let found = folder.path("a.state.found");
    let discover = ["--discover"];
    // What an earlier run has left: nothing, blank sectors, one with a head behind a blank one.
    let number = 7_u32;
    let mut log = vec![0xff; 2 * 16_384];
    let head = [*b"dtx1", number.to_le_bytes(), (!number).to_le_bytes()].concat();
    log[16_384..16_384 + head.len()].copy_from_slice(&head);
    for left in [vec![], vec![0xff; 16_384], log.clone()] {
        fs::write(&found, &left).expect("written");
        let output = folder.ran(&state, &discover);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let mut image = vec![0; 3 * SECTOR];
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    let too_long = [log.clone(), vec![0xff; 129 * 16_384]].concat();
    for bytes in [image, b"somebody's own text\n".to_vec(), too_long] {
        fs::write(&found, &bytes).expect("written");
        let output = folder.ran(&state, &discover);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("a.state.found: found another file"), "{said}");
        assert!(fs::read(&found).expect("the file") == bytes, "not touched");
    }
    // Another process has it.
    fs::write(&found, &log).expect("written");
    let file = fs::File::open(&found).expect("the file");
    file.lock().expect("locked");
    let output = folder.ran(&state, &discover);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("a.state.found: found that another process uses it"),
        "{said}"
    );
    drop(file);
    // A link to a device.
    fs::remove_file(&found).expect("removed");
    symlink("/dev/full", &found).expect("a link");
    let output = folder.ran(&state, &discover);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("found no plain file"));
    // A full disk: not even a sector of the log fits.
    fs::remove_file(&found).expect("removed");
    let port = serve_links();
    let list = format!("url\nhttp://a.test:{port}/\n");
    fs::write(folder.path("pages.csv"), list).expect("a list");
    let output = limited(&folder.run(&state, "4", &discover), 16_384 / 512 - 1);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a.state.found: File too large"), "{said}");
}

#[test]
fn damaged_records_are_said_and_the_others_read() {
    let folder = Folder::new("damaged");
    let state = folder.path("damaged.state");
    let mut bytes = with_header();
    // The first copy of the header, and a record in the middle.
    bytes[20] ^= 0xff;
    bytes[HEADER + 300] ^= 0xff;
    fs::write(&state, &bytes).expect("written");
    let output = folder.ran(&state, &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the state file is damaged: "), "{said}");
    let summary = text(&output.stdout);
    let known = ["\"resumed_pages\":2", "\"resumed_pages\":3"];
    assert!(
        known.iter().any(|known| summary.contains(known)),
        "{summary}"
    );
}

#[test]
fn the_key_is_drawn_at_random_and_kept() {
    let folder = Folder::new("key");
    let keys = ["one.state", "two.state"].map(|name| {
        let state = folder.path(name);
        assert_eq!(folder.resumed(&state, &[]), 0);
        let bytes = fs::read(&state).expect("the file");
        assert_eq!(bytes[14], 1, "it has a key");
        let again = folder.ran(&state, &[]);
        let said = text(&again.stderr);
        let said: Vec<&str> = said
            .lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .collect();
        assert!(said.is_empty(), "its own key is no other: {said:?}");
        assert_eq!(
            fs::read(&state).expect("the file")[..HEADER],
            bytes[..HEADER]
        );
        bytes[16..32].to_vec()
    });
    assert_ne!(keys[0], keys[1]);
    // What was begun without a key is known by the seed of those days, and by it alone.
    let old = folder.path("old.state");
    fs::write(&old, without_header()).expect("written");
    assert_eq!(folder.resumed(&old, &["--seed", "1"]), 3);
    assert_eq!(folder.resumed(&old, &[]), 3);
    let other = folder.ran(&old, &["--seed", "7"]);
    let said = text(&other.stderr);
    assert!(said.contains("another seed or key"), "{said}");
}
