//! robots.txt as a stream: bytes in, in any pieces; the rules of our group out (RFC 9309 §2.1 and
//! §2.2).

use super::RuleSink;
use crate::fetch::ascii::{same, trimmed};
use crate::fetch::exchange::Body;
use crate::fetch::number::decimal;
use crate::fetch::response::Head;
use crate::time::Duration;

/// Longest line that is read whole. No real rule is longer; one that is errs to disallow.
const WINDOW: usize = 512;
/// Steps in one go, a byte or a comparison each. The dearest, between escapes and behind a star,
/// takes 250 instructions of a Cortex-M4F and 293 of a Cortex-M0+: less than 100,000 in all.
const TURN: u32 = 336;
/// Steps for a whole file. An honest one of 500 KiB takes a twentieth of them for 32 pages.
const FILE: u32 = 100_000_000;

/// One `Allow` or `Disallow` line of our group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'a> {
    /// Whether it allows, or else disallows.
    pub allow: bool,
    /// The pattern as written. Never empty.
    pub pattern: &'a [u8],
    /// The line was longer than the window: this is only the beginning of a disallow pattern, and
    /// wins over any allow.
    pub cut: bool,
    /// The number of its line in the file, counted from 1.
    pub line: u32,
}

/// Reads a robots.txt of any size through a window of 512 bytes and hands the rules that are ours
/// to a sink.
///
/// Which group is ours is certain only at the end: until a group with our name appears, those for
/// `*` count; then the sink is told to start over. Lines are accepted as people write them: any
/// line end, a byte-order mark, a forgotten colon, the usual misspellings. Records other than rules
/// and Crawl-delay are passed over and end nothing (RFC 9309 §2.2.4).
///
/// Work per byte is constant, per rule what the sink needs. As the body of a response it lets
/// others have a turn after 336 steps. A file that takes more than 100 million is given up, and the
/// sink allows nothing.
///
/// ```
/// use dunlin::fetch::Url;
/// use dunlin::fetch::robots::{Judge, RobotsReader};
///
/// let mut reader = RobotsReader::new("dunlin", Judge::new(Url::parse("http://a/private/x")?));
/// reader.update(b"User-agent: *\nDisallow: /pri");
/// reader.update(b"vate/\nCrawl-delay: 2.5\n");
/// let (judge, crawl_delay) = reader.finish();
/// assert!(!judge.ruling().allowed);
/// assert_eq!(crawl_delay.unwrap().as_millis(), 2_500);
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RobotsReader<'a, S> {
    progress: Progress<'a>,
    sink: S,
}

impl<'a, S: RuleSink> RobotsReader<'a, S> {
    /// A reader for the given agent: its product token, see
    /// [`Agent::token`](crate::fetch::Agent::token).
    pub fn new(agent: &'a str, sink: S) -> Self {
        let groups = Groups {
            agent: product_token(agent),
            ours: false,
            everyone: false,
            naming: false,
            ever_ours: false,
            crawl_delay: None,
        };
        let progress = Progress {
            lines: Lines::new(),
            groups,
            waits: false,
            steps: TURN,
            left: FILE,
        };
        Self { progress, sink }
    }

    /// Takes the next bytes of the file.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.progress.read(&mut bytes, &mut self.sink);
        }
    }

    /// The file ended: the sink, and the Crawl-delay of our group.
    pub fn finish(mut self) -> (S, Option<Duration>) {
        while !self.progress.end_line(&mut self.sink) {}
        (self.sink, self.progress.groups.crawl_delay)
    }
}

/// Reads what a successful response brings; the pages that come with errors are not robots.txt, and
/// what was compressed unasked cannot be read.
impl<S: RuleSink> Body for RobotsReader<'_, S> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
        if bytes.is_empty() {
            return self.progress.end_line(&mut self.sink);
        }
        if (200..300).contains(&head.status) && !head.encoded {
            self.progress.read(bytes, &mut self.sink);
            return bytes.is_empty();
        }
        true
    }
}

/// How far a file has been read. Apart from the sink, so that there is one copy of the code for all
/// kinds of sinks.
#[derive(Clone, Debug)]
struct Progress<'a> {
    lines: Lines,
    groups: Groups<'a>,
    /// The line at hand has ended, and the sink has not dealt with it yet.
    waits: bool,
    /// Steps that are left of this turn, and of the file's.
    steps: u32,
    left: u32,
}

impl Progress<'_> {
    /// Reads bytes until the steps of a turn are used up. The end of a line is read when its rule
    /// has been dealt with.
    fn read(&mut self, bytes: &mut &[u8], sink: &mut dyn RuleSink) {
        while let [byte, rest @ ..] = *bytes {
            if self.steps == 0 {
                self.steps = TURN;
                return;
            }
            self.steps -= 1;
            if (self.waits || self.lines.push(*byte)) && !self.end_line(sink) {
                return;
            }
            *bytes = rest;
        }
    }

    /// Deals with the line at hand; false if that takes another turn. Nobody reads the lines of a
    /// file that was given up.
    fn end_line(&mut self, sink: &mut dyn RuleSink) -> bool {
        self.waits = false;
        if self.left > 0 {
            let before = self.steps;
            self.waits = !self.groups.line(&self.lines, sink, &mut self.steps);
            let used = before.saturating_sub(self.steps) + self.lines.len as u32;
            self.left = self.left.saturating_sub(used);
            if self.left == 0 {
                sink.give_up();
            }
        }
        if self.waits {
            self.steps = TURN;
        } else {
            self.lines.next();
        }
        !self.waits
    }
}

/// Cuts bytes into lines.
#[derive(Clone, Debug)]
struct Lines {
    window: [u8; WINDOW],
    len: usize,
    /// The line at hand does not fit.
    long: bool,
    number: u32,
    after_cr: bool,
    /// Bytes of the byte-order mark seen, 3 when none can come any more.
    mark: u8,
}

impl Lines {
    const fn new() -> Self {
        Self {
            window: [0; WINDOW],
            len: 0,
            long: false,
            number: 1,
            after_cr: false,
            mark: 0,
        }
    }

    /// Takes a byte; true if it ended a line.
    fn push(&mut self, byte: u8) -> bool {
        if let Some(expected) = b"\xef\xbb\xbf".get(usize::from(self.mark)) {
            if byte == *expected {
                self.mark += 1;
                return false;
            }
            self.mark = 3;
        }
        let second_half = self.after_cr && byte == b'\n';
        self.after_cr = byte == b'\r';
        if matches!(byte, b'\r' | b'\n') {
            return !second_half;
        }
        match self.window.get_mut(self.len) {
            Some(slot) => {
                *slot = byte;
                self.len += 1;
            }
            None => self.long = true,
        }
        false
    }

    fn next(&mut self) {
        self.len = 0;
        self.long = false;
        self.number = self.number.saturating_add(1);
    }

    /// The line without its comment, and whether more of it was cut off than comment.
    fn line(&self) -> (&[u8], bool) {
        let line = self.window.get(..self.len).unwrap_or_default();
        match line.iter().position(|byte| *byte == b'#') {
            Some(comment) => (line.get(..comment).unwrap_or_default(), false),
            None => (line, self.long),
        }
    }
}

/// Knows which lines are ours.
#[derive(Clone, Debug)]
struct Groups<'a> {
    agent: &'a str,
    /// The group at hand is for our agent.
    ours: bool,
    /// The group at hand is for `*`.
    everyone: bool,
    /// The last record was a user-agent line: another one joins the same group.
    naming: bool,
    ever_ours: bool,
    crawl_delay: Option<Duration>,
}

impl Groups<'_> {
    /// Reads a line; false if the sink has to be offered its rule again.
    fn line(&mut self, lines: &Lines, sink: &mut dyn RuleSink, steps: &mut u32) -> bool {
        let (line, cut) = lines.line();
        let Some((key, value)) = split(line) else {
            return true;
        };
        match Key::of(key) {
            Key::Agent => self.agent(value, sink),
            Key::Rule { allow } => {
                self.naming = false;
                // A cut-off allow pattern would allow too much.
                if self.counts() && !value.is_empty() && !(allow && cut) {
                    let rule = Rule {
                        allow,
                        pattern: value,
                        cut,
                        line: lines.number,
                    };
                    return sink.rule(&rule, steps);
                }
            }
            Key::CrawlDelay => {
                self.naming = false;
                if self.counts() {
                    self.crawl_delay = self.crawl_delay.max(seconds(value));
                }
            }
            Key::Other => {}
        }
        true
    }

    fn counts(&self) -> bool {
        self.ours || self.everyone && !self.ever_ours
    }

    fn agent(&mut self, value: &[u8], sink: &mut dyn RuleSink) {
        if !self.naming {
            self.ours = false;
            self.everyone = false;
        }
        self.naming = true;
        if matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..]) {
            self.everyone = true;
        } else if !self.agent.is_empty() && same(token(value), self.agent.as_bytes()) {
            self.ours = true;
            if !self.ever_ours {
                self.ever_ours = true;
                self.crawl_delay = None;
                sink.restart();
            }
        }
    }
}

/// What a line is about.
#[derive(Clone, Copy)]
enum Key {
    Agent,
    Rule { allow: bool },
    CrawlDelay,
    Other,
}

impl Key {
    fn of(name: &[u8]) -> Self {
        match KEYS.iter().find(|(known, _)| same(name, known.as_bytes())) {
            Some((_, key)) => *key,
            None => Self::Other,
        }
    }
}

/// Keys as they should be written, and as they are.
const KEYS: &[(&str, Key)] = &[
    ("user-agent", Key::Agent),
    ("useragent", Key::Agent),
    ("user agent", Key::Agent),
    ("allow", Key::Rule { allow: true }),
    ("disallow", Key::Rule { allow: false }),
    ("dissallow", Key::Rule { allow: false }),
    ("dissalow", Key::Rule { allow: false }),
    ("disalow", Key::Rule { allow: false }),
    ("diasllow", Key::Rule { allow: false }),
    ("disallaw", Key::Rule { allow: false }),
    ("crawl-delay", Key::CrawlDelay),
    ("crawldelay", Key::CrawlDelay),
];

/// `key: value`, or two words whose colon was forgotten.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = trimmed(line);
    let colon = line.iter().position(|byte| *byte == b':');
    let at = colon.or_else(|| line.iter().position(u8::is_ascii_whitespace))?;
    let key = trimmed(line.get(..at)?);
    let value = trimmed(line.get(at + 1..)?);
    (colon.is_some() || !value.iter().any(u8::is_ascii_whitespace)).then_some((key, value))
}

/// The part of an agent's name that is compared: letters, `-` and `_` up to anything else, such as
/// a version.
pub(crate) fn product_token(name: &str) -> &str {
    name.get(..token(name.as_bytes()).len()).unwrap_or(name)
}

fn token(name: &[u8]) -> &[u8] {
    let legal = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let end = name
        .iter()
        .position(|byte| !legal(byte))
        .unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

/// Seconds with decimals, to the millisecond; `None` if it is no number. Too large a number is the
/// largest.
fn seconds(value: &[u8]) -> Option<Duration> {
    let point = value
        .iter()
        .position(|byte| *byte == b'.')
        .unwrap_or(value.len());
    let whole = value.get(..point)?;
    let fraction = value.get(point + 1..).unwrap_or_default();
    // `.5` and `5.` are numbers, a lone point is none.
    let whole = if whole.is_empty() && !fraction.is_empty() {
        0
    } else {
        decimal(whole)?
    };
    if !fraction.is_empty() {
        decimal(fraction)?;
    }
    let mut millis = 0;
    for place in 0..3 {
        millis = millis * 10 + u64::from(fraction.get(place).map_or(0, |digit| digit - b'0'));
    }
    Some(Duration::from_secs(whole) + Duration::from_millis(millis))
}
