//! Sitemaps as we read them, beside quick-xml.

use dunlin::fetch::HttpDate;
use host_tests::discover::{FoundEntry, read_sitemap, read_xml};
use host_tests::fuzz::{TARGETS, run};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;

/// What quick-xml reads; `None` if it finds a mistake, or something that we do not expand.
fn by_quick_xml(text: &str) -> Option<Vec<String>> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut found = Vec::new();
    let mut pending = String::new();
    let mut depth = 0;
    loop {
        let event = reader.read_event().ok()?;
        if matches!(event, Event::Start(_) | Event::End(_)) && !pending.is_empty() {
            let trimmed = pending.trim_matches([' ', '\t', '\n', '\r']);
            if !trimmed.is_empty() {
                found.push(trimmed.to_owned());
            }
            pending.clear();
        }
        match event {
            Event::Start(start) => {
                depth += 1;
                let name = start.name().as_ref().to_owned();
                found.push(format!("<{name}>"));
                for attribute in start.attributes() {
                    let attribute = attribute.ok()?;
                    let key = attribute.key.as_ref().to_owned();
                    let raw = attribute.value.to_string();
                    let value = unescape(&raw).ok()?.into_owned();
                    found.push(format!("{key}={value}"));
                }
            }
            Event::End(end) => {
                depth -= 1;
                let name = end.name().as_ref().to_owned();
                found.push(format!("</{name}>"));
            }
            Event::Text(text) => pending += text.as_ref(),
            Event::GeneralRef(reference) => {
                let name = reference.as_ref().to_owned();
                pending += &unescape(&format!("&{name};")).ok()?;
            }
            Event::CData(data) => pending += data.as_ref(),
            // Who ends a document type is not the same for mistakes in it.
            Event::DocType(_) => return None,
            Event::Eof => return (depth == 0).then_some(found),
            _ => {}
        }
    }
}

fn compare(text: &str) {
    // A byte-order mark is the sitemap reader's business.
    let text = text.trim_start_matches('\u{feff}');
    // Names are cut after 32 bytes, and quick-xml takes names that XML does not have.
    let is_fair = |event: &String| {
        let is_tag = event.starts_with('<');
        let name = event.trim_start_matches("</").trim_start_matches('<');
        let name = if is_tag {
            name
        } else {
            name.split('=').next().unwrap_or_default()
        };
        let is_odd = name.contains(['/', '<', '=', '"', '\'', '&']);
        event.len() < 30 && !(is_odd && (is_tag || event.contains('=')))
    };
    let fair = |events: &Vec<String>| events.iter().all(is_fair);
    if let Some(expected) = by_quick_xml(text).filter(fair) {
        assert_eq!(read_xml([text.as_bytes()]), expected, "{text}");
    }
}

fn words() -> &'static [&'static str] {
    let target = TARGETS.iter().find(|(name, ..)| *name == "sitemap");
    target.map_or(&[], |(.., words)| words)
}

#[test]
fn mutated_documents_hold_what_quick_xml_finds() {
    run(
        "sitemap",
        |data| compare(&String::from_utf8_lossy(data)),
        words(),
        3,
        20_000,
    );
}

fn sitemap(entries: &[(String, Option<u64>)], style: u32) -> String {
    let mut text = String::from("<?xml version='1.0'?><urlset>\n");
    for (loc, lastmod) in entries {
        let escaped = match style % 3 {
            0 => quick_xml::escape::escape(loc.as_str()).into_owned(),
            1 => format!("<![CDATA[{loc}]]>"),
            _ => loc
                .chars()
                .map(|letter| format!("&#{};", letter as u32))
                .collect(),
        };
        let date = lastmod.map(|unix| {
            let date = HttpDate::from_unix(unix).expect("a date").format();
            let date = String::from_utf8(date.to_vec()).expect("ASCII");
            let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
            let month = months.find(&date[8..11]).expect("a month") / 3 + 1;
            format!(
                "<lastmod>{}-{month:02}-{}T{}Z</lastmod>",
                &date[12..16],
                &date[5..7],
                &date[17..25]
            )
        });
        let date = date.unwrap_or_default();
        text +=
            &format!("  <url><!-- x --><loc> {escaped}\n</loc>{date}<priority>1</priority></url>");
    }
    text + "</urlset>"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn generated_documents_hold_what_quick_xml_finds(
        parts in prop::collection::vec(prop::sample::select(words()), 0..40)
    ) {
        compare(&parts.concat());
    }

    #[test]
    fn what_was_listed_is_read(
        entries in prop::collection::vec(
            ("http://a\\.test/[a-z&é<]{0,20}", prop::option::of(0_u64..4_000_000_000)), 0..20),
        style in 0_u32..3,
        size in 1_usize..70,
    ) {
        let text = sitemap(&entries, style);
        let expected: Vec<FoundEntry> = entries
            .iter()
            .map(|(loc, lastmod)| (loc.clone().into_bytes(), *lastmod, false))
            .collect();
        let (found, refused) = read_sitemap(text.as_bytes().chunks(size));
        prop_assert_eq!(found, expected);
        prop_assert_eq!(refused, None);
    }
}

#[test]
fn what_is_no_sitemap_is_refused_with_a_reason() {
    let (found, refused) = read_sitemap([&b"\x1f\x8b\x08\0"[..]]);
    assert!(found.is_empty());
    assert_eq!(
        refused.as_deref(),
        Some("document is compressed: expected plain XML, JSON or text")
    );
    let (_, refused) = read_sitemap([&b"<html><url><loc>x</loc></url></html>"[..]]);
    assert!(refused.is_some_and(|why| why.contains("<urlset>")));
}

/// Nothing that a document defines is expanded, so none grows.
#[test]
fn entities_of_the_document_stay_as_they_are_written() {
    let bomb = "<!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>\
        <urlset><url><loc>&b;</loc></url></urlset>";
    let (found, _) = read_sitemap([bomb.as_bytes()]);
    assert_eq!(found, [(b"&b;".to_vec(), None, false)]);
}

#[test]
fn timestamps_are_read_in_every_precision() {
    let read = |text: &str| HttpDate::parse_timestamp(text.as_bytes()).map(HttpDate::as_unix);
    for (text, unix) in [
        ("1970", 0),
        ("1970-02", 2_678_400),
        ("1970-01-02", 86_400),
        ("1970-01-01T01:00Z", 3_600),
        ("1970-01-01T01:00:05+01:00", 5),
        ("1970-01-01T00:00:05.25-00:30", 1_805),
        (" 2004-10-01T18:23:17+00:00 ", 1_096_654_997),
    ] {
        assert_eq!(read(text), Some(unix), "{text}");
    }
    for text in [
        "",
        "70",
        "1970-1-1",
        "1970-13-01",
        "1970-02-30",
        "1970-01-01T25:00Z",
        "1970-01-01T00:00+01:00",
        "now",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

/// What a document type says in quotes is no document, and ends nothing.
#[test]
fn a_document_type_ends_behind_what_it_quotes() {
    let text = "<!DOCTYPE urlset SYSTEM 'x><urlset><url><loc>http://evil.test/</loc></url>' [\
                <!ENTITY e \">\"> ]><urlset><url><loc>http://a.test/b</loc></url></urlset>";
    let (found, refused) = read_sitemap([text.as_bytes()]);
    let urls: Vec<_> = found.into_iter().map(|(url, ..)| url).collect();
    assert_eq!((urls, refused), (vec![b"http://a.test/b".to_vec()], None));
}
