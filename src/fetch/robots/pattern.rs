//! Does a rule's pattern match a URL? (RFC 9309 §2.2.2 and §2.2.3)

use crate::fetch::percent::{Canonical, ENCODED, Token};
use crate::fetch::url::Url;

/// Marks a reserved character in a query, where `:` and `%3A` are two spellings of one thing.
const EITHER: Token = 0x200;

/// Steps that one comparison may take, for each byte of the pattern and the URL. A pattern whose
/// stars must be tried again and again takes more only if it was made for that.
const MOST_STEPS: u32 = 16;

/// The path and query of a URL, as patterns see them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    text: &'a [u8],
    /// A `/` comes before the text: the one that `http://a?q` leaves out.
    slash: bool,
}

impl<'a> Subject<'a> {
    pub(super) const fn of(url: &Url<'a>) -> Self {
        let text = url.path_and_query().as_bytes();
        Self {
            text,
            slash: !matches!(text, [b'/', ..]),
        }
    }

    pub(super) fn is_robots_txt(&self) -> bool {
        self.text == b"/robots.txt"
    }

    /// The token at a place, and where the next one is.
    fn token(&self, at: Place) -> Option<(Token, u16)> {
        if self.slash && at.subject == 0 {
            return Some((b'/'.into(), 1));
        }
        let before = u16::from(self.slash);
        let (token, next) = token(self.text, at.subject - before)?;
        let octet = token as u8;
        let token = match octet {
            // In a pattern these two are special, and mean themselves only behind a `%`.
            b'*' | b'$' => ENCODED | token,
            _ if at.in_query && b":/?[]@!'(),;".contains(&octet) => EITHER | Token::from(octet),
            _ => token,
        };
        Some((token, next + before))
    }
}

/// The token of a text at a place, and where the next one is.
fn token(text: &[u8], at: u16) -> Option<(Token, u16)> {
    let rest = text.get(usize::from(at)..)?;
    let mut tokens = Canonical::new(rest);
    let token = tokens.next()?;
    Some((token, at + (rest.len() - tokens.text.len()) as u16))
}

/// How far a comparison has come.
#[derive(Clone, Copy, Debug)]
struct Place {
    pattern: u16,
    subject: u16,
    in_query: bool,
}

impl Place {
    const START: Self = Self {
        pattern: 0,
        subject: 0,
        in_query: false,
    };

    fn pass(&mut self, token: Token, next: u16) {
        self.subject = next;
        self.in_query |= token == Token::from(b'?');
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
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    here: Place,
    /// Where to go on from the last `*` if what follows it does not fit.
    star: Option<Place>,
    spent: u32,
}

impl Progress {
    /// A comparison that has not begun.
    pub(super) const NEW: Self = Self {
        here: Place::START,
        star: None,
        spent: 0,
    };

    /// Does the pattern match from the start of the subject on? `*` stands for anything, `$` at the
    /// end for the end. `None` if there were too few steps; then go on with the same two.
    ///
    /// Plain bytes that are the same on both sides are passed over together: most patterns need
    /// nothing else. From the first escape or `*` on, a step compares one octet. Only the last `*`
    /// is ever tried again.
    // One copy: it is called for every rule there is.
    #[inline(never)]
    pub(super) fn go_on(
        &mut self,
        pattern: &[u8],
        subject: &Subject<'_>,
        steps: &mut u32,
    ) -> Option<Match> {
        if *steps == 0 {
            return None;
        }
        let (pattern, anchored) = match pattern {
            [rest @ .., b'$'] => (rest, true),
            _ => (pattern, false),
        };
        if self.spent == 0 {
            let found = self.begin(pattern, anchored, subject);
            *steps = steps.saturating_sub(self.spent);
            if found.is_some() {
                return found;
            }
        }
        let most = MOST_STEPS * (pattern.len() + subject.text.len() + 1) as u32;
        while self.spent < most {
            *steps = steps.checked_sub(1)?;
            self.spent += 1;
            let here = token(pattern, self.here.pattern);
            let there = subject.token(self.here);
            match (here, there) {
                (Some((STAR, next)), _) => {
                    self.here.pattern = next;
                    self.star = Some(self.here);
                    continue;
                }
                (None, None) => return Some(Match::Yes),
                (None, Some(_)) if !anchored => return Some(Match::Yes),
                (Some((here, next)), Some((there, then))) if same(here, there) => {
                    self.here.pattern = next;
                    self.here.pass(there, then);
                    continue;
                }
                // With nothing left to match, trying the star again cannot help.
                (Some(_), None) => return Some(Match::No),
                _ => {}
            }
            // It does not fit here: the last star takes one octet more.
            let star = self.star.as_mut();
            let next = star.and_then(|star| Some((subject.token(*star)?, star)));
            let Some(((token, next), star)) = next else {
                return Some(Match::No);
            };
            star.pass(token, next);
            self.here = *star;
        }
        Some(Match::TooCostly)
    }

    /// Passes over what is plain and the same on both sides. Decides, unless an escape or a `*`
    /// comes behind it.
    fn begin(&mut self, pattern: &[u8], anchored: bool, subject: &Subject<'_>) -> Option<Match> {
        self.spent = 2;
        if subject.slash {
            return None;
        }
        let same = |(here, there): &(&u8, &u8)| here == there && !matches!(here, b'%' | b'*');
        let common = pattern.iter().zip(subject.text).take_while(same).count();
        self.spent += common as u32 / 4;
        match (pattern.get(common), subject.text.get(common)) {
            (None, there) if !anchored || there.is_none() => Some(Match::Yes),
            (Some(b'*' | b'%'), _) | (_, Some(b'%')) => {
                let passed = subject.text.get(..common).unwrap_or_default();
                self.here = Place {
                    pattern: common as u16,
                    subject: common as u16,
                    in_query: passed.contains(&b'?'),
                };
                None
            }
            // Two plain bytes that differ are never the same octet.
            _ => Some(Match::No),
        }
    }
}

/// May the pattern match from the start of the subject on? True for one that is too costly.
pub(super) fn matches(pattern: &[u8], subject: &Subject<'_>) -> bool {
    let mut progress = Progress::NEW;
    let mut steps = u32::MAX;
    progress.go_on(pattern, subject, &mut steps) != Some(Match::No)
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
