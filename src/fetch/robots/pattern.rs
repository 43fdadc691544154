//! Does a rule's pattern match a URL? (RFC 9309 §2.2.2 and §2.2.3)

use crate::fetch::percent::{Canonical, ENCODED, Token};
use crate::fetch::url::Url;

/// Marks a reserved character in a query, where `:` and `%3A` are two spellings of one thing.
const EITHER: Token = 0x200;

/// The path and query of a URL, as patterns see them.
#[derive(Clone, Debug)]
pub(super) struct Subject<'a> {
    tokens: Canonical<'a>,
    in_query: bool,
}

impl<'a> Subject<'a> {
    pub(super) fn of(url: &Url<'a>) -> Self {
        Self {
            tokens: url.canonical(),
            in_query: false,
        }
    }
}

impl Iterator for Subject<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.next()?;
        let octet = token as u8;
        Some(match octet {
            // In a pattern these two are special, and mean themselves only behind a `%`.
            b'*' | b'$' => ENCODED | token,
            _ if self.in_query && b":/?[]@!'(),;".contains(&octet) => EITHER | Token::from(octet),
            _ => {
                self.in_query |= token == Token::from(b'?');
                token
            }
        })
    }
}

/// Does the pattern match from the start of the subject on? `*` stands for anything, `$` at the end
/// for the end.
///
/// Only the last `*` is ever tried again, so the work is at most the product of both lengths, and
/// for patterns without `*` their minimum.
// One copy: it is called for every rule there is.
#[inline(never)]
pub(super) fn matches(pattern: &[u8], mut subject: Subject<'_>) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut pattern = Canonical::new(pattern);
    let mut last_star: Option<(Canonical<'_>, Subject<'_>)> = None;
    loop {
        let here = pattern.next();
        let there = subject.clone().next();
        let fits = match (here, there) {
            (Some(STAR), _) => {
                last_star = Some((pattern.clone(), subject.clone()));
                continue;
            }
            (None, None) => return true,
            (None, Some(_)) => !anchored,
            // With nothing left to match, trying the star again cannot help.
            (Some(_), None) => return false,
            (Some(here), Some(there)) => same(here, there),
        };
        match (fits, &mut last_star) {
            (true, _) if here.is_none() => return true,
            (true, _) => _ = subject.next(),
            (false, None) => return false,
            (false, Some((after_star, resume))) => {
                _ = resume.next();
                pattern = after_star.clone();
                subject = resume.clone();
            }
        }
    }
}

const STAR: Token = b'*' as Token;
const DOLLAR: Token = b'$' as Token;

fn same(pattern: Token, subject: Token) -> bool {
    if subject & EITHER != 0 {
        return pattern as u8 == subject as u8;
    }
    // `$` that is not at the end is only a dollar.
    subject
        == if pattern == DOLLAR {
            ENCODED | DOLLAR
        } else {
            pattern
        }
}

/// The octets that decide which of several matching rules wins: those of the pattern in canonical
/// form.
pub(super) fn octets(pattern: &[u8]) -> u16 {
    let mut tokens = Canonical::new(pattern);
    let mut octets = 0_u16;
    loop {
        let before = tokens.text;
        let Some(token) = tokens.next() else {
            return octets;
        };
        let escaped =
            token & ENCODED != 0 && (before.first() == Some(&b'%') || token as u8 >= 0x80);
        octets = octets.saturating_add(if escaped { 3 } else { 1 });
    }
}
