//! Who may use whom: the picture in `src/lib.rs` is true, and has no cycles; and a noun means one
//! thing in all rooms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms that every other room may use without the picture saying so.
const OPEN: [&str; 4] = ["time", "math", "heap", "forest"];

type Graph = BTreeMap<String, BTreeSet<String>>;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")
}

/// The picture: each room in the order of its lines, and what it may use.
fn picture(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let section = text
        .split("# Who may use whom")
        .nth(1)
        .expect("the section `Who may use whom`");
    let block = section.split("```").nth(1).expect("a picture in it");
    // A line that ends with a comma goes on in the next one.
    let block = block.replace(",\n//!", ",");
    let lines = block.lines().map(|line| line.trim_start_matches("//!"));
    lines
        .filter_map(|line| line.split_once('→'))
        .map(|(room, used)| {
            let used = used
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            (room.trim().to_owned(), used.map(str::to_owned).collect())
        })
        .collect()
}

/// Every room named behind `crate::` in code: comments and tests do not count.
fn used_by(text: &str) -> BTreeSet<String> {
    let code = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .map(|line| line.split("//").next().unwrap_or(""));
    let mut found = BTreeSet::new();
    let joined: String = code.collect::<Vec<_>>().join("\n");
    for rest in joined.split("crate::").skip(1) {
        if let Some(several) = rest.strip_prefix('{') {
            // `use crate::{a::…, b::…}`: the names at the first level of the braces.
            let mut depth = 0;
            let mut name = String::new();
            for character in several.chars() {
                match character {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => name.clear(),
                    ':' if depth == 0 => {
                        found.insert(name.trim().to_owned());
                    }
                    other if depth == 0 => name.push(other),
                    _ => {}
                }
            }
            continue;
        }
        let name: String = rest
            .chars()
            .take_while(|letter| letter.is_ascii_lowercase() || *letter == '_')
            .collect();
        found.insert(name);
    }
    found.retain(|name| !name.is_empty());
    found
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder)
        .expect("a folder of the crate")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            // What was built is not ours.
            if !path.ends_with("target") {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// What each room uses, by its source.
fn graph() -> Graph {
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    let mut graph = Graph::new();
    for file in files {
        let relative = file.strip_prefix(source()).expect("a file below src");
        let first = relative.iter().next().expect("a path has a first part");
        let room = first.to_string_lossy().trim_end_matches(".rs").to_owned();
        if room == "lib" || room == "examples" {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source file");
        let uses = used_by(&text).into_iter().filter(|name| *name != room);
        graph.entry(room.clone()).or_default().extend(uses);
    }
    graph
}

#[test]
fn rooms_use_only_what_the_picture_says() {
    let library = fs::read_to_string(source().join("lib.rs")).expect("src/lib.rs");
    let picture = picture(&library);
    let rooms: BTreeMap<_, _> = picture.iter().cloned().collect();
    for (room, uses) in graph() {
        let allowed = rooms
            .get(&room)
            .unwrap_or_else(|| panic!("src/{room} is not in the picture of src/lib.rs"));
        for used in uses {
            // Macros and items of the crate root are no rooms.
            if !rooms.contains_key(&used) {
                continue;
            }
            let open = OPEN.contains(&used.as_str()) && !OPEN.contains(&room.as_str());
            assert!(
                open || allowed.contains(&used),
                "src/{room} uses `{used}`, which the picture in src/lib.rs does not allow"
            );
        }
    }
}

#[test]
fn the_picture_shows_what_is_there_and_has_no_cycles() {
    let library = fs::read_to_string(source().join("lib.rs")).expect("src/lib.rs");
    let graph = graph();
    let mut above = BTreeSet::new();
    for (room, uses) in picture(&library) {
        let real = graph
            .get(&room)
            .unwrap_or_else(|| panic!("`{room}` is in the picture, but src has no such room"));
        for used in &uses {
            assert!(
                above.contains(used),
                "`{room}` → `{used}`: a line may only name lines above it"
            );
            assert!(
                real.contains(used),
                "`{room}` → `{used}` is drawn, but nothing uses it"
            );
        }
        above.insert(room);
    }
}

#[test]
fn the_reader_sees_paths_in_braces_and_in_code_but_not_in_comments() {
    let text = "use crate::{heap::{Heap, Id}, time::Instant};\n// crate::plan\nfn f() { crate::model::g() }\n#[cfg(test)]\nuse crate::pace;";
    let expected = ["heap", "model", "time"].map(str::to_owned);
    assert_eq!(used_by(text), BTreeSet::from(expected));
}

#[test]
fn tests_stand_at_the_end_of_a_file() {
    // What stands behind them would escape those who read the code without its tests.
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    let mut ends = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let Some((_, tests)) = text.split_once("#[cfg(test)]\n") else {
            continue;
        };
        let file = file.display();
        let in_file = tests.strip_prefix("mod tests {\n");
        match in_file {
            Some(tests) => assert!(
                tests
                    .find("\n}\n")
                    .is_some_and(|end| end + 3 == tests.len()),
                "{file}: expected nothing behind its tests"
            ),
            None => assert_eq!(tests, "mod tests;\n", "{file}: expected nothing but tests"),
        }
        ends += 1;
    }
    assert!(ends > 40, "found tests in {ends} files");
}

/// Names that a public type shares with other types, and why.
const SHARED_NAMES: [(&str, &str); 3] = [
    (
        "Sealed",
        "nobody outside can name it: it keeps others from implementing a trait",
    ),
    (
        "Reader",
        "of XML; each format has one for its own bytes, which its room alone sees",
    ),
    (
        "Record",
        "of the store; in a page image, what has a place in a table of records",
    ),
];

/// The types that a file declares for others to see, those of its tests left out, and whether they
/// are public: `pub(super)` and the like are not.
fn visible_types(text: &str) -> Vec<(String, bool)> {
    let code = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .filter_map(|line| line.trim_start().strip_prefix("pub"));
    code.filter_map(|line| {
        let is_public = line.starts_with(' ');
        let declared = match line.strip_prefix('(') {
            Some(limited) => limited.split_once(") ")?.1,
            None => line.strip_prefix(' ')?,
        };
        let (kind, rest) = declared.split_once(' ')?;
        let name: String = rest
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        let is_type = ["struct", "enum", "union", "trait", "type"].contains(&kind);
        (is_type && !name.is_empty()).then_some((name, is_public))
    })
    .collect()
}

#[test]
fn one_noun_has_one_meaning_in_all_rooms() {
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    let mut declared: BTreeMap<String, Vec<(PathBuf, bool)>> = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(source()).expect("a file below src");
        if relative.starts_with("examples") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source file");
        for (name, is_public) in visible_types(&text) {
            let place = (relative.to_owned(), is_public);
            declared.entry(name).or_default().push(place);
        }
    }
    assert!(declared.len() > 350, "found {} types", declared.len());
    for (name, places) in &declared {
        let shared = SHARED_NAMES.iter().any(|(allowed, _)| allowed == name);
        let is_public = places.iter().any(|(_, is_public)| *is_public);
        assert_eq!(
            is_public && places.len() > 1,
            shared,
            "`{name}` is declared in {places:?} (true: in public): the name of a public type is \
             for one thing (rename all but one, or say in SHARED_NAMES why not), and what is in \
             SHARED_NAMES is shared"
        );
    }
}

#[test]
fn the_reader_of_types_sees_those_that_others_can_use() {
    let text = "pub struct A<'a>(&'a u8);\npub(super) struct B;\nenum C {}\n    pub type D = u8;\npub fn e() {}\npub enum $name {}\n/// pub trait F {}\n#[cfg(test)]\npub struct G;";
    let found = visible_types(text);
    let found: Vec<_> = found
        .iter()
        .map(|(name, public)| (&name[..], *public))
        .collect();
    assert_eq!(found, [("A", true), ("B", false), ("D", true)]);
}

/// The hops of the walk in `src/README.md`: a file, and the functions it is named for. A hop may go
/// on over lines that are indented.
fn walk(text: &str) -> Vec<(String, Vec<String>)> {
    let joined = text.replace("\n    ", " ").replace("\n   ", " ");
    joined
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| {
            let mut quoted = line.split('`').skip(1).step_by(2).map(str::to_owned);
            let file = quoted.next().expect("a hop names a file");
            let is_function = |name: &String| {
                let mut letters = name.chars();
                letters.next().is_some_and(char::is_lowercase)
                    && letters.all(|letter| letter.is_lowercase() || letter == '_')
            };
            (file, quoted.filter(is_function).collect())
        })
        .collect()
}

/// Does this code call a function of this name? Comments do not count, nor does where it is declared.
fn is_called(code: &str, function: &str) -> bool {
    let calls = [format!("{function}("), format!("{function}::<")];
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    lines
        .flat_map(|line| calls.iter().map(move |call| (line, call)))
        .any(|(line, call)| {
            line.match_indices(call.as_str()).any(|(at, _)| {
                let before = &line[..at];
                let is_whole =
                    !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
                is_whole && !before.ends_with("fn ")
            })
        })
}

#[test]
fn a_call_is_no_declaration_and_no_comment() {
    let code = "fn fill() {}\n// fill()\nrefill();\n";
    assert!(!is_called(code, "fill"));
    assert!(is_called(code, "refill"));
    assert!(is_called("setup.fill(one)", "fill") && is_called("keep::<u8>()", "keep"));
}

#[test]
fn the_walk_of_a_page_names_functions_that_are_there_and_never_goes_back() {
    let text = fs::read_to_string(source().join("README.md")).expect("src/README.md");
    let mut seen = BTreeSet::new();
    let mut reached = String::new();
    let hops = walk(&text);
    assert!(hops.len() > 31, "found {} hops", hops.len());
    for (file, functions) in hops {
        assert!(seen.insert(file.clone()), "{file} is visited twice");
        assert!(!functions.is_empty(), "{file}: no function is named");
        let code = fs::read_to_string(source().join("..").join(&file))
            .unwrap_or_else(|_| panic!("{file} is named in src/README.md, and is not there"));
        reached.push_str(&code);
        for function in functions {
            assert!(
                code.contains(&format!("fn {function}("))
                    || code.contains(&format!("fn {function}<")),
                "{file} has no function `{function}`"
            );
            assert!(
                is_called(&reached, &function),
                "{file}: expected a call of `{function}` in a file of the walk up to here"
            );
        }
    }
}

#[test]
fn the_navigation_names_every_room_every_board_and_every_feature() {
    let root = source().join("..");
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("a file of the repository");
    let readme = read("README.md");
    for room in graph().keys() {
        let names = [format!("`src/{room}/`"), format!("`src/{room}.rs`")];
        let named = names.iter().any(|name| readme.contains(name));
        assert!(named, "src/{room} is not in README's navigation");
    }
    let boards = fs::read_dir(root.join("boards")).expect("the boards");
    for board in boards.map(|entry| entry.expect("an entry").path()) {
        let name = board.file_name().expect("a name").to_string_lossy();
        let named = readme.contains(&format!("`boards/{name}/`"));
        assert!(
            named || !board.join("Cargo.toml").exists(),
            "boards/{name} is not in README's navigation"
        );
    }
    let manifest = read("Cargo.toml");
    let features = manifest.split("[features]").nth(1).expect("features");
    let features = features.split("\n[").next().expect("its section");
    let names = features.lines().filter_map(|line| line.split_once(" = ["));
    for (feature, _) in names.filter(|(name, _)| *name != "default") {
        let named = readme.contains(&format!("`{feature}`"));
        assert!(named, "feature `{feature}` is not in README's table");
    }
}

/// The files of the crate and of all boards with one of these texts in their code: comments and
/// tests do not count.
fn files_with(texts: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let boards = fs::read_dir(root.join("boards")).expect("the boards");
    let boards = boards.map(|board| board.expect("an entry").path().join("src"));
    let mut files = Vec::new();
    for folder in boards.chain([root.join("src")]).filter(|src| src.is_dir()) {
        rust_files(&folder, &mut files);
    }
    files.retain(|file| {
        let text = fs::read_to_string(file).expect("a source file");
        text.lines()
            .take_while(|line| line.trim() != "#[cfg(test)]")
            .filter_map(|line| line.split("//").next())
            .any(|line| texts.iter().any(|text| line.contains(text)))
    });
    let relative = files.iter().map(|file| file.strip_prefix(&root));
    let relative = relative.map(|file| file.expect("a file of the repository"));
    relative
        .map(|file| file.to_string_lossy().into_owned())
        .collect()
}

/// What opens a way into the network, or finds where one leads.
const DOORS: [&str; 7] = [
    ".connect(",
    "TcpStream::connect",
    "TcpStream>::connect",
    "to_socket_addrs(",
    "resolve.resolve(",
    "dns_query(",
    "UdpSocket::",
];

/// The files that may do that, and why.
const DOORKEEPERS: [(&str, &str); 20] = [
    ("src/fetch/client.rs", "the door: it checks addresses"),
    ("src/fetch/owner_server.rs", "servers that the owner named"),
    ("src/probe/names.rs", "the client's resolver, with a memory"),
    (
        "src/probe/owner_names.rs",
        "an owner's server, by his table",
    ),
    (
        "src/probe/time_server.rs",
        "the owner's time server, by datagram",
    ),
    (
        "boards/embassy-net/src/lib.rs",
        "a board's connector and resolver",
    ),
    ("boards/common/src/headers.rs", "a connector around another"),
    (
        "boards/common/src/tls/connect.rs",
        "a connector around another",
    ),
    (
        "boards/common/src/fleet/connect.rs",
        "a connector around another",
    ),
    ("boards/common/src/push.rs", "it listens, and never answers"),
    (
        "boards/fleet/src/attend.rs",
        "MQTT on a connection that is open",
    ),
    (
        "boards/qemu-mps2/src/bin/throughput.rs",
        "a bench of bare sockets",
    ),
    (
        "boards/host/src/board/net.rs",
        "a computer's connector and resolver",
    ),
    (
        "boards/host/src/board/tape.rs",
        "a connector around another",
    ),
    (
        "boards/host/src/board/proxy.rs",
        "the proxy that the owner named",
    ),
    (
        "boards/host/src/monitor/source.rs",
        "the log that the user named",
    ),
    (
        "boards/host/src/push/send.rs",
        "the probe that the user named",
    ),
    (
        "boards/host/src/fleet/asking.rs",
        "the planner on this computer",
    ),
    (
        "boards/host/src/fleet/broker.rs",
        "is the broker it started there?",
    ),
    (
        "boards/host/src/fleet/link.rs",
        "MQTT on a connection that is open",
    ),
];

#[test]
fn nobody_connects_but_through_the_doors_that_are_named() {
    assert_eq!(
        files_with(&DOORS),
        DOORKEEPERS.map(|(file, _)| file.to_owned()).into(),
        "files that connect or look up names (left) are named in DOORKEEPERS (right) with a \
         reason: go through fetch::Client or fetch::OwnerServer, or name the file"
    );
}

/// Files whose log lines are in no table of events, and why.
const LOG_WRITERS: [(&str, &str); 18] = [
    ("boards/common/src/rtt.rs", "the panic and fault handlers"),
    (
        "boards/common/src/suite.rs",
        "the on-target suite: no monitor reads it",
    ),
    (
        "boards/common/src/update/mod.rs",
        "faults of the flash, in the words of who found them",
    ),
    (
        "boards/w5500-evb-pico2/src/main.rs",
        "a chip that no other board has",
    ),
    ("boards/qemu-mps2/src/exit.rs", "the panic handler"),
    ("boards/qemu-mps2/src/interrupts.rs", "the fault handlers"),
    (
        "boards/qemu-mps2/src/network.rs",
        "a chip that no other board has",
    ),
    (
        "boards/qemu-mps2/src/fleet.rs",
        "the emulator's command line",
    ),
    (
        "boards/qemu-mps2/src/main.rs",
        "the emulator's command line and files",
    ),
    (
        "boards/qemu-mps2/src/options.rs",
        "the emulator's command line",
    ),
    ("boards/qemu-mps2/src/probe.rs", "the emulator's files"),
    ("boards/qemu-mps2/src/update.rs", "the emulator's files"),
    ("boards/qemu-mps2/src/meter.rs", "a bench"),
    ("boards/qemu-mps2/src/bin/bench.rs", "a bench"),
    ("boards/qemu-mps2/src/bin/discover_bench.rs", "a bench"),
    ("boards/qemu-mps2/src/bin/tls_bench.rs", "a bench"),
    ("boards/qemu-mps2/src/bin/throughput.rs", "a bench"),
    (
        "boards/qemu-mps2/src/bin/scheduler_alone.rs",
        "a firmware without the probe",
    ),
];

#[test]
fn log_lines_are_those_of_the_tables_of_events() {
    let macros =
        ["error", "warn", "info", "debug", "trace"].map(|level| format!("defmt::{level}!"));
    assert_eq!(
        files_with(&macros.each_ref().map(String::as_str)),
        LOG_WRITERS.map(|(file, _)| file.to_owned()).into(),
        "files that write log lines of their own (left) are named in LOG_WRITERS (right) with a \
         reason: emit a BoardEvent, which monitors can read, or name the file"
    );
}

/// Doc comments of three words or fewer, most of which are no sentences, below each folder: so many
/// are left, and none may be added.
const SHORT_COMMENTS: [(&str, usize); 3] = [("src", 21), ("boards", 0), ("host-tests", 0)];

/// How many doc comments of three words or fewer a text has.
fn short_comments(text: &str) -> usize {
    let lines = text.lines().map(|line| line.trim().strip_prefix("///"));
    let mut words = 0;
    let mut count = 0;
    for line in lines.chain([None]) {
        match line {
            Some(line) => words += line.split_whitespace().count(),
            None => count += usize::from((1..=3).contains(&std::mem::take(&mut words))),
        }
    }
    count
}

#[test]
fn doc_comments_become_sentences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (folder, most) in SHORT_COMMENTS {
        let mut files = Vec::new();
        rust_files(&root.join(folder), &mut files);
        let texts = files
            .iter()
            .map(|file| fs::read_to_string(file).expect("a source file"));
        let found: usize = texts.map(|text| short_comments(&text)).sum();
        assert!(
            found <= most,
            "{found} doc comments of three words or fewer in {folder}, expected at most {most}: \
             write a sentence with a subject and a verb"
        );
    }
    assert_eq!(
        short_comments("/// Of it.\nfn f() {}\n/// One\n/// two three four.\n"),
        1
    );
}

/// All lines of Rust below a folder of `host-tests`.
fn lines_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| match path.is_dir() {
            true => lines_below(&path),
            false => fs::read_to_string(&path).map_or(0, |text| text.lines().count()),
        })
        .sum()
}

#[test]
fn commands_stay_a_thin_shell_around_other_crates() {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR")).join("xtask/src");
    let lines = lines_below(&xtask);
    assert!((500..=1_500).contains(&lines), "{lines} lines in xtask");
}
