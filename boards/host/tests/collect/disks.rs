//! Disks that are full or read-only.

use std::process::Command;
use std::time::Duration;

use super::program::{dunlin, read_by_others, set_read_only, text, unprivileged};
use super::runs::{changes, crawl, one_page, serve_changing};
use super::{Collector, folder, frames, mend, request};

/// A disk without room: probes are told so, each time, and what was acknowledged is there.
#[test]
fn a_full_disk_is_told_to_the_probes_and_harms_nothing() {
    let folder = folder("full");
    // No file of this process may be longer: a disk that is full after so many bytes.
    let mut limited = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_dunlin")]);
    let collector = Collector::begin(limited, &folder, &["--archive-compression", "0"]);
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for version in 0..60 {
        let body = format!("version {version} {}", "x".repeat(500));
        let posted = request(&frames("http://a.test/page", &body, "changed"), "");
        let (status, _) = collector.post(&posted).expect("it answers, full or not");
        match status.as_str() {
            "HTTP/1.1 200 OK" => acknowledged.push(body),
            "HTTP/1.1 507 Insufficient Storage" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(
        !acknowledged.is_empty() && refused > 10,
        "{refused} refused"
    );
    assert_eq!(collector.count("cannot write to the archive: "), 1);
    drop(collector);
    drop(Collector::start(&folder, &[]));
    mend(&folder);
    let read = read_by_others(&folder, &[]);
    let there = |body: &String| read["/page"].contains(body);
    assert!(acknowledged.iter().all(there));
    let _ = std::fs::remove_dir_all(&folder);
}

/// A disk on which the index finds no room, but for half a line, and then room again: what was
/// acknowledged is found after a kill.
#[test]
fn a_disk_that_is_full_for_the_index_alone_harms_nothing() {
    let folder = folder("full-index");
    let mut limited = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" \"$@\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_dunlin")]);
    let collector = Collector::begin(limited, &folder, &[]);
    // Long lines for the index, and little for the archive, which is compressed.
    let url = |page: usize| format!("http://a.test/{page}/{}", "x".repeat(1_500));
    let refused = (0..12).filter(|page| !collector.deliver(&url(*page), "short"));
    assert!(refused.count() > 3);
    let pid = collector.child.id().to_string();
    let freed = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited"])
        .status();
    assert!(freed.expect("prlimit starts").success());
    for page in 0..20 {
        assert!(collector.deliver(&url(page), "short"), "page {page}");
    }
    drop(collector);
    drop(Collector::start(&folder, &[]));
    for page in 0..20 {
        let history = [
            "history",
            &url(page),
            "--archive",
            folder.to_str().expect("UTF-8"),
        ];
        let output = dunlin(&history, b"");
        assert!(output.status.success(), "{page}: {}", text(&output.stderr));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A disk that becomes read-only while a crawl delivers, and is written to again: said once, probes
/// are told so, the crawl goes on, and nothing of what it found is lost.
#[test]
fn a_read_only_disk_is_said_and_holds_no_crawl_up() {
    let folder = folder("read-only");
    // Longer than a file of the archive may be: each version begins another one.
    const LONG: usize = 1_010_000;
    let rotating = ["--archive-compression", "0", "--archive-size", "1"];
    let collector = Collector::begin(unprivileged(), &folder, &rotating);
    let pages = serve_changing(LONG);
    assert!(collector.deliver("http://a.test/first", &"x".repeat(LONG)));
    set_read_only(&folder, true);
    let posted = request(&frames("http://a.test/second", "y", "changed"), "");
    let (status, _) = collector.post(&posted).expect("it answers all the same");
    assert_eq!(status, "HTTP/1.1 507 Insufficient Storage");
    let address = collector.address.clone();
    let crawl = std::thread::spawn(move || crawl(&one_page(pages), "6", &address, &[]));
    std::thread::sleep(Duration::from_millis(2_500));
    set_read_only(&folder, false);
    let output = crawl.join().expect("it ran");
    let said = text(&output.stderr);
    let news = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    let told = "the collector takes nothing now: it answered 507";
    assert!(said.contains(told), "{said}");
    for words in ["to the archive", "the archive's index"] {
        let words = format!("cannot write {words}: Permission denied");
        assert_eq!(collector.count(&words), 1, "{words}");
    }
    assert!(collector.deliver("http://a.test/second", "y"));
    std::thread::sleep(Duration::from_millis(1_500));
    drop(collector);
    let read = read_by_others(&folder, &[]);
    let fetched = changes(&news);
    assert!(fetched > 8, "{news}");
    assert_eq!(read["/page"].len(), fetched, "{said}");
    assert_eq!((read["/first"].len(), read["/second"].len()), (1, 1));
    let _ = std::fs::remove_dir_all(&folder);
}
