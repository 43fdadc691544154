//! Does a rule's pattern match a URL? (RFC 9309 §2.2.2 and §2.2.3)

use crate::fetch::percent::{Canonical, ENCODED, Token};
use crate::fetch::url::Url;

/// Marks a reserved character in a query, where `:` and `%3A` are two spellings of one thing.
const EITHER: Token = 0x200;

/// The path and query of a URL, as patterns see them.
pub(super) fn subject<'a>(url: &Url<'a>) -> impl Iterator<Item = Token> + Clone + use<'a> {
    url.canonical().scan(false, |in_query, token| {
        let octet = token as u8;
        let token = match octet {
            // In a pattern these two are special, and mean themselves only behind a `%`.
            b'*' | b'$' => ENCODED | token,
            b':' | b'/' | b'?' | b'[' | b']' | b'@' | b'!' | b'\'' | b'(' | b')' | b',' | b';'
                if *in_query =>
            {
                EITHER | Token::from(octet)
            }
            _ => token,
        };
        *in_query |= token == Token::from(b'?');
        Some(token)
    })
}

/// Does the pattern match from the start of the subject on? `*` stands for anything, `$` at the end for the end.
///
/// Only the last `*` is ever tried again, so the work is at most the product of both lengths, and for patterns
/// without `*` their minimum.
pub(super) fn matches<S: Iterator<Item = Token> + Clone>(pattern: &[u8], mut subject: S) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut pattern = Canonical(pattern);
    let mut last_star: Option<(Canonical<'_>, S)> = None;
    loop {
        let (here, there) = (pattern.next(), subject.clone().next());
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
                (pattern, subject) = (after_star.clone(), resume.clone());
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
    subject == if pattern == DOLLAR { ENCODED | DOLLAR } else { pattern }
}

/// The octets that decide which of several matching rules wins: those of the pattern in canonical form.
pub(super) fn octets(pattern: &[u8]) -> u16 {
    let mut tokens = Canonical(pattern);
    let mut octets = 0_u16;
    loop {
        let before = tokens.0;
        let Some(token) = tokens.next() else { return octets };
        let escaped = token & ENCODED != 0 && (before.first() == Some(&b'%') || token as u8 >= 0x80);
        octets = octets.saturating_add(if escaped { 3 } else { 1 });
    }
}
