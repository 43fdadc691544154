//! Reads one stream in a thread of its own: records its bytes, decodes them into lines and hands
//! the lines to the probe's state.

use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::decode::{Decoder, Line};
use super::firmware::Firmware;
use super::herald::Herald;
use super::source::{READ_TIMEOUT, Source};
use super::state::{MonitoredProbe, Stream};
use crate::error::Error;
use crate::output;

/// How many bytes are read at once.
const CHUNK: usize = 64 * 1024;
/// The time between two tries to reach a source that went away.
const RETRY: Duration = Duration::from_secs(1);
/// How often a replay looks at the clock.
const TICK: Duration = Duration::from_millis(20);

/// How a stream is read.
#[derive(Clone, Debug)]
pub struct ReadSetting {
    /// Where the bytes come from.
    pub source: Source,
    /// The firmware whose strings decode them.
    pub firmware: Arc<Firmware>,
    /// Other builds that the probe may run, before or after an update.
    pub other_builds: Vec<Arc<Firmware>>,
    /// Where to keep what is read, byte for byte.
    pub record: Option<PathBuf>,
    /// The speed of a serial line.
    pub baud: u32,
    /// How many times as fast as the probe's own clock a record is replayed; `None` for as fast as
    /// possible.
    pub speed: Option<f64>,
    /// Go on reading at the end of a file that somebody else is writing.
    pub follow: bool,
}

/// Gets every line, before the state does: for whoever prints them.
pub type Listener = Box<dyn FnMut(&MonitoredProbe, &Line) + Send>;

/// A stream that is ready to be read.
pub struct StreamReader {
    setting: ReadSetting,
    input: Box<dyn Read + Send>,
    record: Option<File>,
    decoder: Decoder,
    probe: Arc<Mutex<MonitoredProbe>>,
    listener: Option<Listener>,
    /// Tells others of the news in it.
    herald: Option<Herald>,
    stop: Arc<AtomicBool>,
    /// Where replay began: on the device's clock, and on ours.
    pace: Option<(u64, Instant)>,
}

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("setting", &self.setting)
            .finish_non_exhaustive()
    }
}

impl StreamReader {
    /// Opens the source and the record.
    ///
    /// # Errors
    /// The source or the record cannot be opened.
    pub fn open(
        setting: ReadSetting,
        probe: Arc<Mutex<MonitoredProbe>>,
        listener: Option<Listener>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let input = setting.source.open(setting.baud)?;
        let create =
            |path: &PathBuf| File::create(path).map_err(|source| Error::writing(path, source));
        let record = setting.record.as_ref().map(create).transpose()?;
        let decoder =
            Decoder::new(Arc::clone(&setting.firmware)).or_with(setting.other_builds.clone());
        Ok(Self {
            setting,
            input,
            record,
            decoder,
            probe,
            listener,
            herald: None,
            stop,
            pace: None,
        })
    }

    /// Has others told of the news in it.
    #[must_use]
    pub fn with_herald(mut self, herald: Herald) -> Self {
        self.herald = Some(herald);
        self
    }

    /// Reads until the end of the stream, or until told to stop, in a thread of its own.
    pub fn spawn(mut self) -> JoinHandle<()> {
        std::thread::spawn(move || self.run())
    }

    /// Reads until the end of the stream, or until told to stop.
    pub fn run(&mut self) {
        let mut buffer = vec![0; CHUNK];
        while !self.stop.load(Ordering::Relaxed) {
            match self.input.read(&mut buffer) {
                Ok(0) if self.goes_on() => {
                    self.pause();
                    std::thread::sleep(READ_TIMEOUT);
                }
                Ok(0) if self.setting.source.is_record() => break,
                Ok(0) => self.reopen("the connection was closed"),
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if is_patience(error.kind()) => self.pause(),
                Err(error) if self.setting.source.is_record() => {
                    return self.end(Stream::Broken(format!(
                        "cannot read {}: {error}",
                        self.setting.source
                    )));
                }
                Err(error) => self.reopen(&error.to_string()),
            }
        }
        let mut lines = Vec::new();
        self.decoder.finish(&mut |line| lines.push(line));
        self.tell(lines);
        self.end(Stream::Ended);
    }

    /// Whether more may come behind the end that was read.
    fn goes_on(&self) -> bool {
        match &self.setting.source {
            Source::Stdin | Source::Tcp(_) => false,
            // A serial line has nothing to say now.
            Source::File(_) => self.setting.follow || !self.setting.source.is_record(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let failed = self
            .record
            .as_mut()
            .and_then(|record| record.write_all(bytes).err());
        if let (Some(error), Some(path)) = (failed, &self.setting.record) {
            // What is seen matters more than what is kept.
            let why = Error::writing(path, error).to_string();
            output::say(format_args!("error: {why}; recording ends"));
            self.record = None;
            if let Ok(mut probe) = self.probe.lock() {
                probe.unrecorded = Some(format!("{why}; the record is not complete"));
            }
        }
        match self.setting.speed {
            None => {
                let mut lines = Vec::new();
                self.decoder.feed(bytes, &mut |line| lines.push(line));
                self.tell(lines);
            }
            // A frame at a time, each when its time has come.
            Some(speed) => {
                for frame in bytes.split_inclusive(|byte| *byte == 0) {
                    let mut lines = Vec::new();
                    self.decoder.feed(frame, &mut |line| lines.push(line));
                    self.wait_for(lines.last().and_then(|line| line.micros), speed);
                    self.tell(lines);
                }
            }
        }
    }

    /// Waits until a replay has come to `micros` on the device's clock.
    fn wait_for(&mut self, micros: Option<u64>, speed: f64) {
        let Some(micros) = micros else { return };
        let begin = |(device, _): &(u64, Instant)| micros < *device;
        // The first line, or the first after a reboot.
        if self.pace.as_ref().is_none_or(begin) {
            self.pace = Some((micros, Instant::now()));
        }
        let Some((device, ours)) = self.pace else {
            return;
        };
        let after = Duration::try_from_secs_f64((micros - device) as f64 * 1e-6 / speed)
            .unwrap_or(Duration::MAX);
        while ours.elapsed() < after && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK.min(after.saturating_sub(ours.elapsed())));
        }
    }

    fn tell(&mut self, lines: Vec<Line>) {
        let Ok(mut probe) = self.probe.lock() else {
            return;
        };
        probe.stream = Stream::Open;
        if probe.trust != self.decoder.trust {
            probe.trust = self.decoder.trust.clone();
            probe.complaint = probe.trust.complaint(self.decoder.firmware());
        }
        for line in lines {
            if let Some(listener) = &mut self.listener {
                listener(&probe, &line);
            }
            probe.hear(line);
            if let Some(herald) = &mut self.herald {
                herald.hear(&probe);
            }
        }
        // Whoever looks at the probe does not wait for whoever is told.
        drop(probe);
        if let Some(herald) = &mut self.herald {
            // Nobody says of a pipe that nothing comes for a while.
            herald.tell(matches!(self.setting.source, Source::Stdin));
        }
    }

    /// Nothing comes for a moment.
    fn pause(&mut self) {
        if let Some(herald) = &mut self.herald {
            herald.tell(true);
        }
    }

    fn end(&mut self, stream: Stream) {
        self.pause();
        if let Ok(mut probe) = self.probe.lock() {
            probe.stream = stream;
        }
    }

    /// Tries once more after a moment, and says what is wrong meanwhile.
    fn reopen(&mut self, why: &str) {
        let mut lines = Vec::new();
        // What was cut in the middle does not go together with what comes next.
        self.decoder.finish(&mut |line| lines.push(line));
        self.tell(lines);
        self.end(Stream::Broken(format!(
            "{}: {why}; trying again",
            self.setting.source
        )));
        let start = Instant::now();
        while start.elapsed() < RETRY && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        if let Ok(input) = self.setting.source.open(self.setting.baud) {
            self.input = input;
            self.end(Stream::Open);
        }
    }
}

/// Whether an error only says that nothing has come yet.
fn is_patience(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
