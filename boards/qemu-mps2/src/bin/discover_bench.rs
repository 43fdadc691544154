#![no_std]
#![no_main]
//! Counts what finding pages costs in instructions: reading links beside the fingerprint, and
//! deciding which page gives way. Start QEMU with `-icount shift=7`.

use core::fmt::Write as _;
use core::hint::black_box;

use dunlin::discover::{
    Candidate, Frontier, FrontierMemory, FrontierSettings, Link, LinkReader, LinkSet, LinkSink,
    LinkSource, Target, TextPlace, UrlLimits, directory_digest,
};
use dunlin::feed::FeedReader;
use dunlin::fetch::robots::Verdict;
use dunlin::fetch::{Fingerprinter, Url};
use dunlin::rank::{Account, FoundWords, Topic, WordReader, location};
use dunlin_board::banner;
use dunlin_suite::Meter as _;
use qemu_mps2::meter::InstructionMeter;
use qemu_mps2::{exit, log};
use static_cell::ConstStaticCell;

const PAGE: usize = 32 * 1024;
/// As many links as count.
const LINKS: usize = 128;
/// Links of a page of much markup: one in half a kilobyte, as on most pages.
const CARDS: usize = 64;
const PLACES: usize = 4_096;
/// Beside them, the place of a candidate that is looked at.
const SCOUT: u16 = PLACES as u16;
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
    accounts: [Account; PLACES + 1],
    order: [u16; PLACES + 1],
    candidates: [Candidate; CANDIDATES],
    doorkeeper: [u8; 4_096],
    directories: [u8; 2_048],
}

static TABLES: ConstStaticCell<Tables> = ConstStaticCell::new(Tables {
    accounts: [Account::FREE; PLACES + 1],
    order: [0; PLACES + 1],
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

/// A frontier as a probe has it beside a full collection and several hosts.
fn full_frontier(tables: &mut Tables) -> Frontier<'_> {
    let mut frontier = tables.frontier(FrontierSettings {
        host: Some(CANDIDATES as u16 / 2),
        ..FrontierSettings::DEFAULT
    });
    for place in 0..PLACES as u32 {
        let digest = 1 + place.wrapping_mul(0x9e37_79b1);
        frontier.restore(place as u16, digest, 1.0);
    }
    frontier
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

/// A link, and two lines of text about it.
fn write_text(page: &mut heapless::Vec<u8, PAGE>) {
    page.clear();
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

/// Cards as systems for content make them, and a script after some: of ten bytes, one or two are
/// text.
fn write_markup(page: &mut heapless::Vec<u8, PAGE>) {
    page.clear();
    let mut text = Text(page);
    for number in 0..CARDS {
        let _ = writeln!(
            text,
            "<div class=\"card card--wide\" id=\"c{number}\" data-id=\"{number}\">\n  <div class=\"card-body\">\n    \
             <h3 class=\"card-title\"><a class=\"link\" href=\"/news/{number}/story.html\">Story {number}</a></h3>\n    \
             <p class=\"meta\"><span class=\"date\">12 November 2026</span> <span class='by'>A. N. Author</span></p>\n    \
             <img class=\"thumb\" src=\"/img/{number}.jpg\" alt=\"Waders\" width=320 height=180>\n  </div>\n</div>"
        );
        if number % 8 == 0 {
            let _ = writeln!(
                text,
                "<!-- cards -->\n<script>if (a < b) {{ window.load('{number}', function (x) {{ return x && x.card; }}); }}</script>"
            );
        }
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

/// Does with links what a probe does, but for queueing the texts of new ones for flash.
struct Sink<'s, 'm> {
    frontier: &'s mut Frontier<'m>,
    base: LinkSource<'static>,
    topic: Topic,
    words: WordReader,
    about: FoundWords,
    links: LinkSet,
    near: u128,
    room: [u8; 512],
}

impl<'s, 'm> Sink<'s, 'm> {
    fn new(frontier: &'s mut Frontier<'m>, base: Url<'static>, words: &[&str]) -> Self {
        Self {
            frontier,
            base: LinkSource::new(&base, &KEY),
            topic: Topic::new(words.iter().copied()).unwrap_or_default(),
            words: WordReader::new(),
            about: FoundWords::default(),
            links: LinkSet::default(),
            near: 0,
            room: [0; 512],
        }
    }
}

/// Nothing is known of a URL, which takes longest: may it become a candidate?
fn is_new(frontier: &mut Frontier<'_>, digest: u32, url: &Url<'_>, page: &Url<'_>) -> bool {
    if UrlLimits::DEFAULT.check(url).is_err() || !url.same_server(page) {
        return false;
    }
    black_box(location(url));
    let directory = directory_digest(url, 0, &KEY);
    frontier.met(digest, directory, 0) == Target::New
}

impl LinkSink for Sink<'_, '_> {
    fn link(&mut self, link: &Link<'_>) {
        let page = self.base.url();
        let Ok(url) = link.resolve(page, &mut self.room) else {
            return;
        };
        let digest = self.base.digest_of(&url, &KEY);
        if !self.topic.is_empty() {
            let about = self.topic.in_text(link.anchor);
            black_box(about.and(self.topic.in_text(url.path_and_query().as_bytes())));
        }
        if digest == self.base.digest() || self.links.has(digest) {
            return;
        }
        if self.frontier.bank().find(digest).is_none() {
            let candidate = self.frontier.candidates_mut().find_mut(digest);
            let is_known = candidate.map(Candidate::linked).is_some();
            if !is_known && !is_new(self.frontier, digest, &url, page) {
                return;
            }
        }
        if self.base.is_near(&url) {
            self.near |= 1 << self.links.as_slice().len();
        }
        self.links.push(digest);
    }

    fn wants_text(&self) -> bool {
        !self.topic.is_empty()
    }

    fn text(&mut self, _: TextPlace, text: &[u8]) {
        let found = self.words.update(&self.topic, text);
        self.about = self.about.and(found);
    }

    fn text_ends(&mut self) {
        self.about = self.about.and(self.words.finish(&self.topic));
    }
}

/// A sink that takes no notice of anything.
struct Deaf;

impl LinkSink for Deaf {
    fn link(&mut self, link: &Link<'_>) {
        black_box(link);
    }

    fn wants_text(&self) -> bool {
        false
    }
}

/// Reads a page through a window as the probe has one.
fn read(page: &[u8], sink: &mut dyn LinkSink) {
    let mut reader = LinkReader::new("dunlin");
    page.chunks(1024)
        .for_each(|piece| reader.update(piece, sink));
    reader.finish(sink);
}

/// The same with what the probe does at each piece.
fn read_links(page: &[u8], sink: &mut Sink<'_, '_>) {
    let mut reader = LinkReader::new("dunlin");
    for piece in page.chunks(1024) {
        sink.room = [0; 512];
        reader.update(piece, sink);
    }
    reader.finish(sink);
}

fn found(links: usize, expected: usize) {
    if links != expected {
        defmt::error!("found {=usize} links, expected {=usize}", links, expected);
        exit::failure();
    }
}

fn count_links(
    meter: &mut InstructionMeter,
    tables: &mut Tables,
    page: &mut heapless::Vec<u8, PAGE>,
) {
    let size = PAGE as u32;
    let Ok(base) = Url::parse("http://example.org/news/") else {
        return;
    };
    write_text(page);
    meter.measure(
        "discover: the fingerprint alone, per byte",
        size,
        size,
        &mut || {
            let mut hasher = Fingerprinter::new(&KEY, &[]);
            page.chunks(1024).for_each(|piece| hasher.update(piece));
            black_box(hasher.finish());
        },
    );
    meter.measure(
        "discover: the markup alone, per byte",
        size,
        size,
        &mut || read(page, &mut Deaf),
    );
    for (name, words) in [
        ("discover: links, per byte", &WORDS[..0]),
        ("discover: links and 16 topic words, per byte", &WORDS[..]),
    ] {
        let mut frontier = full_frontier(tables);
        let mut sink = Sink::new(&mut frontier, base, words);
        meter.measure(name, size, size, &mut || read_links(page, &mut sink));
        found(sink.links.as_slice().len(), LINKS);
    }
    let mut frontier = full_frontier(tables);
    let mut sink = Sink::new(&mut frontier, base, &[]);
    read_links(page, &mut sink);
    for digest in core::mem::take(&mut sink.links).as_slice() {
        let _ = sink.frontier.offer(Candidate::new(*digest, 0, 0), 1);
    }
    meter.measure(
        "discover: links that are known, per byte",
        size,
        size,
        &mut || read_links(page, &mut sink),
    );
    found(sink.links.as_slice().len(), LINKS);
    write_markup(page);
    let mut frontier = full_frontier(tables);
    let mut sink = Sink::new(&mut frontier, base, &[]);
    meter.measure(
        "discover: links in much markup, per byte",
        size,
        size,
        &mut || read_links(page, &mut sink),
    );
    found(sink.links.as_slice().len(), CARDS);
}

/// What the page has earned that is the n-th best of so many: few have much, as on any web.
fn income(rank: u32, all: usize) -> f32 {
    0.2 + 0.05 * all as f32 / (rank + 1) as f32
}

/// What a probe knows of a page, where it looks for what must not be replaced, and for copies.
#[derive(Clone, Copy)]
struct Known {
    version: [u32; 2],
    is_kept: bool,
    _others: [u32; 13],
}

static KNOWN: ConstStaticCell<[Known; PLACES + 1]> = ConstStaticCell::new(
    [Known {
        version: [0; 2],
        is_kept: false,
        _others: [0; 13],
    }; PLACES + 1],
);

/// A candidate was looked at, takes the place of the least important page, and another one is
/// chosen: all that a probe decides of a replacement, in its order.
fn replace(frontier: &mut Frontier<'_>, known: &mut [Known]) -> bool {
    let Some([low, high]) = known.get(usize::from(SCOUT)).map(|own| own.version) else {
        return false;
    };
    let is_copy = |other: &&Known| {
        let [other_low, other_high] = other.version;
        low == other_low && high == other_high
    };
    if known.iter().filter(is_copy).any(|other| other.is_kept) {
        return false;
    }
    let least = frontier.least_from(1.0, |place| {
        let page = known.get(usize::from(place))?;
        (page.is_kept && page.version != [0; 2]).then_some(1.0)
    });
    let worth = frontier.bank().importance(SCOUT);
    let Some((place, least)) = least.filter(|(_, least)| frontier.is_better(worth, *least)) else {
        return false;
    };
    let _ = black_box(frontier.retire(place, Some((0, 1)), Verdict::Allowed));
    let Some((next, _)) = frontier.scout(Some(least)) else {
        return false;
    };
    frontier.admit(next, place, None).is_some()
}

fn count_decisions(meter: &mut InstructionMeter, tables: &mut Tables) {
    let known = KNOWN.take();
    for (place, page) in known.iter_mut().enumerate() {
        page.version = [place as u32 + 1, 7];
        page.is_kept = place < PLACES;
    }
    // An odd factor makes another order of the same numbers.
    let scattered = |place: u32| place.wrapping_mul(2_654_435_761) % PLACES as u32;
    let best_first = |place: u32| place;
    for (name, exploring, rank) in [
        (
            "discover: who gives way to whom",
            0.0,
            &scattered as &dyn Fn(u32) -> u32,
        ),
        (
            "discover: the same, the least important page last",
            0.0,
            &best_first,
        ),
        ("discover: the same, and whom to explore", 0.9, &scattered),
    ] {
        let settings = FrontierSettings {
            exploring,
            sightings: 0,
            ..FrontierSettings::DEFAULT
        };
        let mut frontier = tables.frontier(settings);
        for place in 0..PLACES as u32 {
            let digest = 1 + place.wrapping_mul(0x9e37_79b1);
            frontier.restore(place as u16, digest, income(rank(place), PLACES));
        }
        frontier.restore(SCOUT, u32::MAX, 1.0);
        for number in 0..CANDIDATES as u32 {
            let digest = 0x8000_0001 ^ number.wrapping_mul(0x85eb_ca6b);
            let mut candidate = Candidate::new(digest, 0, number);
            candidate.set_verdict(Verdict::Allowed);
            let _ = frontier.offer(candidate, number);
            if let Some(candidate) = frontier.candidates_mut().find_mut(digest) {
                let income = income(scattered(number), CANDIDATES);
                candidate.set_income(income, 0.3 * income);
            }
        }
        // So that exploring is owed.
        let _ = frontier.scout(Some(1.0));
        let mut is_replaced = false;
        meter.measure(name, PLACES as u32, 1, &mut || {
            is_replaced = replace(&mut frontier, known);
        });
        if !is_replaced {
            defmt::error!("nothing was replaced: {=str}", name);
            exit::failure();
        }
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

    count_links(&mut meter, tables, page);
    count_documents(&mut meter, page);
    count_decisions(&mut meter, tables);
    exit::success()
}
