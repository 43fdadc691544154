//! Versions that are shown at once, or all together.

use std::path::Path;
use std::time::Duration;

use super::{Collector, folder};

/// How many versions whoever serves the collection shows, and how many there are.
fn shown(folder: &Path) -> (usize, usize) {
    let lines = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("http://a.test/page"))
            .count()
    };
    (lines("published.cdxj"), lines("index.cdxj"))
}

/// Waits until so many are shown; false if that takes longer than a few seconds.
fn is_shown(folder: &Path, count: usize) -> bool {
    (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        shown(folder).0 == count
    })
}

/// Shadowed, readers see one state of the collection for a while, and then the next; in place, each
/// version at once.
#[test]
fn versions_are_published_all_together_or_at_once() {
    let folder = folder("publish");
    let url = "http://a.test/page";
    let often = ["--publish", "shadow", "--every", "1s"];
    let seldom = ["--publish", "shadow", "--every", "1d"];
    let shadowed = Collector::start(&folder, &often);
    assert!(shadowed.deliver(url, "one"));
    assert!(is_shown(&folder, 1), "{:?}", shown(&folder));
    drop(shadowed);
    let shadowed = Collector::start(&folder, &seldom);
    assert!(shadowed.deliver(url, "two") && shadowed.deliver(url, "three"));
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(shown(&folder), (1, 3), "they are there, and not shown");
    drop(shadowed);
    let shadowed = Collector::start(&folder, &often);
    assert!(is_shown(&folder, 3), "{:?}", shown(&folder));
    drop(shadowed);
    let in_place = Collector::start(&folder, &["--publish", "in-place"]);
    assert!(in_place.deliver(url, "four"));
    assert!(is_shown(&folder, 4), "{:?}", shown(&folder));
    assert_eq!(shown(&folder), (4, 4));
    drop(in_place);
    // What has been seen stays, until the time of the next comes.
    let again = Collector::start(&folder, &seldom);
    assert!(again.deliver(url, "five"));
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(shown(&folder), (4, 5));
    drop(again);
    let _ = std::fs::remove_dir_all(&folder);
}
