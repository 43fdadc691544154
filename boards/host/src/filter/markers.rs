//! Two markers and what stands between them, as lists write them: `from…to`.

use dunlin::fetch::{Ignore, Select};

/// Bytes of a marker at most: the probe counts them in a byte.
const LONGEST: usize = 200;

/// What opens and what closes a stretch of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markers {
    /// Opens the stretch; not empty.
    pub from: String,
    /// The text that closes the stretch.
    pub to: String,
}

impl Markers {
    /// What a list has to say to name markers.
    pub const EXPECTED: &'static str = "markers such as <main>…</main> or <main>...</main>, of at most 200 bytes, the first not empty";

    /// Reads `from…to`. For `…`, three dots may stand; before a `…` that is meant as it is, a
    /// backslash. `None` if these are no markers.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = split(text, '…');
        let (from, to) = match parts.as_slice() {
            [from, to] => (from.clone(), to.clone()),
            [one] => {
                let (from, to) = one.split_once("...")?;
                (from.to_owned(), to.to_owned())
            }
            _ => return None,
        };
        let fits = !from.is_empty() && from.len().max(to.len()) <= LONGEST;
        fits.then_some(Self { from, to })
    }

    /// Reads several, separated by `|`; before a `|` that is meant as it is, a backslash.
    pub fn parse_several(text: &str) -> Option<Vec<Self>> {
        split(text, '|')
            .iter()
            .map(|part| Self::parse(part))
            .collect()
    }

    /// As a list has them: what [`parse`](Self::parse) reads.
    pub fn written(&self) -> String {
        let [from, to] = [&self.from, &self.to].map(|marker| marker.replace('…', "\\…"));
        format!("{from}…{to}")
    }

    /// As the crate takes what is ignored.
    pub fn as_ignore(&self) -> Ignore<'_> {
        Ignore {
            from: self.from.as_bytes(),
            to: self.to.as_bytes(),
        }
    }

    /// As the crate takes what is selected.
    pub fn as_select(&self) -> Select<'_> {
        Select {
            from: self.from.as_bytes(),
            to: self.to.as_bytes(),
        }
    }

    /// All stretches between them, without the markers.
    pub fn between<'b>(&self, body: &'b [u8]) -> Vec<&'b [u8]> {
        let mut stretches = Vec::new();
        let mut rest = body;
        while let Some(start) = find(rest, self.from.as_bytes()) {
            rest = &rest[start + self.from.len()..];
            let end = match self.to.is_empty() {
                true => None,
                false => find(rest, self.to.as_bytes()),
            };
            let (stretch, after) = match end {
                Some(end) => (&rest[..end], &rest[end + self.to.len()..]),
                None => (rest, &rest[rest.len()..]),
            };
            stretches.push(stretch);
            rest = after;
        }
        stretches
    }
}

/// A body without what stands between markers, and how many stretches that were: by the rules of
/// [`dunlin::fetch::Fingerprinter`].
pub fn without(body: &[u8], ignore: &[Markers]) -> (Vec<u8>, usize) {
    let mut kept = Vec::with_capacity(body.len());
    let mut count = 0;
    let mut since = 0;
    let mut at = 0;
    while at < body.len() {
        kept.push(body[at]);
        at += 1;
        let opened = ignore
            .iter()
            .find(|markers| body[since..at].ends_with(markers.from.as_bytes()));
        let Some(markers) = opened else { continue };
        count += 1;
        let longest = usize::from(Ignore::LONGEST);
        let stretch = &body[at..body.len().min(at + longest)];
        let to = markers.to.as_bytes();
        match find(stretch, to).filter(|_| !to.is_empty()) {
            Some(end) => {
                kept.extend_from_slice(to);
                at += end + to.len();
            }
            None => at += stretch.len(),
        }
        since = at;
    }
    (kept, count)
}

/// Where a marker begins.
fn find(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    let first = *marker.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(marker) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The parts of a text between separators that no backslash precedes. Other backslashes stay.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = parts.len() - 1;
        if letter == '\\' && letters.peek() == Some(&separator) {
            letters.next();
            parts[last].push(separator);
        } else if letter == separator {
            parts.push(String::new());
        } else {
            parts[last].push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin::fetch::Fingerprinter;

    fn markers(text: &str) -> Markers {
        Markers::parse(text).expect("markers")
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for text in ["<main>…</main>", "seen...", r"a\…b…c", r"x|y…\z"] {
            assert_eq!(markers(&markers(text).written()), markers(text), "{text}");
        }
    }

    #[test]
    fn markers_are_read_as_lists_write_them() {
        let pair = |from: &str, to: &str| Markers {
            from: from.into(),
            to: to.into(),
        };
        assert_eq!(markers("<a>…</a>"), pair("<a>", "</a>"));
        assert_eq!(markers("<a>...</a>"), pair("<a>", "</a>"));
        assert_eq!(markers(r"a\…b…c\d"), pair("a…b", r"c\d"));
        assert_eq!(markers("from…"), pair("from", ""));
        for wrong in ["", "a", "…b", "a…b…c", &format!("{}…", "a".repeat(201))] {
            assert_eq!(Markers::parse(wrong), None, "{wrong}");
        }
        let several = Markers::parse_several(r"a…b|c\|d…e").expect("two");
        assert_eq!(several, [pair("a", "b"), pair("c|d", "e")]);
        assert_eq!(Markers::parse_several("a…b|"), None);
    }

    #[test]
    fn stretches_are_what_stands_between() {
        let found = |text: &str, body: &'static str| -> Vec<&str> {
            let stretches = markers(text).between(body.as_bytes());
            let text = |bytes| std::str::from_utf8(bytes).expect("text");
            stretches.into_iter().map(text).collect()
        };
        assert_eq!(found("<…>", "a<b>c<d>e<f"), ["b", "d", "f"]);
        assert_eq!(found("<…", "a<b<c"), ["b<c"]);
        assert_eq!(found("aab…b", "aaabcbb"), ["c"]);
        assert_eq!(found("<…>", "abc"), [""; 0]);
    }

    #[test]
    fn what_is_left_has_the_fingerprint_that_the_probe_takes() {
        let sets = [
            vec![markers("ab…ba")],
            vec![markers("aab…a"), markers("b…")],
            vec![markers("abcab…cc"), markers("bca…ab")],
        ];
        let mut seed = 26_u64;
        for round in 0..2_000 {
            let mut body = vec![0; if round % 50 == 0 { 9_000 } else { 60 }];
            for byte in &mut body {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = b'a' + (seed >> 33) as u8 % 3;
            }
            for ignore in &sets {
                let of = |bytes: &[u8], ignore: &[Ignore<'_>]| {
                    let mut hasher = Fingerprinter::new(&[1; 16], ignore);
                    hasher.update(bytes);
                    hasher.finish()
                };
                let stretches: Vec<_> = ignore.iter().map(Markers::as_ignore).collect();
                let (left, _) = without(&body, ignore);
                assert_eq!(of(&left, &[]), of(&body, &stretches), "{round}");
            }
        }
    }
}
