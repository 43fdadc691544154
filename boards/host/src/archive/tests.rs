use super::reader::Reader;
use super::*;

fn folder(name: &str) -> PathBuf {
    // In memory where there is such a place: some tests open an archive a thousand times, each time
    // with a word to the disk.
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    let folder = place.join(format!("dunlin-archive-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn exchange(url: &str, time: u64, body: &str) -> Exchange {
    Exchange {
        url: url.into(),
        address: Some([127, 0, 0, 1].into()),
        time,
        request: b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_vec(),
        response: format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    }
}

fn bodies(folder: &Path, url: &str) -> Vec<String> {
    let reader = Reader::open(folder).expect("an archive");
    let history = reader.history(url).expect("read");
    let body = |entry: &Entry| {
        let version = reader.version(entry).expect("a version");
        String::from_utf8(version.body).expect("text")
    };
    history.iter().map(body).collect()
}

const PAGE: &str = "http://a.test/page";

#[test]
fn versions_come_back_once_each_and_in_order() {
    let folder = folder("order");
    let mut archive = Archive::open(&folder, Settings::default()).expect("an archive");
    let mut keep = |time, body: &str| archive.keep(&exchange(PAGE, time, body)).expect("kept");
    assert_eq!(keep(1_794_000_000, "one"), Kept::First);
    assert_eq!(keep(1_794_000_001, "one"), Kept::Same);
    assert_eq!(keep(1_794_000_002, "two"), Kept::Version);
    assert_eq!(keep(1_794_000_003, "one"), Kept::Version, "it is back");
    assert_eq!(
        archive.keep(&Exchange::default()).expect("tried"),
        Kept::Nothing
    );
    // Before and after the index is written, and by the next process.
    assert_eq!(bodies(&folder, PAGE), ["one", "two", "one"]);
    archive.tidy().expect("written");
    assert_eq!(bodies(&folder, PAGE), ["one", "two", "one"]);
    drop(archive);
    let mut archive = Archive::open(&folder, Settings::default()).expect("an archive");
    let again = archive
        .keep(&exchange(PAGE, 1_794_000_004, "one"))
        .expect("kept");
    assert_eq!(again, Kept::Same);
    assert_eq!(files(&folder).expect("a folder").len(), 1, "it goes on");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn files_follow_each_other_and_revisits_lead_to_their_bodies() {
    let folder = folder("rotation");
    let settings = Settings {
        rotate: 1,
        revisits: true,
        ..Settings::default()
    };
    let mut archive = Archive::open(&folder, settings).expect("an archive");
    for (number, body) in ["one", "one", "two"].into_iter().enumerate() {
        let exchange = exchange(PAGE, 1_794_000_000 + number as u64, body);
        archive.keep(&exchange).expect("kept");
    }
    let unmodified = Exchange {
        response: b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(),
        ..exchange(PAGE, 1_794_000_009, "")
    };
    assert_eq!(archive.keep(&unmodified).expect("kept"), Kept::Same);
    assert_eq!(files(&folder).expect("a folder").len(), 4);
    assert_eq!(bodies(&folder, PAGE), ["one", "one", "two", "two"]);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_page_that_moved_has_one_history() {
    let folder = folder("moved");
    let mut archive = Archive::open(&folder, Settings::default()).expect("an archive");
    archive
        .keep(&exchange(PAGE, 1_794_000_000, "here"))
        .expect("kept");
    let moved = Exchange {
        response: b"HTTP/1.1 301 Moved\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ..exchange(PAGE, 1_794_000_001, "")
    };
    archive.keep(&moved).expect("kept");
    let new = exchange("http://a.test/new", 1_794_000_002, "there");
    archive.keep(&new).expect("kept");
    assert_eq!(bodies(&folder, PAGE), ["here", "", "there"]);
    let _ = fs::remove_dir_all(&folder);
}

/// A crash at every byte of the file, with the index as it was at any moment before: what was
/// finished is there, what was not is gone, and writing goes on.
#[test]
fn a_crash_at_any_byte_loses_nothing_that_was_finished() {
    let whole = folder("whole");
    let mut archive = Archive::open(&whole, Settings::default()).expect("an archive");
    let mut journals = vec![Vec::new()];
    for (number, body) in ["one", "two", "three"].into_iter().enumerate() {
        let exchange = exchange(PAGE, 1_794_000_000 + number as u64, body);
        archive.keep(&exchange).expect("kept");
        journals.push(fs::read(whole.join(index::JOURNAL)).expect("a journal"));
    }
    let entries = archive.index.index().versions(PAGE, 9).expect("read");
    let name = &files(&whole).expect("a folder")[0];
    let bytes = fs::read(whole.join(name)).expect("a file");
    let cut = folder("cut");
    for length in 0..=bytes.len() {
        let finished = entries
            .iter()
            .take_while(|entry| entry.offset + entry.length <= length as u64)
            .count();
        // A line of the journal comes after its record.
        for journal in [&journals[0], &journals[finished]] {
            // Its own last line may be cut as well.
            let torn =
                &journal[..journal.len() - usize::from(!journal.is_empty() && length % 2 == 0)];
            let _ = fs::remove_dir_all(&cut);
            fs::create_dir_all(&cut).expect("a folder");
            fs::write(cut.join(name), &bytes[..length]).expect("written");
            fs::write(cut.join(index::JOURNAL), torn).expect("written");
            let mut archive = Archive::open(&cut, Settings::default()).expect("mended");
            let expected = &["one", "two", "three"][..finished];
            assert_eq!(bodies(&cut, PAGE), expected, "cut at {length}");
            let more = exchange(PAGE, 1_794_000_009, "four");
            let kept = archive.keep(&more).expect("kept");
            assert_eq!(kept == Kept::First, finished == 0);
            let all = [expected, &["four"]].concat();
            assert_eq!(bodies(&cut, PAGE), all, "after a cut at {length}");
            // Nothing of what was not finished is left in between: the file alone tells everything.
            drop(archive);
            let _ = fs::remove_file(cut.join(index::SORTED));
            fs::remove_file(cut.join(index::JOURNAL)).expect("a journal");
            drop(Archive::open(&cut, Settings::default()).expect("mended"));
            assert_eq!(bodies(&cut, PAGE), all, "without an index, cut at {length}");
        }
    }
    let _ = (fs::remove_dir_all(&whole), fs::remove_dir_all(&cut));
}

#[test]
fn the_last_changes_of_all_pages_are_found_and_first_versions_are_none() {
    // Different pages with one key, and one with a key of its own.
    const SECURE: &str = "https://a.test/page";
    const OTHER: &str = "http://b.test/";
    let folder = folder("changes");
    let settings = Settings {
        revisits: true,
        ..Settings::default()
    };
    let mut archive = Archive::open(&folder, settings).expect("an archive");
    let visits = [
        (PAGE, "one"),
        (SECURE, "one"),
        (PAGE, "two"),
        (PAGE, "two"),
        (OTHER, "one"),
        (PAGE, "three"),
        (OTHER, "two"),
    ];
    for (time, (url, body)) in visits.into_iter().enumerate() {
        archive
            .keep(&exchange(url, time as u64, body))
            .expect("kept");
    }
    for _ in 0..2 {
        let changes = |most| {
            let changes = archive.changes(most).expect("read").into_iter();
            changes.map(|entry| entry.time).collect::<Vec<_>>()
        };
        assert_eq!(changes(200), [2, 5, 6]);
        assert_eq!(changes(2), [5, 6]);
        // And by the sorted index.
        archive.fold().expect("written");
    }
    let _ = fs::remove_dir_all(&folder);
}
