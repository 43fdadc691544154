#![no_std]
#![no_main]
//! Counts what finding pages costs in instructions: reading links beside the fingerprint, and
//! deciding which page gives way. Start QEMU with `-icount shift=7`.

use core::fmt::Write as _;
use core::hint::black_box;

use dunlin::discover::{
    Candidate, Frontier, FrontierMemory, FrontierSettings, Link, LinkReader, LinkSink, Target,
    TextPlace, UrlLimits, digest, directory_digest,
};
use dunlin::feed::FeedReader;
use dunlin::fetch::robots::Verdict;
use dunlin::fetch::{Fingerprinter, Url};
use dunlin::rank::{Account, FoundWords, Topic, WordReader};
use dunlin_board::banner;
use dunlin_suite::Meter as _;
use qemu_mps2::meter::InstructionMeter;
use qemu_mps2::{exit, log};
use static_cell::ConstStaticCell;

/// A page with as many links as count, one in a quarter of a kilobyte.
const PAGE: usize = 32 * 1024;
const LINKS: usize = 128;
const PLACES: usize = 4_096;
const CANDIDATES: usize = 2_048;
const KEY: [u8; 16] = [7; 16];
/// Sixteen words, of which the page holds some.
const WORDS: [&str; 16] = [
    "wader",
    "estuary",
    "tide",
    "mud",
    "bird",
    "coast",
    "flock",
    "moult",
    "ringing",
    "roost",
    "sandpiper",
    "plover",
    "curlew",
    "godwit",
    "knot",
    "dunlin",
];

struct Tables {
    accounts: [Account; PLACES],
    order: [u16; PLACES],
    candidates: [Candidate; CANDIDATES],
    doorkeeper: [u8; 4_096],
    directories: [u8; 2_048],
}

static TABLES: ConstStaticCell<Tables> = ConstStaticCell::new(Tables {
    accounts: [Account::FREE; PLACES],
    order: [0; PLACES],
    candidates: [Candidate::NONE; CANDIDATES],
    doorkeeper: [0; 4_096],
    directories: [0; 2_048],
});
static TEXT: ConstStaticCell<heapless::Vec<u8, PAGE>> = ConstStaticCell::new(heapless::Vec::new());

impl Tables {
    fn frontier(&mut self, settings: FrontierSettings) -> Frontier<'_> {
        let memory = FrontierMemory {
            accounts: &mut self.accounts,
            order: &mut self.order,
            candidates: &mut self.candidates,
            doorkeeper: &mut self.doorkeeper,
            directories: &mut self.directories,
        };
        Frontier::new(memory, settings, 1)
    }
}

/// A page of a newspaper: a link, and some words about it.
struct Text<'p>(&'p mut heapless::Vec<u8, PAGE>);

impl core::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes())
            .map_err(|_| core::fmt::Error)
    }
}

fn write_page(page: &mut heapless::Vec<u8, PAGE>) {
    let mut text = Text(page);
    for number in 0..LINKS {
        let _ = writeln!(
            text,
            "<li class=\"item\"><a href=\"/news/{number}/story.html\" title=\"More\">Story {number}</a>\
             <p>A dunlin is a small wader of the coast, and this is what was seen of it on the {number}th day &amp; night of the \
             year: many came with the tide, few stayed, and the rest went on.</p></li>"
        );
    }
    while page.push(b' ').is_ok() {}
}

/// What a host says about its pages, as people's programs write it: what stands before the entries,
/// an entry by its number and its day, and what stands behind them.
struct Document {
    name: &'static str,
    head: &'static str,
    entry: fn(&mut Text<'_>, usize, usize) -> core::fmt::Result,
    end: &'static str,
}

const DOCUMENTS: [Document; 4] = [
    Document {
        name: "discover: a sitemap, per byte",
        head: "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        entry: |text, number, day| {
            writeln!(
                text,
                "  <url>\n    <loc>http://example.org/news/{number}/story.html</loc>\n    \
                 <lastmod>2026-11-{day:02}T12:00:00+01:00</lastmod>\n    <changefreq>daily</changefreq>\n  </url>"
            )
        },
        end: "</urlset>\n",
    },
    Document {
        name: "discover: an Atom feed, per byte",
        head: "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
        entry: |text, number, day| {
            writeln!(
                text,
                "<entry><title>Story {number} &amp; more</title><link href=\"http://example.org/news/{number}/\"/>\
                 <updated>2026-11-{day:02}T12:00:00Z</updated><summary>What was seen of it.</summary></entry>"
            )
        },
        end: "</feed>\n",
    },
    Document {
        name: "discover: an RSS feed, per byte",
        head: "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>News</title>\n",
        entry: |text, number, day| {
            writeln!(
                text,
                "<item><title>Story {number}</title><link>http://example.org/news/{number}/</link>\
                 <guid isPermaLink=\"false\">{number}</guid><pubDate>Tue, {day:02} Nov 2026 12:00:00 GMT</pubDate>\
                 <description>What was seen of it.</description></item>"
            )
        },
        end: "</channel></rss>\n",
    },
    Document {
        name: "discover: a JSON feed, per byte",
        head: "{\"version\": \"https://jsonfeed.org/version/1.1\", \"title\": \"News\", \"items\": [\n",
        entry: |text, number, day| {
            writeln!(
                text,
                "{{\"id\": \"{number}\", \"url\": \"http:\\/\\/example.org\\/news\\/{number}\\/\", \
                 \"title\": \"Story {number}\", \"content_text\": \"What was seen of it.\", \
                 \"date_modified\": \"2026-11-{day:02}T12:00:00Z\"}},"
            )
        },
        end: "{}]}\n",
    },
];

fn count_documents(meter: &mut InstructionMeter, document: &mut heapless::Vec<u8, PAGE>) {
    const ENTRIES: usize = 128;
    for kind in &DOCUMENTS {
        document.clear();
        let mut text = Text(document);
        let _ = text.write_str(kind.head);
        for number in 0..ENTRIES {
            let _ = (kind.entry)(&mut text, number, 1 + number % 28);
        }
        let _ = text.write_str(kind.end);
        let size = document.len() as u32;
        let mut dated = 0;
        meter.measure(kind.name, size, size, &mut || {
            let mut reader = FeedReader::new();
            for mut window in document.chunks(1024) {
                while let Some(Ok(entry)) = reader.next(&mut window) {
                    dated += usize::from(entry.modified.is_some());
                    black_box(entry);
                }
            }
            black_box(reader.finish());
        });
        if dated != ENTRIES {
            defmt::error!("found {=usize} dates, expected {=usize}", dated, ENTRIES);
            exit::failure();
        }
    }
}

/// Does with links what a probe does, but for writing their texts to flash.
struct Sink<'s, 'm> {
    frontier: &'s mut Frontier<'m>,
    base: Url<'static>,
    /// The digest of the page itself.
    own: u32,
    topic: Topic,
    words: WordReader,
    about: FoundWords,
    links: heapless::Vec<u32, LINKS>,
}

impl LinkSink for Sink<'_, '_> {
    fn link(&mut self, link: &Link<'_>) {
        let mut text = [0; 512];
        let Ok(url) = link.resolve(&self.base, &mut text) else {
            return;
        };
        let digest = digest(&url, &KEY);
        if !self.topic.is_empty() {
            let about = self.topic.in_text(link.anchor);
            black_box(about.and(self.topic.in_text(url.path_and_query().as_bytes())));
        }
        if digest == self.own || self.links.contains(&digest) {
            return;
        }
        let known = self.frontier.bank().find(digest).is_some()
            || self.frontier.candidates().find(digest).is_some();
        if known {
            let _ = self.links.push(digest);
            return;
        }
        // Nothing is known, which takes longest.
        if UrlLimits::DEFAULT.check(&url).is_err() || !url.same_server(&self.base) {
            return;
        }
        let directory = directory_digest(&url, &KEY);
        if self.frontier.seen(digest, directory, 0) == Target::New {
            let _ = self.links.push(digest);
        }
    }

    fn text(&mut self, _: TextPlace, text: &[u8]) {
        let found = self.words.update(&self.topic, text);
        self.about = self.about.and(found);
    }

    fn text_ends(&mut self) {
        self.about = self.about.and(self.words.finish(&self.topic));
    }
}

fn count_links(meter: &mut InstructionMeter, tables: &mut Tables, page: &[u8]) {
    let windows = || page.chunks(1024);
    let size = PAGE as u32;
    meter.measure(
        "discover: the fingerprint alone, per byte",
        size,
        size,
        &mut || {
            let mut hasher = Fingerprinter::new(&KEY, &[]);
            windows().for_each(|window| hasher.update(window));
            black_box(hasher.finish());
        },
    );
    let Ok(base) = Url::parse("http://example.org/") else {
        return;
    };
    for (name, words) in [
        ("discover: links, per byte", &WORDS[..0]),
        ("discover: links and 16 topic words, per byte", &WORDS[..]),
    ] {
        let mut frontier = tables.frontier(FrontierSettings::DEFAULT);
        let mut sink = Sink {
            frontier: &mut frontier,
            base,
            own: digest(&base, &KEY),
            topic: Topic::new(words.iter().copied()).unwrap_or_default(),
            words: WordReader::new(),
            about: FoundWords::default(),
            links: heapless::Vec::new(),
        };
        meter.measure(name, size, size, &mut || {
            let mut reader = LinkReader::new("dunlin");
            windows().for_each(|window| reader.update(window, &mut sink));
            reader.finish(&mut sink);
        });
        if sink.links.len() != LINKS {
            defmt::error!(
                "found {=usize} links, expected {=usize}",
                sink.links.len(),
                LINKS
            );
            exit::failure();
        }
    }
}

fn count_decisions(meter: &mut InstructionMeter, tables: &mut Tables) {
    for (name, exploring) in [
        ("discover: who gives way to whom", 0.0),
        ("discover: the same, and whom to explore", 0.9),
    ] {
        let settings = FrontierSettings {
            exploring,
            sightings: 0,
            ..FrontierSettings::DEFAULT
        };
        let mut frontier = tables.frontier(settings);
        for place in 0..PLACES as u32 {
            frontier.keep(place as u16, 1 + place.wrapping_mul(0x9e37_79b1));
        }
        for number in 0..CANDIDATES as u32 {
            let mut candidate =
                Candidate::new(0x8000_0001 ^ number.wrapping_mul(0x85eb_ca6b), 0, number);
            candidate.set_verdict(Verdict::Allowed);
            let _ = frontier.offer(candidate, number);
        }
        // So that exploring is owed.
        let _ = frontier.next(|_| Some(1.0));
        meter.measure(name, PLACES as u32, 1, &mut || {
            let _ = black_box(frontier.next(|_| Some(1.0)));
        });
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    banner("dunlin discover bench on qemu-mps2");
    let Some(mut meter) = InstructionMeter::calibrated() else {
        defmt::error!(
            "the meter does not count a thousand instructions as such: start QEMU with -icount shift=7"
        );
        exit::failure()
    };
    let tables = TABLES.take();
    let page = TEXT.take();
    write_page(page);
    count_links(&mut meter, tables, page);
    count_documents(&mut meter, page);
    count_decisions(&mut meter, tables);
    exit::success()
}
