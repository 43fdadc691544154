//! Pages of what is kept: recent changes, a page's history, and what changed between two versions.
//!
//! They are made here, without a script, so that they work on a phone, by keyboard and in any
//! browser. What strangers wrote is text on them and nothing else: everything is escaped, and the
//! headers allow neither scripts nor pictures nor anything from elsewhere.

use std::fmt::Write as _;
use std::path::Path;

use super::request::Query;
use crate::archive::cdxj::Entry;
use crate::archive::compare::{self, Comparison, Pair};
use crate::archive::reader::Reader;
use crate::date;
use crate::error::Error;
use crate::filter::Filters;
use crate::news::Kind;
use crate::output::plot::escape;
use crate::told::message::Message;

/// Rows of a page; more would only slow a browser down.
const MOST_ROWS: usize = 500;
/// Letters of a line that are shown.
const LONGEST_LINE: usize = 2_000;
/// Lines of a comparison that are shown.
const MOST_LINES: usize = 2_000;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:72rem;padding:0 1rem;\
    color:#1b1f24;background:#fff;overflow-wrap:anywhere}a{color:#0b57d0}a:focus-visible,input:focus-visible,select:focus-visible,\
    button:focus-visible{outline:3px solid #0b57d0;outline-offset:2px}\
    table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;vertical-align:top;\
    border-bottom:1px solid #d0d7de;overflow-wrap:anywhere}\
    .diff td{font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;border:0;padding:.1rem .4rem}\
    .diff .n{color:#57606a;width:3rem;text-align:right;user-select:none}\
    del,ins{text-decoration:none;display:block}del{background:#ffe3e0;color:#1b1f24}ins{background:#d7f5dd;color:#1b1f24}\
    .quiet{color:#57606a}.bad{color:#b3261e}form{display:flex;gap:.6rem;flex-wrap:wrap;margin:1rem 0}\
    input,select,button{font:inherit;padding:.3rem .5rem;max-width:100%}ol{padding-left:1.2rem}li{margin:.4rem 0}\
    @media(max-width:40rem){.diff td{padding:.1rem .2rem}.diff .n{width:auto}}@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}a{color:#79b8ff}td,th{border-color:#30363d}\
    del{background:#5c1f1b;color:#e6edf3}ins{background:#12401f;color:#e6edf3}.quiet,.diff .n{color:#9aa4ae}.bad{color:#ff8a80}}";

fn document(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
        <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// A link within the site, which carries the token that let its reader in.
fn link(query: &Query, path: &str, arguments: &[(&str, &str)], text: &str) -> String {
    let mut target = path.to_owned();
    let token = query.get("token").map(|token| ("token", token));
    for (place, (name, value)) in arguments.iter().copied().chain(token).enumerate() {
        target.push(if place == 0 { '?' } else { '&' });
        let _ = write!(target, "{name}={}", encoded(value));
    }
    format!("<a href=\"{}\">{}</a>", escape(&target), escape(text))
}

/// A value as it stands in a query.
fn encoded(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn moment(unix: u64) -> String {
    let iso = date::iso(unix);
    format!("<time datetime=\"{iso}\">{}</time>", iso.replace('T', " "))
}

/// The latest changes and bad news, filtered by a word and an event.
pub fn changes(recent: &[Message], query: &Query, has_archive: bool) -> String {
    let word = query.get("q").unwrap_or_default().trim().to_lowercase();
    let event = query.get("event").unwrap_or_default();
    let wanted = |message: &&Message| {
        let text = message.text().to_lowercase();
        text.contains(&word) && (event.is_empty() || message.event.name() == event)
    };
    let rows: Vec<&Message> = recent.iter().filter(wanted).take(MOST_ROWS).collect();
    let mut body = filter(query, &word, event);
    let _ = writeln!(
        body,
        "<p class=\"quiet\" role=\"status\">{} of the last {}</p>",
        rows.len(),
        recent.len()
    );
    body.push_str("<table id=\"changes\">\n<tr><th scope=\"col\">When (UTC)</th><th scope=\"col\">What</th><th scope=\"col\">Page or host</th><th scope=\"col\">More</th></tr>\n");
    for message in rows {
        let class = if message.event.is_bad() { "bad" } else { "" };
        let about = message.name.as_deref().unwrap_or(message.about());
        let mut more = message.reason.as_deref().map_or_else(String::new, escape);
        if let Some(url) = message.url.as_deref().filter(|_| has_archive) {
            let to = date::digits(message.time);
            let pair = [("url", url), ("to", &to)];
            let changed = message.event == Kind::Changed;
            let shown = changed.then(|| link(query, "/diff", &pair, "what changed"));
            let history = link(query, "/history", &[("url", url)], "history");
            let _ = write!(more, " {} {history}", shown.unwrap_or_default());
        }
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td class=\"{class}\">{}</td><td>{}</td><td>{more}</td></tr>",
            moment(message.time),
            message.event.name(),
            escape(about)
        );
    }
    body.push_str("</table>\n");
    let _ = writeln!(
        body,
        "<p>{} · {}</p>",
        link(query, "/", &[], "live view"),
        link(query, "/changes.atom", &[], "as a feed")
    );
    document("Recent changes", &body)
}

/// The form that filters.
fn filter(query: &Query, word: &str, event: &str) -> String {
    let token = query.get("token").map_or_else(String::new, |token| {
        format!(
            "<input type=\"hidden\" name=\"token\" value=\"{}\">",
            escape(token)
        )
    });
    let choices: String = Kind::ALL
        .iter()
        .map(|kind| {
            let name = kind.name();
            let selected = if name == event { " selected" } else { "" };
            format!("<option{selected}>{name}</option>")
        })
        .collect();
    format!(
        "<form method=\"get\" action=\"/changes\">{token}<label>Search <input type=\"search\" name=\"q\" value=\"{}\"></label>\
        <label>Event <select name=\"event\"><option value=\"\">all</option>{choices}</select></label>\
        <button>Filter</button></form>\n",
        escape(word)
    )
}

/// A page's versions, latest first.
///
/// # Errors
/// The archive cannot be read.
pub fn history(archive: &Path, query: &Query) -> Result<String, Error> {
    let url = query.get("url").unwrap_or_default();
    let versions = Reader::open(archive)?.history(url)?;
    let mut body = format!(
        "<p>{}</p>\n<p class=\"quiet\">{} versions</p>\n<ol reversed id=\"timeline\">\n",
        escape(url),
        versions.len()
    );
    for (place, entry) in versions.iter().enumerate().rev().take(MOST_ROWS) {
        let status = entry
            .status
            .map_or_else(String::new, |status| status.to_string());
        let before = place.checked_sub(1).and_then(|place| versions.get(place));
        let compared = before.map_or_else(String::new, |before| against(query, url, before, entry));
        let _ = writeln!(
            body,
            "<li>{} <span class=\"quiet\">{status} {}</span> {compared}</li>",
            moment(entry.time),
            escape(&entry.media_type),
        );
    }
    let _ = writeln!(
        body,
        "</ol>\n<p>{}</p>",
        link(query, "/changes", &[], "recent changes")
    );
    Ok(document("History", &body))
}

fn against(query: &Query, url: &str, before: &Entry, entry: &Entry) -> String {
    let from = date::digits(before.time);
    let to = date::digits(entry.time);
    let arguments = [("url", url), ("from", &from), ("to", &to)];
    link(query, "/diff", &arguments, "what changed")
}

/// What changed between two versions, side by side or one below the other.
///
/// # Errors
/// The archive cannot be read.
pub fn diff(archive: &Path, query: &Query, filters: &Filters) -> Result<String, Error> {
    let url = query.get("url").unwrap_or_default();
    let moment_of = |name: &str| query.get(name).and_then(date::parse);
    let raw = query.get("raw").is_some();
    let side = query.get("view") == Some("side");
    let reader = Reader::open(archive)?;
    let versions = compare::versions(&reader, url)?;
    let mut body = format!("<p>{}</p>\n", escape(url));
    let pair = compare::pair(&versions, moment_of("from"), moment_of("to"));
    if let Some((old, new)) = pair {
        let found = compare::compare(&reader, old, new, raw, filters.get(url))?;
        let _ = writeln!(
            body,
            "<p>{} → {}: {} lines added, {} removed</p>",
            moment(old.time),
            moment(new.time),
            found.added,
            found.removed
        );
        let from = date::digits(old.time);
        let to = date::digits(new.time);
        let mut arguments = vec![("url", url), ("from", &*from), ("to", &*to)];
        let other_view = if side { "inline" } else { "side" };
        arguments.push(("view", if side { "side" } else { "inline" }));
        let text = match raw {
            true => link(query, "/diff", &arguments, "text only"),
            false => link(
                query,
                "/diff",
                &[&arguments[..], &[("raw", "1")]].concat(),
                "with markup",
            ),
        };
        arguments.pop();
        arguments.push(("view", other_view));
        if raw {
            arguments.push(("raw", "1"));
        }
        let name = if side {
            "one below the other"
        } else {
            "side by side"
        };
        let view = link(query, "/diff", &arguments, name);
        let _ = writeln!(body, "<p>{view} · {text}</p>");
        body.push_str(&table(&found, side));
    } else {
        let _ = writeln!(
            body,
            "<p>There are {} versions in the archive: no two at these times to compare.</p>",
            versions.len()
        );
    }
    let _ = writeln!(
        body,
        "<p>{} · {}</p>",
        link(query, "/history", &[("url", url)], "history"),
        link(query, "/changes", &[], "recent changes")
    );
    Ok(document("What changed", &body))
}

fn table(found: &Comparison, side: bool) -> String {
    let mut rows = String::from("<table class=\"diff\" id=\"diff\">\n");
    let mut shown = 0;
    for hunk in &found.hunks {
        for pair in hunk {
            shown += 1;
            if shown > MOST_LINES {
                rows.push_str("<tr><td colspan=\"4\">… and more</td></tr>\n</table>\n");
                return rows;
            }
            row(&mut rows, pair, side);
        }
        rows.push_str("<tr><td colspan=\"4\" class=\"quiet\">⋯</td></tr>\n");
    }
    rows + "</table>\n"
}

fn row(rows: &mut String, pair: &Pair, side: bool) {
    let number = |line: &Option<(usize, String)>| match line {
        Some((number, _)) => format!("<td class=\"n\">{number}</td>"),
        None => "<td class=\"n\"></td>".to_owned(),
    };
    let text = |line: &Option<(usize, String)>, tag: &str| match line {
        Some((_, text)) if pair.same => format!("<td>{}</td>", shown(text)),
        Some((_, text)) => format!("<td><{tag}>{}</{tag}></td>", shown(text)),
        None => "<td></td>".to_owned(),
    };
    let old = &pair.old;
    let new = &pair.new;
    if side {
        let left = text(old, "del");
        let right = text(new, "ins");
        let _ = writeln!(rows, "<tr>{}{left}{}{right}</tr>", number(old), number(new));
        return;
    }
    if !pair.same && old.is_some() {
        let _ = writeln!(
            rows,
            "<tr>{}{}{}</tr>",
            number(old),
            number(&None),
            text(old, "del")
        );
    }
    if !pair.same && new.is_some() {
        let _ = writeln!(
            rows,
            "<tr>{}{}{}</tr>",
            number(&None),
            number(new),
            text(new, "ins")
        );
    }
    if pair.same {
        let _ = writeln!(
            rows,
            "<tr>{}{}{}</tr>",
            number(old),
            number(new),
            text(new, "")
        );
    }
}

/// A line as it is shown: escaped, without control characters, and not without end.
fn shown(text: &str) -> String {
    let plain = |letter: char| match letter {
        '\t' => letter,
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    let cut: String = text.chars().take(LONGEST_LINE).map(plain).collect();
    let more = if text.len() > cut.len() && text.chars().nth(LONGEST_LINE).is_some() {
        "…"
    } else {
        ""
    };
    escape(&cut) + more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::message::message;

    fn query(text: &str) -> Query {
        Query::parse(text)
    }

    #[test]
    fn changes_are_filtered_and_nothing_on_the_page_is_markup() {
        let mut hostile = message(Kind::Changed, "http://a.test/\"><script>alert(1)</script>");
        hostile.name = Some("<img src=x onerror=alert(1)>".into());
        let recent = [hostile, message(Kind::Gone, "http://b.test/")];
        let page = changes(&recent, &query("token=abc&q=<b>"), true);
        assert!(page.contains("0 of the last 2") && page.contains("value=\"&lt;b&gt;\""));
        let page = changes(&recent, &query("token=abc"), true);
        assert!(
            !page.contains("<script") && !page.contains("<img"),
            "{page}"
        );
        let target = "/diff?url=http%3A%2F%2Fa.test%2F%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E\
            &amp;to=20261106212000&amp;token=abc";
        assert!(page.contains(target), "{page}");
        assert!(changes(&recent, &query("event=gone"), true).contains("1 of the last 2"));
        assert!(changes(&recent, &query("q=B.TEST"), false).contains("1 of the last 2"));
        assert!(
            !changes(&recent, &query(""), false).contains("/diff"),
            "no archive"
        );
    }

    #[test]
    fn a_line_of_a_page_is_text_and_has_an_end() {
        assert_eq!(shown("<b>\u{1b}\t&"), "&lt;b&gt;\u{fffd}\t&amp;");
        let long = "x".repeat(LONGEST_LINE + 1);
        assert_eq!(shown(&long).chars().count(), LONGEST_LINE + 1);
        assert!(shown(&long).ends_with('…'));
        assert!(!shown(&long[1..]).ends_with('…'));
    }
}
