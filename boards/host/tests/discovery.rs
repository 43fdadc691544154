//! `--discover` and what goes with it, as a user meets it.

mod program;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use clap::Parser as _;
use dunlin::discover::DiscoverySettings;
use dunlin::image::{Image, Tag};
use dunlin::rank::Ranking;
use dunlin::time::Duration;
use dunlin_host::error::Error;
use dunlin_host::lists::discovery::DiscoverArgs;
use dunlin_host::lists::listing::ListingArgs;
use dunlin_host::lists::page_image::{Capacity, Options, build};
use program::{dunlin, read_by_others, refuses, text};

/// What a board's image is made of.
#[derive(clap::Parser)]
struct Given {
    #[command(flatten)]
    listing: ListingArgs,
    #[command(flatten)]
    discover: DiscoverArgs,
}

const LIST: &str = "url\nhttp://a.test/\nhttp://a.test/b\n";

fn scratch(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("a path").to_owned()
}

/// What `check` says of the list with these options.
fn note(options: &[&str]) -> String {
    let arguments = [&["check", "-"], options].concat();
    let output = dunlin(&arguments, LIST.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// The image of the list with these options.
fn image(name: &str, options: &[&str]) -> Vec<u8> {
    let out = scratch(name);
    let arguments = [&["image", "-", "--out", &out], options].concat();
    let output = dunlin(&arguments, LIST.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    fs::read(out).expect("written")
}

#[test]
fn check_says_what_will_be_done() {
    assert!(!note(&[]).contains("looks for pages"));
    let plain = note(&["--discover"]);
    let expected = "note: looks for pages on the hosts of the list, and keeps the 256 most important ones, \
                    0 of the list pinned; important by PageRank; 25 % of the visits explore; \
                    at most half of what is known a host, where there are several, 200 a directory, \
                    8 directories deep, 200 characters, 4 parameters\n";
    assert!(plain.contains(expected), "{plain}");
    let ranked = [
        "--discover",
        "--rank",
        "backlink,location",
        "--topic",
        "Wader,estuary",
        "--explore",
        "0.5",
    ];
    let said = note(&ranked);
    let expected = "important by links to a candidate × location × the topic (Wader, estuary); \
                    50 % of the visits explore; ";
    assert!(said.contains(expected), "{said}");
    let limited = note(&["--discover", "--scope", "site", "--per-host", "300"]);
    assert!(limited.contains("below the same domains"), "{limited}");
    assert!(limited.contains("at most 300 URLs a host,"), "{limited}");
}

#[test]
fn an_image_says_how_pages_are_ranked() {
    let plain = image("discovery-plain.img", &["--discover"]);
    let plain = Image::parse(&plain).expect("as a probe reads it");
    assert!(plain.section(Tag::RANKING).is_none(), "PageRank is all");
    let options = [
        "--discover",
        "--rank",
        "pagerank,location",
        "--topic",
        "wader estuary",
        "--explore",
        "0.125",
    ];
    let ranked = image("discovery-ranked.img", &options);
    let ranked = Image::parse(&ranked).expect("as a probe reads it");
    let ranking = ranked.section(Tag::RANKING).and_then(Ranking::read);
    let Ranking { measure, topic } = ranking.expect("a section");
    assert!(measure.page_rank && measure.location && !measure.backlinks);
    assert_eq!(topic.share(topic.in_text(b"a Wader in the estuary")), 1.0);
    assert_eq!(topic.share(topic.in_text(b"the estuary")), 0.5);
    let wanted = ranked
        .section(Tag::DISCOVERY)
        .and_then(DiscoverySettings::read);
    assert_eq!(wanted.map(|wanted| wanted.exploring), Some(32));
}

#[test]
fn an_image_limits_hosts_only_where_that_is_said() {
    let section = |name: &str, options: &[&str]| {
        let image = image(name, options);
        let image = Image::parse(&image).expect("as a probe reads it");
        image.section(Tag::DISCOVERY).expect("a section").to_vec()
    };
    let plain = section("discovery-unlimited.img", &["--discover"]);
    assert_eq!(
        (plain[0], plain.len()),
        (1, 10),
        "as older firmware reads it"
    );
    let limited = section(
        "discovery-limited.img",
        &["--discover", "--per-host", "300"],
    );
    let read = DiscoverySettings::read(&limited).expect("a section of our own");
    assert_eq!(read.per_host, Some(300));
    assert_eq!(read.places, 256);
}

/// Both may be asked for: a feed says when pages changed, links and sitemaps say which there are.
#[test]
fn hints_and_discovery_go_together() {
    let hosts = scratch("discovery-hosts.csv");
    fs::write(&hosts, "host,hints\na.test,http://a.test/feed.xml\n").expect("written");
    let options = ["--discover", "--hosts", &hosts];
    note(&options);
    let image = image("discovery-hints.img", &options);
    let image = Image::parse(&image).expect("as a probe reads it");
    assert_eq!(image.tellers().count(), 1);
    assert!(image.section(Tag::DISCOVERY).is_some());
}

#[test]
fn more_places_than_a_board_has_are_refused() {
    let list = scratch("discovery-places.csv");
    fs::write(&list, LIST).expect("written");
    let read = |options: &[&str]| {
        let all = [&["probe", list.as_str()], options].concat();
        let args = Given::try_parse_from(all).expect("options");
        let listing = args.listing.read(Duration::from_secs(1)).expect("a list");
        let wanted = args.discover.wanted(&listing, 60_000).expect("places");
        let options = Options {
            discovery: wanted,
            ..Options::default()
        };
        let capacity = Capacity {
            pages: 512,
            hosts: 64,
            https: false,
            ipv6: false,
        };
        build(&listing, &options, capacity).map(|_| ())
    };
    assert!(read(&["--discover", "--places", "504"]).is_ok());
    let refused = read(&["--discover", "--places", "505"]).expect_err("too many");
    let expected = "found a collection of 505 places, expected --places of at most 504";
    assert!(refused.to_string().contains(expected), "{refused}");
    assert!(matches!(refused, Error::Usage(_)), "exit 2");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let many = vec!["word"; 17].join(",");
    let words = "expected 1 to 16 words of letters and digits";
    for (options, said) in [
        (vec!["--topic", "wader"], "--discover"),
        (vec!["--discover", "--topic", "a-b"], words),
        (vec!["--discover", "--topic", " , "], words),
        (vec!["--discover", "--topic", &many], "--topic of 17 words"),
        (vec!["--discover", "--rank", "best"], "pagerank"),
        (vec!["--discover", "--explore", "1"], "from 0 to 0.9"),
        (vec!["--discover", "--explore", "NaN"], "from 0 to 0.9"),
        (vec!["--discover", "--places", "1"], "expected at least 2"),
        (vec!["--discover", "--places", "70000"], "expected at most"),
        (vec!["--discover", "--per-host", "0"], "expected 1 to 65534"),
        (vec!["--discover", "--per-host", "65535"], "expected 1 to"),
        (vec!["--per-host", "9"], "--discover"),
    ] {
        for command in [
            &["check", "-"][..],
            &["run", "-", "--seconds", "1"],
            &["image", "-", "--out", &scratch("discovery-refused.img")],
        ] {
            let arguments = [command, &options[..]].concat();
            refuses(&arguments, LIST.as_bytes(), said);
        }
    }
}

/// A site of forty pages that all link to all; every second one is about waders.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    port
}

fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let links: String = (0..40)
        .map(|page| format!("<a href=/{page}>x</a>"))
        .collect();
    let number: Option<usize> = path.trim_start_matches('/').parse().ok();
    let (status, body) = match number {
        Some(page) if page < 40 => {
            let about = if page % 2 == 0 { "a wader" } else { "nothing" };
            ("200 OK", format!("<title>{page}</title>{about}{links}"))
        }
        _ if path == "/" => ("200 OK", links),
        _ => ("404 Not Found", String::new()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).ok()
}

/// Pages about waders that are held at the end, of ten that were found.
fn held(name: &str, options: &[&str]) -> usize {
    let port = serve();
    let out = scratch(name);
    let list = format!("url,pinned\nhttp://a.test:{port}/,yes\n");
    let arguments = [
        &[
            "run",
            "-",
            "--resolve",
            "*=127.0.0.1",
            "--politeness",
            "20ms",
        ],
        &["--seconds", "8", "--seed", "1", "--crawls-per-day", "max"],
        &["--discover", "--places", "11", "--export", &out][..],
        options,
    ]
    .concat();
    let output = dunlin(&arguments, list.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let kept = fs::read_to_string(out).expect("written");
    let urls = kept.lines().filter_map(|line| line.split(',').next());
    let numbers = urls.filter_map(|url| url.rsplit('/').next());
    let numbers: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
    assert_eq!(numbers.len(), 10, "{kept}");
    numbers.iter().filter(|number| **number % 2 == 0).count()
}

#[test]
fn a_topic_changes_what_is_admitted() {
    let plain = std::thread::spawn(|| held("discovery-no-topic.csv", &[]));
    let about = held("discovery-topic.csv", &["--topic", "wader,estuary"]);
    let plain = plain.join().expect("no panic");
    println!("{about} of 10 about waders with the topic, {plain} without");
    assert!(about >= 9, "{about} of 10");
    assert!(plain <= 8, "{plain} of 10 without a topic");
}

/// What is found is kept as what is listed is, from its first version on.
#[test]
fn versions_of_found_pages_are_archived() {
    let port = serve();
    let out = scratch("discovery-archived.csv");
    let archive = scratch("discovery-archive");
    let _ = fs::remove_dir_all(&archive);
    let list = format!("url,pinned\nhttp://a.test:{port}/,yes\n");
    let run = "run - --resolve *=127.0.0.1 --politeness 20ms --seconds 5 --crawls-per-day max";
    let run: Vec<&str> = run.split(' ').collect();
    let discover = ["--discover", "--places", "6", "--export", &out];
    let arguments = [&run[..], &discover, &["--archive", &archive]].concat();
    let output = dunlin(&arguments, list.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let kept = fs::read_to_string(out).expect("written");
    let read = read_by_others(archive.as_ref(), &[]);
    let urls = kept
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next());
    let paths: Vec<&str> = urls
        .filter_map(|url| url.strip_prefix(&format!("http://a.test:{port}")))
        .collect();
    assert_eq!(paths.len(), 6, "{kept}");
    for path in paths {
        assert_eq!(read.get(path).map(Vec::len), Some(1), "{path} of {kept}");
    }
}
