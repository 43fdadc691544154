//! Bytes in, log lines out. Whatever happens to the bytes on their way, decoding finds back to the
//! next frame, and counts what it lost.
//!
//! A frame ends with a zero byte and has no checksum, so a damaged one may decode by chance. Three
//! things have to agree before a line is believed: the format string takes up exactly the bytes
//! there are, the time goes forward (or a boot banner says why not), and the banner, if one was
//! seen, names the ELF file's build.

use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use dunlin::catalog::LogLevel;

use super::firmware::Firmware;

/// No frame of a firmware is longer: whatever is, is garbage.
const LONGEST_FRAME: usize = 4096;
/// What the framing may add to the end of a frame, all zeros.
const MOST_PADDING: usize = 7;
/// Two lines further apart than this, in microseconds, do not vouch for each other.
const LONGEST_SILENCE: u64 = 86_400_000_000;
/// Interrupts and several cores may log out of order, by so many microseconds.
const JITTER: u64 = 1_000_000;
/// So many frames without a banner, most of them undecodable, point to the wrong ELF file.
const ENOUGH_TO_DOUBT: u64 = 16;

/// One decoded log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Microseconds since boot; `None` for firmware without a clock, and for what was lost.
    pub micros: Option<u64>,
    /// How much the line matters.
    pub level: Level,
    /// The text of the line.
    pub message: String,
    /// Bytes on the wire, framing included.
    pub bytes: usize,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
    /// The line was printed without a level.
    Print,
    /// This is no line but a frame that could not be decoded.
    Lost,
}

impl Level {
    /// Is a line of this level among those that were asked for? What is lost always is.
    pub fn is_shown(self, asked: LogLevel) -> bool {
        match self {
            Self::Error | Self::Print | Self::Lost => true,
            Self::Warn => asked >= LogLevel::Warn,
            Self::Info => asked >= LogLevel::Info,
            Self::Debug | Self::Trace => asked >= LogLevel::Debug,
        }
    }

    /// How a line of the level begins: `INFO`, `LOST`, …
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Trace => "TRACE",
            Self::Print => "",
            Self::Lost => "LOST",
        }
    }
}

impl Line {
    /// Seconds since boot, or empty.
    pub fn time(&self) -> String {
        self.micros.map_or_else(String::new, |us| {
            format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>12} {:5} {}",
            self.time(),
            self.level.name(),
            self.message
        )
    }
}

/// Whether the ELF file belongs to the firmware that speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ElfMatch {
    /// No banner was seen yet, and nothing speaks against it.
    #[default]
    Unknown,
    /// The banner names the ELF file's build.
    Confirmed,
    /// No banner was seen, and most frames cannot be decoded.
    Doubtful,
    /// The banner names another build: nothing is decoded until a banner names this one.
    Mismatch {
        /// The firmware that speaks: name, version, build.
        firmware: String,
        /// The build of the ELF file.
        elf: Option<u64>,
    },
}

impl ElfMatch {
    /// What is wrong, as a sentence; `None` if nothing is.
    pub fn complaint(&self, firmware: &Firmware) -> Option<String> {
        let file = firmware.path.display();
        match self {
            Self::Unknown | Self::Confirmed => None,
            Self::Doubtful => Some(format!(
                "most of the log cannot be decoded with {file}: is it the ELF file of the firmware that runs?"
            )),
            Self::Mismatch { firmware, elf } => {
                let own = elf.map_or_else(
                    || "no build identity".into(),
                    |build| format!("build {build:016x}"),
                );
                Some(format!(
                    "the log comes from {firmware}, but {file} is {own}: decode with that firmware's own ELF file"
                ))
            }
        }
    }
}

/// What did not become a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Frames, which are the pieces between two zero bytes.
    pub frames: u64,
    /// The bytes of these frames.
    pub bytes: u64,
}

/// Turns a stream into lines.
#[derive(Debug)]
pub struct Decoder {
    firmware: Arc<Firmware>,
    /// Other builds, which a banner may name.
    others: Vec<Arc<Firmware>>,
    frame: Vec<u8>,
    /// Bytes of the present frame beyond the longest.
    beyond: u64,
    /// The last line's time, once one is believed.
    clock: Option<u64>,
    /// A line whose time nothing vouches for yet.
    suspect: Option<Line>,
    /// Frames that became lines.
    pub frames: u64,
    /// Frames that did not become lines.
    pub lost: Lost,
    /// Whether the ELF file is the right one.
    pub trust: ElfMatch,
}

impl Decoder {
    /// Makes a decoder for a stream of this firmware.
    pub fn new(firmware: Arc<Firmware>) -> Self {
        Self {
            firmware,
            others: Vec::new(),
            frame: Vec::new(),
            beyond: 0,
            clock: None,
            suspect: None,
            frames: 0,
            lost: Lost::default(),
            trust: ElfMatch::Unknown,
        }
    }

    /// Decodes with these, too: whichever the banner names, as a device that is updated changes
    /// its firmware.
    pub fn or_with(mut self, others: Vec<Arc<Firmware>>) -> Self {
        self.others = others;
        self
    }

    /// The firmware it decodes with.
    pub fn firmware(&self) -> &Firmware {
        &self.firmware
    }

    /// Takes the next bytes and hands every line that is complete to `show`, and one of
    /// [`Level::Lost`] for each frame that is not one. Takes time linear in the bytes; memory for
    /// one frame.
    pub fn feed(&mut self, chunk: &[u8], show: &mut impl FnMut(Line)) {
        for piece in chunk.split_inclusive(|byte| *byte == 0) {
            let (body, ends) = match piece.split_last() {
                Some((0, body)) => (body, true),
                _ => (piece, false),
            };
            let kept = body
                .get(..LONGEST_FRAME.saturating_sub(self.frame.len()))
                .unwrap_or(body);
            self.frame.extend_from_slice(kept);
            self.beyond += (body.len() - kept.len()) as u64;
            if ends {
                self.end_frame(show);
            }
        }
    }

    /// The stream has ended: whatever was held back or begun is settled.
    pub fn finish(&mut self, show: &mut impl FnMut(Line)) {
        if !self.frame.is_empty() {
            self.lose(self.frame.len() as u64 + self.beyond, show);
            self.frame.clear();
            self.beyond = 0;
        }
        if let Some(line) = self.suspect.take() {
            if self.clock.is_none() {
                self.accept(line, show)
            } else {
                self.lose(line.bytes as u64, show)
            }
        }
    }

    fn end_frame(&mut self, show: &mut impl FnMut(Line)) {
        let bytes = self.frame.len() as u64 + self.beyond + 1;
        // Some firmware separates frames by several zeros.
        if bytes > 1 {
            let plain = if self.beyond == 0 {
                rzcobs::decode(&self.frame).ok()
            } else {
                None
            };
            match plain {
                Some(plain) => self.take_frame(&plain, bytes as usize, show),
                None => self.lose(bytes, show),
            }
        }
        self.frame.clear();
        self.beyond = 0;
    }

    fn take_frame(&mut self, plain: &[u8], bytes: usize, show: &mut impl FnMut(Line)) {
        let banner = Banner::find(plain);
        // The line before a banner, if it was decoded with the same build.
        let mut held = None;
        if let Some(banner) = &banner {
            held = self.suspect.take();
            let is_it = |firmware: &Arc<Firmware>| firmware.build == Some(banner.build);
            if let Some(other) = self.others.iter_mut().find(|other| is_it(other)) {
                std::mem::swap(other, &mut self.firmware);
                if let Some(line) = held.take() {
                    self.lose(line.bytes as u64, show);
                }
            }
            let known = is_it(&self.firmware);
            self.trust = if known {
                ElfMatch::Confirmed
            } else {
                ElfMatch::Mismatch {
                    firmware: banner.to_string(),
                    elf: self.firmware.build,
                }
            };
            self.clock = None;
        }
        let line = match self.trust {
            ElfMatch::Mismatch { .. } => None,
            _ => quietly(|| self.decode(plain, bytes)),
        };
        if let Some(held) = held {
            // A banner that is repeated vouches for the line before it, as any line would; at a
            // boot, the clock begins anew.
            let time = line.as_ref().and_then(|line| line.micros);
            match time.zip(held.micros) {
                Some((time, since)) if goes_on(time, since) => self.accept(held, show),
                _ => self.lose(held.bytes as u64, show),
            }
        }
        match line {
            Some(line) if banner.is_some() => self.accept(line, show),
            Some(line) => self.check_time(line, show),
            None => self.lose(bytes as u64, show),
        }
    }

    fn decode(&self, plain: &[u8], bytes: usize) -> Option<Line> {
        let rest = self.firmware.layouts.walk(plain)?;
        if rest.len() > MOST_PADDING || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        let (frame, _) = self.firmware.table.decode(plain).ok()?;
        let micros = frame
            .display_timestamp()
            .and_then(|time| micros(&time.to_string()));
        let level = match frame.level().map(|level| level.as_str()) {
            Some("error") => Level::Error,
            Some("warn") => Level::Warn,
            Some("info") => Level::Info,
            Some("debug") => Level::Debug,
            Some(_) => Level::Trace,
            None => Level::Print,
        };
        Some(Line {
            micros,
            level,
            message: printable(frame.display_message().to_string()),
            bytes,
        })
    }

    /// Believes a line whose time goes on from the last one's, or two lines in a row that agree on
    /// another time.
    fn check_time(&mut self, line: Line, show: &mut impl FnMut(Line)) {
        let Some(time) = line.micros else {
            return self.accept(line, show);
        };
        let goes_on = |since: u64| goes_on(time, since);
        if self.clock.is_some_and(goes_on) {
            if let Some(suspect) = self.suspect.take() {
                self.lose(suspect.bytes as u64, show);
            }
            return self.accept(line, show);
        }
        match self.suspect.take() {
            Some(suspect) if suspect.micros.is_some_and(goes_on) => {
                self.accept(suspect, show);
                self.accept(line, show);
            }
            other => {
                if let Some(suspect) = other {
                    self.lose(suspect.bytes as u64, show);
                }
                self.suspect = Some(line);
            }
        }
    }

    fn accept(&mut self, line: Line, show: &mut impl FnMut(Line)) {
        self.clock = line.micros.or(self.clock);
        self.frames += 1;
        if self.trust == ElfMatch::Doubtful && self.frames > self.lost.frames {
            self.trust = ElfMatch::Unknown;
        }
        show(line);
    }

    fn lose(&mut self, bytes: u64, show: &mut impl FnMut(Line)) {
        self.lost.frames += 1;
        self.lost.bytes += bytes;
        if self.trust == ElfMatch::Unknown
            && self.lost.frames >= ENOUGH_TO_DOUBT
            && self.lost.frames > self.frames
        {
            self.trust = ElfMatch::Doubtful;
        }
        let message = "a frame that could not be decoded".into();
        show(Line {
            micros: None,
            level: Level::Lost,
            message,
            bytes: bytes as usize,
        });
    }
}

/// Can a line of this time come after one of another?
fn goes_on(time: u64, since: u64) -> bool {
    time.saturating_add(JITTER) >= since && time < since.saturating_add(LONGEST_SILENCE)
}

/// One line without commands to a terminal: what a probe logs, others may have sent it.
fn printable(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let shown = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.into()
        }
    };
    text.chars().map(shown).collect()
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// `None` if `decode` panics: some of defmt's ways to show a value have values they cannot show,
/// such as the year 100,000, and a damaged frame may hold any.
fn quietly<T>(decode: impl FnOnce() -> Option<T>) -> Option<T> {
    DECODING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.ok().flatten()
}

/// From now on, nobody is told about panics that cost no more than a frame. Whoever is told of
/// panics has to have said so before.
pub fn hush_panics() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |why| {
        if !DECODING.get() {
            told(why);
        }
    }));
}

/// Seconds with six decimals, as defmt prints `{=u64:us}`, or whole microseconds.
fn micros(text: &str) -> Option<u64> {
    match text.split_once('.') {
        Some((seconds, fraction)) if fraction.len() == 6 => seconds
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000)?
            .checked_add(fraction.parse().ok()?),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// The boot banner, read from the frame itself: its strings travel as text, so that it can be read
/// with any ELF file.
#[derive(Debug)]
struct Banner<'f> {
    name: &'f str,
    version: &'f str,
    build: u64,
}

impl<'f> Banner<'f> {
    /// Two strings, each behind its length, and the build; in front of them an index and a time of
    /// unknown width.
    fn find(frame: &'f [u8]) -> Option<Self> {
        const WORD: &[u8] = b"dunlin";
        if frame.len() < 32 || !frame.windows(WORD.len()).any(|window| window == WORD) {
            return None;
        }
        (2..=18).find_map(|start| {
            let (name, rest) = text(frame.get(start..)?)?;
            let (version, rest) = text(rest)?;
            let (build, padding) = rest.split_first_chunk()?;
            let build = u64::from_le_bytes(*build);
            let ours = name.starts_with("dunlin")
                && version.starts_with(|first: char| first.is_ascii_digit());
            (ours && padding.len() <= MOST_PADDING).then_some(Self {
                name,
                version,
                build,
            })
        })
    }
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, build {:016x}",
            self.name, self.version, self.build
        )
    }
}

fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let text = std::str::from_utf8(text).ok()?;
    let printable = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    printable.then_some((text, rest))
}
