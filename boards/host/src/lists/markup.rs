//! Page lists in XML, as other programs keep them: sitemaps, and the OPML of feed readers.
//!
//! The file is read once, a tag at a time: memory is bounded by the longest tag or text allowed,
//! whatever the file's size. Entities that a file declares itself are refused, not expanded.

use std::io::BufRead;
use std::path::Path;

use crate::error::{Error, InputError, quoted};
use crate::lists::table_file::MAX_LINE;

/// The longest tag or text accepted, in bytes.
const MAX_TOKEN: usize = MAX_LINE;
/// How deep elements may be nested. A sitemap needs three, folders of feeds a handful.
const MAX_DEPTH: usize = 64;

/// A page that the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkupEntry {
    /// The line on which its URL ends, counted from 1.
    pub line: u64,
    /// The URL as it stands there.
    pub url: String,
    /// The title, if the file gives one.
    pub name: Option<String>,
}

/// Hands every page of a sitemap or an OPML file to `each`, in order.
///
/// # Errors
/// The first thing wrong with the file, or the first error of `each`.
pub fn read(
    file: &str,
    input: impl BufRead,
    mut each: impl FnMut(MarkupEntry) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut scanner = Scanner::new(file, input);
    let mut open: Vec<String> = Vec::new();
    let mut address = String::new();
    while let Some(token) = scanner.next()? {
        match token {
            Token::Open { tag, closed } => {
                let name = scanner.name(&tag)?;
                if open.is_empty() {
                    scanner.check_root(name)?;
                }
                if name == "outline" {
                    outline(&scanner, &tag, &mut each)?;
                }
                if closed {
                    continue;
                }
                if open.len() == MAX_DEPTH {
                    let found = format!("elements more than {MAX_DEPTH} deep");
                    return Err(scanner.wrong(found, "a sitemap or OPML"));
                }
                address.clear();
                open.push(name.to_owned());
            }
            Token::Close(name) => {
                if open.last() != Some(&name) {
                    let found = format!("</{name}>");
                    let expected = open.last().map_or("<".into(), |name| format!("</{name}>"));
                    return Err(scanner.wrong(found, &expected));
                }
                // Pictures in a sitemap have a `loc`, too, inside of their own element.
                if open.ends_with(&["url".into(), "loc".into()]) {
                    each(MarkupEntry {
                        line: scanner.line,
                        url: address.trim().to_owned(),
                        name: None,
                    })?;
                }
                open.pop();
            }
            Token::Text(text) => {
                if open.last().is_some_and(|name| name == "loc") {
                    scanner.fits(address.len() + text.len())?;
                    address += &text;
                }
            }
        }
    }
    match open.last() {
        Some(name) => Err(scanner.wrong(
            format!("the end of the file inside <{name}>"),
            "its end tag",
        )),
        None => Ok(()),
    }
}

/// A line of OPML: a feed, a page, or a folder, which has no address of its own.
fn outline(
    scanner: &Scanner<'_, impl BufRead>,
    tag: &str,
    each: &mut impl FnMut(MarkupEntry) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut addresses: [Option<String>; 3] = [None, None, None];
    let mut names: [Option<String>; 2] = [None, None];
    for (name, value) in attributes(tag).map_err(|found| scanner.wrong(found, ATTRIBUTES))? {
        let value = || Some(scanner.unescape(value)).transpose();
        match name {
            // A feed changes whenever its site does, and is smaller.
            "xmlUrl" => addresses[0] = value()?,
            "htmlUrl" => addresses[1] = value()?,
            "url" => addresses[2] = value()?,
            "title" => names[0] = value()?,
            "text" => names[1] = value()?,
            _ => {}
        }
    }
    let filled = |text: &String| !text.trim().is_empty();
    let Some(url) = addresses.into_iter().flatten().find(filled) else {
        return Ok(());
    };
    each(MarkupEntry {
        line: scanner.line,
        url: url.trim().to_owned(),
        name: names.into_iter().flatten().find(filled),
    })
}

const ATTRIBUTES: &str = "attributes such as xmlUrl=\"…\"";

/// What stands in a tag behind its name: names and values, which are not unescaped yet.
fn attributes(tag: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut found = Vec::new();
    let mut rest = tag
        .split_once(|c: char| c.is_ascii_whitespace())
        .map_or("", |(_, rest)| rest)
        .trim_start();
    while !rest.is_empty() {
        let wrong = || quoted(rest);
        let (name, behind) = rest.split_once('=').ok_or_else(wrong)?;
        let behind = behind.trim_start();
        let quote = behind
            .chars()
            .next()
            .filter(|c| ['"', '\''].contains(c))
            .ok_or_else(wrong)?;
        let (value, behind) = behind[1..].split_once(quote).ok_or_else(wrong)?;
        found.push((name.trim(), value));
        rest = behind.trim_start();
    }
    Ok(found)
}

/// One piece of the file.
enum Token {
    /// What stands between `<` and `>`, and whether `/` ends it.
    Open { tag: String, closed: bool },
    /// The name of the element that ends, without its prefix.
    Close(String),
    /// Text, with its entities replaced.
    Text(String),
}

struct Scanner<'a, R> {
    file: &'a str,
    input: R,
    line: u64,
}

impl<'a, R: BufRead> Scanner<'a, R> {
    fn new(file: &'a str, input: R) -> Self {
        Self {
            file,
            input,
            line: 1,
        }
    }

    fn next(&mut self) -> Result<Option<Token>, Error> {
        loop {
            match self.byte()? {
                None => return Ok(None),
                Some(b'<') => {}
                Some(first) => return self.text(first).map(Some),
            }
            match self.byte()? {
                Some(b'?') => self.skip(b"?>")?,
                Some(b'!') => {
                    if let Some(text) = self.declaration()? {
                        return Ok(Some(text));
                    }
                }
                Some(b'/') => {
                    let tag = self.tag(None)?;
                    return Ok(Some(Token::Close(self.name(&tag)?.to_owned())));
                }
                Some(first) => {
                    let mut tag = self.tag(Some(first))?;
                    let closed = tag.ends_with('/');
                    if closed {
                        tag.pop();
                    }
                    return Ok(Some(Token::Open { tag, closed }));
                }
                None => return Err(self.wrong("the end of the file behind <".into(), "a tag")),
            }
        }
    }

    /// Behind `<!`: a comment or a document type is passed over, raw text handed out.
    fn declaration(&mut self) -> Result<Option<Token>, Error> {
        let mut begin = Vec::new();
        while !begin.starts_with(b"--") {
            match self.byte()? {
                Some(b'>') => return Ok(None),
                Some(b'[') if begin.is_empty() => {
                    let opening = self.until(b'[')?;
                    if opening != "CDATA" {
                        return Err(self.wrong(format!("<![{}", quoted(&opening)), "<![CDATA["));
                    }
                    return self.raw_text().map(Some);
                }
                Some(b'[') => {
                    let expected = "none: entities that a file declares are not expanded";
                    return Err(self.wrong("a document type with declarations".into(), expected));
                }
                Some(byte) => {
                    begin.push(byte);
                    self.fits(begin.len())?;
                }
                None => return Err(self.wrong("the end of the file behind <!".into(), "its end")),
            }
        }
        self.skip(b"-->")?;
        Ok(None)
    }

    fn raw_text(&mut self) -> Result<Token, Error> {
        let mut text = Vec::new();
        while !text.ends_with(b"]]>") {
            match self.byte()? {
                Some(byte) => text.push(byte),
                None => return Err(self.wrong("the end of the file in raw text".into(), "]]>")),
            }
            self.fits(text.len())?;
        }
        text.truncate(text.len() - 3);
        self.utf8(text).map(Token::Text)
    }

    fn text(&mut self, first: u8) -> Result<Token, Error> {
        let mut text = vec![first];
        while let Some(byte) = self.peek()?.filter(|byte| *byte != b'<') {
            self.byte()?;
            text.push(byte);
            self.fits(text.len())?;
        }
        let text = self.utf8(text)?;
        self.unescape(&text).map(Token::Text)
    }

    /// What stands before the next `>` that is not inside of quotes.
    fn tag(&mut self, first: Option<u8>) -> Result<String, Error> {
        let mut tag: Vec<u8> = first.into_iter().collect();
        let mut quote = None;
        loop {
            let Some(byte) = self.byte()? else {
                return Err(self.wrong("the end of the file in a tag".into(), ">"));
            };
            match byte {
                b'>' if quote.is_none() => break,
                b'"' | b'\'' if quote.is_none() => quote = Some(byte),
                _ if quote == Some(byte) => quote = None,
                _ => {}
            }
            tag.push(byte);
            self.fits(tag.len())?;
        }
        self.utf8(tag)
    }

    fn until(&mut self, end: u8) -> Result<String, Error> {
        let mut text = Vec::new();
        loop {
            match self.byte()? {
                Some(byte) if byte == end => return self.utf8(text),
                Some(byte) => text.push(byte),
                None => return self.utf8(text),
            }
            self.fits(text.len())?;
        }
    }

    /// Passes over everything up to `end`, however long it is.
    fn skip(&mut self, end: &[u8]) -> Result<(), Error> {
        let mut last = Vec::new();
        while last != end {
            let Some(byte) = self.byte()? else {
                let expected = String::from_utf8_lossy(end).into_owned();
                return Err(self.wrong("the end of the file".into(), &expected));
            };
            if last.len() == end.len() {
                last.remove(0);
            }
            last.push(byte);
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>, Error> {
        let file = Path::new(self.file);
        let bytes = self.input.fill_buf();
        let bytes = bytes.map_err(|source| Error::reading(file, source))?;
        Ok(bytes.first().copied())
    }

    fn byte(&mut self) -> Result<Option<u8>, Error> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.input.consume(1);
        }
        self.line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// The name of a tag, without the prefix that says where it is defined.
    fn name<'t>(&self, tag: &'t str) -> Result<&'t str, Error> {
        let name = tag.split_ascii_whitespace().next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        if name.is_empty() {
            return Err(self.wrong("a tag without a name".into(), "<name>"));
        }
        Ok(name)
    }

    fn check_root(&self, name: &str) -> Result<(), Error> {
        match name {
            "urlset" | "opml" => Ok(()),
            "sitemapindex" => Err(self.wrong(
                "a list of sitemaps".into(),
                "one of the sitemaps that it names: fetch those",
            )),
            _ => Err(self.wrong(
                format!("<{}", quoted(name).trim_matches('"')),
                "a sitemap (<urlset>), OPML (<opml>), or a table: a header line `url`, then one page a line",
            )),
        }
    }

    /// Text without its entities. Only those that every XML file has are known.
    fn unescape(&self, text: &str) -> Result<String, Error> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('&') {
            out += before;
            let (name, behind) = behind.split_once(';').unwrap_or((behind, ""));
            out.push(entity(name).ok_or_else(|| {
                let found = format!("the entity {}", quoted(&format!("&{name};")));
                self.wrong(
                    found,
                    "&amp;, &lt;, &gt;, &quot;, &apos; or a number such as &#38;",
                )
            })?);
            rest = behind;
        }
        Ok(out + rest)
    }

    fn utf8(&self, bytes: Vec<u8>) -> Result<String, Error> {
        String::from_utf8(bytes).map_err(|error| {
            let found = quoted(&String::from_utf8_lossy(error.as_bytes()));
            self.wrong(found, "UTF-8 text")
        })
    }

    fn fits(&self, length: usize) -> Result<(), Error> {
        if length <= MAX_TOKEN {
            return Ok(());
        }
        let found = format!("a tag or text of more than {MAX_TOKEN} bytes");
        Err(self.wrong(found, &format!("at most {MAX_TOKEN}")))
    }

    fn wrong(&self, found: String, expected: &str) -> Error {
        InputError {
            file: self.file.to_owned(),
            line: self.line,
            column: None,
            found,
            expected: expected.to_owned(),
        }
        .into()
    }
}

fn entity(name: &str) -> Option<char> {
    let number = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            decimal => number(decimal, 10),
        },
    }
}
