//! RSS, Atom and JSON feeds, beside feed-rs.

use dunlin::fetch::HttpDate;
use host_tests::discover::{FoundEntry, read_sitemap};
use proptest::prelude::*;

/// The items of a feed as feed-rs reads them: the first link, and the later of the two dates.
fn by_feed_rs(text: &str) -> Vec<FoundEntry> {
    let feed = feed_rs::parser::parse(text.as_bytes()).expect("a feed");
    let entry = |entry: &feed_rs::model::Entry| {
        let is_alternate =
            |link: &&feed_rs::model::Link| link.rel.as_deref().is_none_or(|rel| rel == "alternate");
        let link = entry.links.iter().find(is_alternate)?;
        let date = entry.updated.max(entry.published);
        let unix = date.map(|date| date.timestamp().unsigned_abs());
        Some((link.href.clone().into_bytes(), unix, false))
    };
    feed.entries.iter().filter_map(entry).collect()
}

#[derive(Clone, Debug)]
struct Item {
    url: String,
    updated: u64,
    published: Option<u64>,
    id: u32,
}

fn iso(unix: u64) -> String {
    let date = HttpDate::from_unix(unix).expect("a date").format();
    let date = String::from_utf8(date.to_vec()).expect("ASCII");
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.find(&date[8..11]).expect("a month") / 3 + 1;
    format!(
        "{}-{month:02}-{}T{}Z",
        &date[12..16],
        &date[5..7],
        &date[17..25]
    )
}

fn mail(unix: u64, style: u32) -> String {
    let date = HttpDate::from_unix(unix).expect("a date").format();
    let date = String::from_utf8(date.to_vec()).expect("ASCII");
    match style % 3 {
        0 => date,
        1 => date.replace("GMT", "+0000"),
        _ => date[5..].replace("GMT", "-0000"),
    }
}

fn rss(items: &[Item], style: u32) -> String {
    let mut text =
        String::from("<rss version='2.0'><channel><title>T</title><link>http://a.test/</link>");
    for item in items {
        let url = quick_xml::escape::escape(item.url.as_str()).into_owned();
        let date = mail(item.updated, style);
        text += &format!(
            "<item><title>{}</title><link>{url}</link><guid isPermaLink='false'>{}</guid>\
             <pubDate>{date}</pubDate></item>",
            item.id, item.id
        );
    }
    text + "</channel></rss>"
}

fn atom(items: &[Item], style: u32) -> String {
    let mut text = String::from(
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>T</title>\
         <updated>2000-01-01T00:00:00Z</updated><link rel='self' href='http://a.test/f'/>",
    );
    for item in items {
        let url = quick_xml::escape::escape(item.url.as_str()).into_owned();
        let mut links = [
            format!("<link href='{url}'/>"),
            "<link rel='edit' href='http://a.test/edit'/>".to_owned(),
        ];
        if style.is_multiple_of(2) {
            links.reverse();
        }
        let published = item.published.map(iso);
        let published = published.map(|date| format!("<published>{date}</published>"));
        text += &format!(
            "<entry><id>{}</id><title/>{}{}<updated>{}</updated></entry>",
            item.id,
            links.concat(),
            published.unwrap_or_default(),
            iso(item.updated)
        );
    }
    text + "</feed>"
}

fn json(items: &[Item], style: u32) -> String {
    let string = |text: &str| {
        let escaped: String = text
            .chars()
            .map(|letter| match letter {
                '/' if style.is_multiple_of(2) => "\\/".to_owned(),
                letter if !letter.is_ascii() || style.is_multiple_of(3) => {
                    let mut halves = [0; 2];
                    let halves = letter.encode_utf16(&mut halves);
                    halves.iter().map(|half| format!("\\u{half:04x}")).collect()
                }
                letter => letter.to_string(),
            })
            .collect();
        format!("\"{escaped}\"")
    };
    let item = |item: &Item| {
        let published = item.published.map(iso);
        let published = published.map(|date| format!("\"date_published\": \"{date}\","));
        format!(
            "{{\"id\": \"{}\", \"tags\": [\"a\", \"b\"], \"url\": {}, {}\
             \"content_text\": \"}} ] \\\" {{\", \"date_modified\": \"{}\"}}",
            item.id,
            string(&item.url),
            published.unwrap_or_default(),
            iso(item.updated)
        )
    };
    let items: Vec<String> = items.iter().map(item).collect();
    format!(
        "{{\"version\": \"https://jsonfeed.org/version/1\", \"title\": \"T\", \"items\": [{}]}}",
        items.join(",\n ")
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn feeds_hold_what_feed_rs_finds(
        parts in prop::collection::vec(
            ("http://a\\.test/[a-z0-9&=?é😀]{0,20}", 1_u64..4_000_000_000,
             prop::option::of(1_u64..4_000_000_000)), 0..12),
        style in 0_u32..6,
        size in 1_usize..70,
    ) {
        let items: Vec<Item> = parts
            .into_iter()
            .zip(0..)
            .map(|((url, updated, published), id)| Item { url, updated, published, id })
            .collect();
        for text in [rss(&items, style), atom(&items, style), json(&items, style)] {
            let (found, refused) = read_sitemap(text.as_bytes().chunks(size));
            let plain = |entries: Vec<FoundEntry>| -> Vec<FoundEntry> {
                // feed-rs brings URLs into their normal form.
                let normal = |url: &[u8]| {
                    let url = std::str::from_utf8(url).expect("UTF-8");
                    url::Url::parse(url).map_or(Vec::new(), |url| url.as_str().into())
                };
                entries.into_iter().map(|(url, date, index)| (normal(&url), date, index)).collect()
            };
            prop_assert_eq!(plain(found), plain(by_feed_rs(&text)), "{}", text);
            prop_assert_eq!(refused, None);
        }
    }
}

/// What the files of the corpus say, by hand.
#[test]
fn each_kind_of_feed_is_read() {
    let read = |text: &str| {
        let (found, refused) = read_sitemap([text.as_bytes()]);
        assert_eq!(refused, None);
        let plain = |(url, date, _): FoundEntry| (String::from_utf8(url).expect("UTF-8"), date);
        found.into_iter().map(plain).collect::<Vec<_>>()
    };
    let url = |text: &str| text.to_owned();
    assert_eq!(
        read(include_str!("../fuzz/corpus/feed/rss")),
        [
            (url("http://a.test/1"), Some(784_129_777)),
            (url("http://a.test/2?a=1&b=2"), Some(1_118_124_550)),
        ]
    );
    assert_eq!(
        read(include_str!("../fuzz/corpus/feed/rdf")),
        [(url("http://a.test/1"), None)]
    );
    // Relative to the feed, if it is; a source's date is not the entry's.
    assert_eq!(
        read(include_str!("../fuzz/corpus/feed/atom")),
        [
            (url("http://a.test/1"), Some(1_104_537_600)),
            (url("2"), Some(1_107_216_000)),
        ]
    );
    assert_eq!(
        read(include_str!("../fuzz/corpus/feed/json")),
        [
            (url("http://a.test/1"), Some(1_118_131_750)),
            (url("http://a.test/2"), Some(1_265_569_440)),
        ]
    );
    assert_eq!(
        read(include_str!("../fuzz/corpus/feed/deep")),
        [(url("http://a.test/4"), None)]
    );
}

#[test]
fn dates_are_read_as_people_spell_them() {
    let read = |text: &str| HttpDate::parse_any(text.as_bytes()).map(HttpDate::as_unix);
    for (text, unix) in [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sun, 06 Nov 1994 08:49:37 UT", 784_111_777),
        ("Sun, 6 Nov 1994 08:49 Z", 784_111_740),
        ("6 nov 94 08:49:37 +0000", 784_111_777),
        ("Sunday, 06 November 1994 00:49:37 PST", 784_111_777),
        ("Sun, 06 Nov 1994 09:49:37 +01:00", 784_111_777),
        ("Sun, 06 Nov 1994 10:49:37 GMT+0200", 784_111_777),
        ("Sun, 06 Nov 1994 08:49:37.5 +9900", 784_111_777),
        ("Son, 06 Nov 1994 08:49:37", 784_111_777),
        ("Nov 6, 1994 08:49:37 Local", 784_111_777),
        ("06 Nov 1994", 784_080_000),
        ("1994-11-06 08:49:37", 784_111_777),
        ("1994-11-06", 784_080_000),
    ] {
        assert_eq!(read(text), Some(unix), "{text}");
    }
    for text in [
        "",
        "now",
        "31 Feb 2000 00:00 GMT",
        "1 Jan 1969 00:00 GMT",
        "6 Nov 1994 25:00",
        "::",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}
