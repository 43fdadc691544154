//! CDXJ: one line for each version, which says in which file it is, and where. Lines are sorted by
//! a key made of the URL, so that all versions of a page stand together; `pywb` reads them as well.

use serde::{Deserialize, Serialize};

use crate::date;

/// A version of a page, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was fetched, as Unix time in seconds.
    pub time: u64,
    /// The URL as it was asked for, not yet turned into a key.
    pub url: String,
    /// Its media type; `warc/revisit` if its body is that of an earlier record.
    pub media_type: String,
    /// Its status; `None` of a revisit without an answer of its own.
    pub status: Option<u16>,
    /// The digest of its body.
    pub digest: String,
    /// The name of the WARC file, in the archive's folder.
    pub file: String,
    /// Where in the file.
    pub offset: u64,
    /// How long it is there.
    pub length: u64,
}

/// The media type of a version whose body is elsewhere.
pub const REVISIT: &str = "warc/revisit";

/// The second half of a line; numbers are text, as others write them.
#[derive(Serialize, Deserialize)]
struct Fields {
    url: String,
    mime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    digest: String,
    length: String,
    offset: String,
    filename: String,
}

impl Entry {
    /// The line, without an end.
    pub fn line(&self) -> String {
        let fields = Fields {
            url: self.url.clone(),
            mime: self.media_type.clone(),
            status: self.status.map(|status| status.to_string()),
            digest: self.digest.clone(),
            length: self.length.to_string(),
            offset: self.offset.to_string(),
            filename: self.file.clone(),
        };
        let key = key(&self.url);
        let time = date::digits(self.time);
        // Text and nothing else: it has no way to fail.
        let fields = serde_json::to_string(&fields).unwrap_or_default();
        format!("{key} {time} {fields}")
    }

    /// Reads a line; `None` for what is none.
    pub fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(' ')?;
        let (time, fields) = rest.split_once(' ')?;
        let fields: Fields = serde_json::from_str(fields).ok()?;
        Some(Self {
            time: date::parse(time)?,
            url: fields.url,
            media_type: fields.mime,
            status: fields.status.and_then(|status| status.parse().ok()),
            digest: fields.digest,
            file: fields.filename,
            offset: fields.offset.parse().ok()?,
            length: fields.length.parse().ok()?,
        })
    }

    /// What comes after what: versions of one second in the order in which they were written.
    pub fn order(&self) -> (u64, &str, u64) {
        (self.time, &self.file, self.offset)
    }

    /// Does its record hold no body of its own?
    pub fn is_revisit(&self) -> bool {
        self.media_type == REVISIT
    }
}

/// The key of a URL: host reversed, everything in small letters, arguments sorted. Different URLs
/// may have the same one.
pub fn key(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let path = plain(path);
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => _ = steps.pop(),
            step => steps.push(step),
        }
    }
    let path = steps.join("/");
    let mut key = format!("{})/{path}", server(authority, scheme));
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        let query = plain(query);
        let mut arguments: Vec<&str> = query.split('&').collect();
        arguments.sort_unstable();
        key.push('?');
        key.push_str(&arguments.join("&"));
    }
    // What separates the parts of a line is none of the key.
    key.retain(|letter| !letter.is_whitespace() && !letter.is_control());
    key
}

/// The part of a key that stands for a server: `www.Example.org:8080` as `org,example:8080`.
fn server(authority: &str, scheme: &str) -> String {
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (authority, ""),
    };
    let host = host.trim_end_matches('.').to_lowercase();
    let usual = matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443"));
    let port = if usual {
        String::new()
    } else {
        format!(":{port}")
    };
    if let Some(inner) = host.strip_prefix('[') {
        return inner.trim_end_matches(']').to_owned() + &port;
    }
    let without_www = host.strip_prefix("www").and_then(|rest| {
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        rest.strip_prefix('.')
    });
    let mut parts: Vec<&str> = without_www.unwrap_or(&host).split('.').collect();
    parts.reverse();
    parts.join(",") + &port
}

/// In small letters, and encoded in one way only.
fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    // What was encoded several times is decoded as often; each time makes it shorter.
    loop {
        let decoded = decode(&bytes);
        if decoded.len() == bytes.len() {
            break;
        }
        bytes = decoded;
    }
    let mut out = String::new();
    for byte in bytes {
        match byte.to_ascii_lowercase() {
            byte if byte <= 0x20 || byte >= 0x7f || byte == b'#' || byte == b'%' => {
                out.push_str(&format!("%{byte:02x}"));
            }
            byte => out.push(byte.into()),
        }
    }
    out
}

/// Replaces what is encoded with percent signs, once.
pub fn decode(bytes: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| (*byte as char).to_digit(16);
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let coded = match after {
            [high, low, ..] if *first == b'%' => digit(high).zip(digit(low)),
            _ => None,
        };
        match coded {
            Some((high, low)) => {
                out.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_others_look_for() {
        for (url, expected) in [
            ("http://Example.org", "org,example)/"),
            ("http://www.example.org:80/A/b/", "org,example)/a/b"),
            (
                "https://www2.a.example.org:8080/?b=2&a=1#top",
                "org,example,a:8080)/?a=1&b=2",
            ),
            ("http://127.0.0.1:8080/x%20Y?", "1,0,0,127:8080)/x%20y"),
            ("http://[::1]:8080/x", "::1:8080)/x"),
            (
                "http://a.test/a//b/../c/.?a=%20b&&c",
                "test,a)/a/c?&a=%20b&c",
            ),
            ("http://a.test/%257Eme/%C3%A9", "test,a)/~me/%c3%a9"),
        ] {
            assert_eq!(key(url), expected, "{url}");
        }
    }

    #[test]
    fn a_line_comes_back_whatever_its_url_holds() {
        let entry = Entry {
            time: 1_794_000_000,
            url: "http://a.test/ \"}{\\ \n\u{2028}é?x y".into(),
            media_type: "text/html".into(),
            status: Some(200),
            digest: "sha1:X".into(),
            file: "a.warc.gz".into(),
            offset: 17,
            length: 3,
        };
        let line = entry.line();
        assert!(!line.contains('\n'));
        assert_eq!(Entry::parse(&line), Some(entry));
        for cut in (0..line.len()).filter(|cut| line.is_char_boundary(*cut)) {
            assert_eq!(Entry::parse(&line[..cut]), None);
        }
    }
}
