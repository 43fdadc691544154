//! Page lists as people have them: plain URLs, spreadsheets' tables, sitemaps, OPML.

mod program;

use std::fs;
use std::path::PathBuf;

use program::{dunlin, refuses, text};

/// The URLs that a plan of this list names, in order.
fn urls(list: impl AsRef<[u8]>) -> Vec<String> {
    let plan = dunlin(
        &[
            "plan", "-", "--crawls", "10", "--assume", "1", "--format", "json",
        ],
        list.as_ref(),
    );
    assert_eq!(plan.status.code(), Some(0), "{}", text(&plan.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    let pages = plan["pages"].as_array().expect("pages");
    let url = |page: &serde_json::Value| page["url"].as_str().expect("a URL").to_owned();
    pages.iter().map(url).collect()
}

fn check(list: impl AsRef<[u8]>) -> String {
    let output = dunlin(&["check", "-"], list.as_ref());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_plain_list_needs_no_header() {
    let expected = ["http://a.test/", "https://b.test/x,y;z.html"];
    assert_eq!(
        urls("http://a.test/\nhttps://b.test/x,y;z.html\n"),
        expected
    );
    assert_eq!(
        urls("\u{feff}http://a.test/\r\n\r\nhttps://b.test/x,y;z.html"),
        expected
    );
    assert_eq!(
        urls("# mine\nhttp://a.test/\n  # later\nhttps://b.test/x,y;z.html"),
        expected
    );
    assert_eq!(urls("HTTP://a.test/\n\"http://b.test/a,2\"\n").len(), 2);
    // A table that lost its header is not a list of URLs that end in ",2".
    refuses(
        &["check", "-"],
        b"http://a.test/,2\n",
        "line 1: found \",2\" behind a URL, expected a URL alone: for more columns add a header line",
    );
    refuses(
        &["check", "-"],
        b"http://a.test/\nhttp://b.test/\tnews\n",
        "line 2: found \"\\tnews\"",
    );
}

#[test]
fn tables_come_from_spreadsheets() {
    let expected = ["http://a.test/", "http://b.test/"];
    for list in [
        "URL,Weight\nhttp://a.test/,2\nhttp://b.test/,1\n",
        "url;weight\nhttp://a.test/;2\nhttp://b.test/;1\n",
        "Url\tWeight\tChanges per day\nhttp://a.test/\t2\t1\nhttp://b.test/\t1\t\n",
        "name;URL\n\"Home; sweet\";http://a.test/\nNews, all;http://b.test/\n",
        "# from the old program\nurl,name\nhttp://a.test/,Home\n# http://c.test/,not now\nhttp://b.test/,News\n",
    ] {
        assert_eq!(urls(list), expected, "{list}");
    }
    let said = check("url\n# one\nhttp://a.test/\n# two\n");
    assert!(said.contains("1 page on 1 host, 2 comment lines"), "{said}");
}

#[test]
fn a_missing_header_is_said_as_what_to_add() {
    for list in [
        "example.org/\n",
        "1,http://a.test/\n",
        "page,http://a.test/\n",
    ] {
        refuses(&["check", "-"], list.as_bytes(), "line 1: found \"");
        refuses(&["check", "-"], list.as_bytes(), "add a header line `url`");
    }
    refuses(
        &["check", "-"],
        b"example.org/news\n",
        "expected a URL with http:// or https:// in front, or the names of columns",
    );
    refuses(
        &["check", "-"],
        b"PK\x03\x04 what Excel keeps",
        "found a spreadsheet or another zip file, expected text: save it as CSV (UTF-8)",
    );
    // A line number is the file's, comments included.
    refuses(
        &["check", "-"],
        b"# a\nurl\n# b\nftp://b.test/\n",
        "line 4, column 1 (url): found \"ftp://b.test/\"",
    );
}

#[test]
fn spaces_are_encoded_as_browsers_do() {
    let list = "url\nhttp://a.test/my page?q=a b#to p\n  http://a.test/2  \n";
    assert_eq!(
        urls(list),
        ["http://a.test/my%20page?q=a%20b#to%20p", "http://a.test/2"]
    );
    refuses(
        &["check", "-"],
        b"url\nhttp://a b.test/\n",
        "no space or control character",
    );
    // It is the same page.
    refuses(
        &["check", "-"],
        b"url\nhttp://a.test/my page\nhttp://a.test/my%20page\n",
        "line 3, column 1 (url)",
    );
}

/// A name in letters of its own is asked for, and goes into `Host`, as it is registered.
#[test]
fn international_names_are_encoded_as_browsers_do() {
    let list = "url\nhttp://Bücher.test:8080/ü\nhttp://пример.test/\nhttp://straße.test\n";
    assert_eq!(
        urls(list),
        [
            "http://xn--bcher-kva.test:8080/ü",
            "http://xn--e1afmkfd.test/",
            "http://xn--strae-oqa.test"
        ]
    );
    let said = check("http://bücher.test/\nhttp://a.test/ü\n");
    let expected = "1 URL was encoded as browsers do (spaces, international host names); \
        the first is line 1: http://xn--bcher-kva.test/\n";
    assert!(said.contains(expected), "{said}");
    // It is the same page.
    refuses(
        &["check", "-"],
        b"http://xn--bcher-kva.test/\nhttp://b\xc3\xbccher.test/\n",
        "each URL once (it stands on line 1 already)",
    );
    // A right-to-left mark alone is no name.
    refuses(
        &["check", "-"],
        "http://a\u{200f}.test/\n".as_bytes(),
        "expected a host name of letters that international names may have",
    );
    let hosts = concat!(env!("CARGO_TARGET_TMPDIR"), "/international-hosts.csv");
    std::fs::write(hosts, "host,politeness\nBücher.test,7s\n").expect("written");
    let output = dunlin(
        &["check", "-", "--hosts", hosts, "--format", "csv"],
        "http://bücher.test/\n".as_bytes(),
    );
    let said = text(&output.stdout);
    assert!(said.contains("xn--bcher-kva.test,7"), "{said}");
    assert!(!text(&output.stderr).contains("no page"), "{output:?}");
}

/// A URL that is typed is the page that a list means by it.
#[test]
fn urls_of_the_command_line_are_encoded_as_those_of_lists() {
    let asked = ["robots", "-", "http://bücher.test/a b", "--format", "csv"];
    let output = dunlin(&asked, b"");
    let said = text(&output.stdout);
    assert!(
        said.contains("http://xn--bcher-kva.test/a%20b"),
        "{output:?}"
    );
    // Nobody listens there, but the name is in the table.
    let asked = ["--resolve", "bücher.test=127.0.0.1", "--seconds", "2"];
    let asked = [&["run", "-"][..], &asked].concat();
    let output = dunlin(&asked, "url\nhttp://bücher.test:1/\n".as_bytes());
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(said.contains("no connection could be opened"), "{said}");
}

/// A list of another program has tags behind its URLs: they are not another page without a word.
#[test]
fn spaces_that_were_encoded_are_said() {
    let said = check("# mine\nhttp://a.test/my page\nhttp://a.test/2\nhttp://a.test/b tag, tag\n");
    let expected = "note: -: 2 URLs were encoded as browsers do (spaces, international host names); \
        the first is line 2: http://a.test/my%20page\n";
    assert!(said.contains(expected), "{said}");
    let said = check("url\nhttp://a.test/ page\n");
    assert!(said.contains("1 URL was encoded"), "{said}");
    let said = check("<urlset><url><loc>http://a.test/a b</loc></url></urlset>");
    assert!(said.contains("1 URL was encoded"), "{said}");
    assert!(!check("http://a.test/my%20page\n").contains("encoded"));
    let run = ["run", "-", "--seconds", "0"];
    let said = text(&dunlin(&run, b"http://a.test/my page\n").stderr);
    assert!(said.contains("1 URL was encoded"), "{said}");
    for list in [
        "https://a.test/ tag1, tag2\n",
        "http://a.test/\nhttp://b.test/x/ news\n",
    ] {
        let expected = "expected a URL alone, without tags behind a space";
        refuses(&["check", "-"], list.as_bytes(), expected);
    }
}

#[test]
fn an_update_beyond_the_interval_is_found_by_check() {
    let list = b"url,model,updates\nhttp://a.test/,quasi,25h:1\n";
    let expected =
        "http://a.test/: found an update at 90000 s, expected one within the interval of 86400 s";
    refuses(&["check", "-"], list, expected);
    let output = dunlin(&["check", "-", "--interval", "2d"], list);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn sitemaps_are_page_lists() {
    let map = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- <url><loc>http://no.test/</loc></url> -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc>http://a.test/?a=1&amp;b=2</loc><lastmod>2026-01-01</lastmod>
    <image:image><image:loc>http://a.test/picture.png</image:loc></image:image></url>
  <url>
    <loc> <![CDATA[http://a.test/?c=3&d=4]]> </loc>
  </url>
  <url><loc>http://b.test/&#x7e;me&#47;</loc></url>
  <url><loc>http://b.test/~me/</loc></url>
</urlset>"#;
    let expected = [
        "http://a.test/?a=1&b=2",
        "http://a.test/?c=3&d=4",
        "http://b.test/~me/",
    ];
    assert_eq!(urls(map), expected);
    assert!(check(map).contains("warning: -: 1 entries name a page that is there already"));
    let prefixed = "<s:urlset xmlns:s='x'><s:url><s:loc>http://a.test/</s:loc></s:url></s:urlset>";
    assert_eq!(urls(prefixed), ["http://a.test/"]);
}

#[test]
fn opml_is_a_page_list() {
    let opml = r#"<opml version="2.0"><head><title>Mine</title></head><body>
  <outline text="News &amp; more">
    <outline type="rss" text="A" title='A > B' xmlUrl="http://a.test/feed.xml" htmlUrl="http://a.test/"/>
    <outline text="B" htmlUrl="http://b.test/"/>
  </outline>
  <outline text="C" url="http://c.test/?x=1&amp;y=2"></outline>
</body></opml>"#;
    assert_eq!(
        urls(opml),
        [
            "http://a.test/feed.xml",
            "http://b.test/",
            "http://c.test/?x=1&y=2"
        ]
    );
}

#[test]
fn markup_that_is_something_else_is_refused() {
    let refused = |list: &str, expected: &str| refuses(&["check", "-"], list.as_bytes(), expected);
    refused(
        "<html><body>hello</body></html>",
        "found <html, expected a sitemap (<urlset>)",
    );
    refused("<sitemapindex></sitemapindex>", "found a list of sitemaps");
    refused(
        "<urlset><url><loc>ftp://a/</loc></url></urlset>",
        "found \"ftp://a/\"",
    );
    refused(
        "<urlset>\n<url>\n</urlset>",
        "line 3: found </urlset>, expected </url>",
    );
    refused("<urlset><url>", "the end of the file inside <url>");
    refused("<urlset", "the end of the file in a tag");
    refused(
        "<opml><outline xmlUrl=http://a/></opml>",
        "expected attributes such as xmlUrl=",
    );
    refuses(
        &["check", "-"],
        b"\x1f\x8b\x08\x00",
        "a compressed file (gzip)",
    );
    refuses(&["check", "-"], b"\xff\xfeu\0r\0l\0", "UTF-16");
    refuses(
        &["check", "-"],
        b"<urlset><url><loc>http://a/\xff</loc></url></urlset>",
        "UTF-8 text",
    );
}

/// Whatever a file claims, it costs no more than its length.
#[test]
fn hostile_markup_is_bounded() {
    let refused = |list: &[u8], expected: &str| refuses(&["check", "-"], list, expected);
    let laughs = r#"<!DOCTYPE urlset [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>
<urlset><url><loc>http://a.test/&b;</loc></url></urlset>"#;
    refused(
        laughs.as_bytes(),
        "entities that a file declares are not expanded",
    );
    refused(
        b"<!DOCTYPE urlset SYSTEM \"file:///etc/passwd\"><urlset><url><loc>http://a/&x;</loc></url></urlset>",
        "found the entity \"&x;\"",
    );
    refused(
        "<urlset>".repeat(100).as_bytes(),
        "elements more than 64 deep",
    );
    let long = "x".repeat(70_000);
    refused(
        format!("<urlset {long}").as_bytes(),
        "more than 65536 bytes",
    );
    refused(
        format!("<urlset><url><loc>{long}").as_bytes(),
        "more than 65536 bytes",
    );
    refused(
        format!("<urlset><url><loc><![CDATA[{long}").as_bytes(),
        "more than 65536 bytes",
    );
    // In small pieces, too.
    let pieces = "<loc>".to_owned() + &format!("{}<!-- -->", "x".repeat(1000)).repeat(70);
    refused(
        format!("<urlset><url>{pieces}").as_bytes(),
        "more than 65536 bytes",
    );
    refused(
        b"<urlset><url><loc>http://a/&#x110000;</loc>",
        "found the entity",
    );
    // Every beginning of a sound file is refused or read, and nothing else.
    let map =
        "<urlset a='1'><!-- c --><url><loc>http://a.test/&amp;<![CDATA[x]]></loc></url></urlset>";
    for end in 1..map.len() {
        let output = dunlin(&["check", "-"], &map.as_bytes()[..end]);
        assert_eq!(output.status.code(), Some(2), "{}", &map[..end]);
    }
    assert_eq!(urls(map), ["http://a.test/&x"]);
}

#[test]
fn a_host_without_a_page_is_a_warning() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let hosts = folder.join("idle-hosts.csv");
    let rows: String = (0..8).map(|host| format!("no{host}.test;1m\n")).collect();
    fs::write(&hosts, format!("Host;Politeness\n{rows}a.test;20s\n")).expect("written");
    let hosts = hosts.to_str().expect("a path");
    let output = dunlin(
        &["check", "-", "--hosts", hosts, "--format", "csv"],
        b"http://a.test/\n",
    );
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(
        said.contains("line 2: no page of the list is on \"no0.test\""),
        "{said}"
    );
    assert!(said.contains("and 3 more hosts"), "{said}");
    assert_eq!(said.lines().count(), 6, "{said}");
    let rows = text(&output.stdout);
    assert!(
        rows.lines()
            .nth(1)
            .is_some_and(|row| row.ends_with(",a.test,20")),
        "{rows}"
    );
}

#[test]
fn an_address_is_one_host_however_it_is_spelled() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let hosts = folder.join("hosts-by-ipv6.csv");
    fs::write(&hosts, "host,politeness\n[2001:0DB8:0::1],20s\n").expect("written");
    let hosts = hosts.to_str().expect("a path");
    let output = dunlin(
        &["check", "-", "--hosts", hosts, "--format", "csv"],
        b"http://[2001:db8::1]/1\nhttp://[2001:0db8::1]/2\nhttps://[2001:DB8:0:0::1]/3\n",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = text(&output.stdout);
    let row = rows.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("[2001:db8::1],3,"), "{rows}");
    assert!(row.ends_with(",[2001:db8::1],20"), "{rows}");
    assert_eq!(rows.lines().count(), 2, "{rows}");
}

#[test]
fn laws_that_a_probe_does_not_know_are_named_in_a_line() {
    let list = "url,model,changes_per_day,shape\nhttp://a.test/1,weibull,1,2\n\
        http://a.test/2,pareto,1,3\nhttp://a.test/3,poisson,1,\n";
    let said = check(list);
    let note = "note: 2 pages of model weibull or pareto: \
        a probe takes them for poisson pages of the same rate";
    assert_eq!(
        said.lines().filter(|line| *line == note).count(),
        1,
        "{said}"
    );
    let plain = check("url,changes_per_day\nhttp://a.test/1,1\n");
    assert!(!plain.contains("note:"), "{plain}");
}

#[test]
fn a_list_of_https_alone_needs_somebody_who_knows_the_date() {
    let note = "fetches nothing until it knows the date";
    let secure = check("url\nhttps://a.test/1\nhttps://b.test/2\n");
    let notes = secure.lines().filter(|line| line.contains(note));
    assert_eq!(notes.count(), 1, "{secure}");
    let mixed = check("url\nhttps://a.test/1\nhttp://b.test/2\n");
    assert!(!mixed.contains(note), "{mixed}");
}
