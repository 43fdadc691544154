//! Does a rule's pattern match a URL? (RFC 9309 §2.2.2 and §2.2.3)

use crate::fetch::percent::{Canonical, CanonicalOctet, ENCODED};
use crate::fetch::url::Url;

/// Marks a reserved character in a query, where `:` and `%3A` are two spellings of one thing.
const EITHER: CanonicalOctet = 0x200;

/// Steps that one comparison may take, for each byte of the pattern and the URL. A pattern whose
/// stars must be tried again and again takes more only if it was made for that.
const MOST_STEPS: u32 = 16;

/// The path and query of a URL, as patterns see them, from some place on.
#[derive(Clone, Debug)]
pub(super) struct Subject<'a> {
    /// What is yet to come.
    text: &'a [u8],
    /// A `/` comes first: the one that an empty path leaves out. (These two are not a
    /// [`Canonical`], because there are three subjects in a judge, each of which would be a word
    /// larger.)
    slash: bool,
    in_query: bool,
}

impl<'a> Subject<'a> {
    pub(super) const fn of(url: &Url<'a>) -> Self {
        let text = url.path_and_query().as_bytes();
        let slash = !matches!(text, [b'/', ..]);
        Self {
            text,
            slash,
            in_query: false,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn is_robots_txt(&self) -> bool {
        self.text == b"/robots.txt"
    }

    /// What plain bytes decide, which is most: until an escape or a `*` comes, two that differ are
    /// never the same octet.
    fn begins_with(&self, pattern: &[u8], anchored: bool) -> Option<Match> {
        if self.slash {
            return None;
        }
        let text = self.text;
        let same = |(here, there): &(&u8, &u8)| here == there && !matches!(here, b'%' | b'*');
        let common = pattern.iter().zip(text).take_while(same).count();
        match (pattern.get(common), text.get(common)) {
            (Some(b'*' | b'%'), _) | (_, Some(b'%')) => None,
            (None, there) if !anchored || there.is_none() => Some(Match::Yes),
            _ => Some(Match::No),
        }
    }
}

impl Iterator for Subject<'_> {
    type Item = CanonicalOctet;

    fn next(&mut self) -> Option<CanonicalOctet> {
        let mut tokens = Canonical {
            text: self.text,
            slash: self.slash,
        };
        let token = tokens.next()?;
        self.text = tokens.text;
        self.slash = tokens.slash;
        let octet = token as u8;
        Some(match octet {
            // In a pattern these two are special, and mean themselves only behind a `%`.
            b'*' | b'$' => ENCODED | token,
            _ if self.in_query && b":/?[]@!'(),;".contains(&octet) => {
                EITHER | CanonicalOctet::from(octet)
            }
            _ => {
                self.in_query |= token == CanonicalOctet::from(b'?');
                token
            }
        })
    }
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// It was given up: the pattern needs too many steps.
    TooCostly,
}

/// A comparison that may be interrupted at any step.
#[derive(Clone, Debug)]
pub(super) struct Progress<'a> {
    /// What is left of the subject …
    subject: Subject<'a>,
    /// … and of the pattern, in bytes.
    left: usize,
    /// Where to go on from the last `*` if what follows it does not fit.
    star: Option<(usize, Subject<'a>)>,
    spent: u32,
}

impl<'a> Progress<'a> {
    /// A comparison that has not begun.
    pub(super) const fn new(subject: Subject<'a>) -> Self {
        Self {
            subject,
            left: usize::MAX,
            star: None,
            spent: 0,
        }
    }

    /// Does the pattern match from the start of a subject of `length` bytes on? `*` stands for
    /// anything, `$` at the end for the end. `None` if there were too few steps; then go on with
    /// the same pattern.
    ///
    /// Only the last `*` is ever tried again.
    // One copy: it is called for every rule there is.
    #[inline(never)]
    pub(super) fn go_on(
        &mut self,
        pattern: &[u8],
        length: usize,
        steps: &mut u32,
    ) -> Option<Match> {
        let (pattern, anchored) = match pattern {
            [rest @ .., b'$'] => (rest, true),
            _ => (pattern, false),
        };
        if self.spent == 0
            && let Some(found) = self.subject.begins_with(pattern, anchored)
        {
            *steps = steps.saturating_sub(1 + pattern.len() as u32 / 8);
            return Some(found);
        }
        let last = |left: usize| {
            let start = pattern.len().saturating_sub(left);
            Canonical::new(pattern.get(start..).unwrap_or_default())
        };
        let most = MOST_STEPS * (pattern.len() + length) as u32;
        let mut rest = last(self.left);
        while self.spent < most {
            if *steps == 0 {
                self.left = rest.text.len();
                return None;
            }
            *steps -= 1;
            self.spent += 1;
            let before = self.subject.clone();
            match (rest.next(), self.subject.next()) {
                (Some(STAR), _) => {
                    self.subject = before.clone();
                    self.star = Some((rest.text.len(), before));
                    continue;
                }
                (None, None) => return Some(Match::Yes),
                (None, Some(_)) if !anchored => return Some(Match::Yes),
                // With nothing left to match, trying the star again cannot help.
                (Some(_), None) => return Some(Match::No),
                (Some(here), Some(there)) if same(here, there) => continue,
                _ => {}
            }
            // It does not fit here: the last star takes one octet more.
            let Some((left, subject)) = &mut self.star else {
                return Some(Match::No);
            };
            _ = subject.next();
            self.subject = subject.clone();
            rest = last(*left);
        }
        Some(Match::TooCostly)
    }
}

/// May the pattern match from the start of the subject on? True for one that is too costly.
pub(super) fn matches(pattern: &[u8], subject: Subject<'_>) -> bool {
    let length = subject.len();
    let mut steps = u32::MAX;
    Progress::new(subject).go_on(pattern, length, &mut steps) != Some(Match::No)
}

const STAR: CanonicalOctet = b'*' as CanonicalOctet;
const DOLLAR: CanonicalOctet = b'$' as CanonicalOctet;

fn same(pattern: CanonicalOctet, subject: CanonicalOctet) -> bool {
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
