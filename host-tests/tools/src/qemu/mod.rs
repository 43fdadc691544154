//! The one place that starts QEMU: decodes the firmware's log while it runs, and makes sure that
//! the process ends – by itself, at its deadline, or with us.

pub mod crawl;
pub mod list;
pub mod log_port;
pub mod page_image;
pub mod state;

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use dunlin_host::monitor::decode::Decoder;
pub use dunlin_host::monitor::decode::{Level, Line};
use dunlin_host::monitor::firmware::Firmware;

use crate::qemu::log_port::LogPort;
use crate::shell::find;

/// What to boot, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The ELF file of the firmware.
    pub elf: &'a Path,
    /// Options for the firmware, `name=value` each (see `boards/qemu-mps2/src/options.rs`).
    pub options: &'a [String],
    /// What the firmware's clock follows.
    pub time: Time,
    /// When to end it if it does not end by itself.
    pub deadline: Duration,
    /// What is plugged into the machine.
    pub attached: Attached<'a>,
}

/// What is plugged into the machine besides its firmware.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attached<'a> {
    /// The boot loader, which is started instead of the firmware: that lies in the state file.
    pub boot_loader: Option<&'a Path>,
    /// ELF files of other builds that may run, before or after an update.
    pub other_builds: &'a [PathBuf],
    /// A page image, and the address it is loaded at.
    pub image: Option<(&'a Path, u64)>,
    /// What the device was told by a cable alone, and the address that it is loaded at.
    pub settings: Option<(&'a Path, u64)>,
    /// A cable: without it, the network chip hears nothing.
    pub network: bool,
    /// A file that receives every frame on the cable (pcap).
    pub frames: Option<&'a Path>,
    /// A socket at which QEMU's monitor takes commands.
    pub monitor: Option<&'a Path>,
    /// A socket at which a debugger is listened to.
    pub debugger: Option<&'a Path>,
    /// Type a `q` once this is true: the firmware then sums up and ends.
    pub stop: Option<&'a AtomicBool>,
    /// Gets the log's bytes as they come, before they are decoded.
    pub log_port: Option<&'a LogPort>,
    /// A port of this computer's loopback, and the port of the device that it leads to.
    pub forward: Option<(u16, u16)>,
    /// The same for datagrams.
    pub datagrams: Option<(u16, u16)>,
    /// The log passes a file instead of a pipe, and is read when the run is over: nobody wakes up
    /// for it meanwhile.
    pub log_to_file: bool,
}

/// What the firmware's clock follows.
#[derive(Clone, Copy, Debug)]
pub enum Time {
    /// The clock on the wall.
    Real,
    /// 128 ns an instruction, for a meter whose ticks are 40 ns; idle time passes as on the wall.
    Counted,
    /// 64 ns an instruction, and idle time is skipped: the same log every time, hours in seconds.
    Skipping,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// QEMU exited with this code, which the firmware chose.
    Exit(i32),
    /// It was still running at its deadline and was ended.
    Deadline,
}

impl End {
    /// An error unless the firmware ended by itself and with success.
    pub fn success(self, what: &str, deadline: Duration) -> Result<()> {
        match self {
            Self::Exit(0) => Ok(()),
            Self::Exit(code) => bail!("{what} ended QEMU with exit code {code}"),
            Self::Deadline => bail!(
                "{what} was still running after {} s and was ended",
                deadline.as_secs()
            ),
        }
    }
}

/// Ends the process when dropped, whatever happened in between.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots `machine` and hands each log line to `show` as it arrives.
pub fn run(machine: Machine<'_>, mut show: impl FnMut(&Line)) -> Result<End> {
    let others = machine.attached.other_builds.iter();
    let others = others.map(|elf| log_strings(elf)).collect::<Result<_>>()?;
    let mut decoder = Decoder::new(log_strings(machine.elf)?).or_with(others);
    let mut show = |line: Line| show(&line);
    let record = Record::for_machine(&machine);
    let mut child = Guard(
        command(machine, &record)
            .spawn()
            .context("cannot start qemu-system-arm")?,
    );
    let bytes = read_in_background(
        child
            .0
            .stdout
            .take()
            .context("QEMU's standard output is not piped")?,
    );
    let end = Instant::now() + machine.deadline;
    let mut stopped = false;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match bytes.recv_timeout(left.min(LOOK_AGAIN)) {
            Ok(chunk) => {
                machine.attached.log_port.inspect(|port| port.send(&chunk));
                decoder.feed(&chunk, &mut show);
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(End::Deadline),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !stopped
            && machine
                .attached
                .stop
                .is_some_and(|stop| stop.load(Ordering::Relaxed))
        {
            stopped = true;
            // If QEMU has ended meanwhile, there is nothing to stop.
            let _ = child
                .0
                .stdin
                .as_mut()
                .map(|keyboard| keyboard.write_all(b"q"));
        }
    }
    let status = child.0.wait().context("waiting for QEMU")?;
    decoder.feed(&record.read()?, &mut show);
    decoder.finish(&mut show);
    exit_of(status)
}

/// ELF files whose log strings are remembered: whoever starts the same builds a thousand times
/// would read them for longer than they run.
const REMEMBERED: usize = 16;

/// The log strings of an ELF file.
fn log_strings(elf: &Path) -> Result<Arc<Firmware>> {
    type Known = (PathBuf, SystemTime, Arc<Firmware>);
    static KNOWN: Mutex<VecDeque<Known>> = Mutex::new(VecDeque::new());
    let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let written = fs::metadata(elf)
        .and_then(|metadata| metadata.modified())
        .with_context(|| format!("cannot read {}", elf.display()))?;
    let is_same = |(path, time, _): &&Known| path == elf && *time == written;
    if let Some((_, _, known)) = lock().iter().find(is_same) {
        return Ok(Arc::clone(known));
    }
    let read = Arc::new(Firmware::read(elf)?);
    let mut known = lock();
    if known.len() >= REMEMBERED {
        known.pop_front();
    }
    known.push_back((elf.to_owned(), written, Arc::clone(&read)));
    Ok(read)
}

/// What a process that has ended says about the firmware in it.
fn exit_of(status: ExitStatus) -> Result<End> {
    status
        .code()
        .map(End::Exit)
        .ok_or_else(|| anyhow!("QEMU was ended from outside: {status}"))
}

/// An instruction takes 2 to this many nanoseconds under [`Time::Counted`].
const COUNTED: u32 = 7;
/// An instruction takes 2 to this many nanoseconds under [`Time::Skipping`].
const SKIPPING: u32 = 6;

impl Time {
    /// Instructions in so many nanoseconds of the board's time; none are known in real time.
    pub fn instructions(self, nanoseconds: f64) -> f64 {
        match self {
            Self::Real => f64::NAN,
            Self::Counted => nanoseconds / f64::from(1 << COUNTED),
            Self::Skipping => nanoseconds / f64::from(1 << SKIPPING),
        }
    }
}

/// How often a run looks whether it is to stop.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Where the log goes when it must not pass a pipe: a full pipe makes the firmware wait, and
/// skipped time would then depend on how busy this computer is. Removed when dropped.
struct Record(Option<PathBuf>);

impl Record {
    fn for_machine(machine: &Machine<'_>) -> Self {
        let to_file = machine.attached.log_to_file || matches!(machine.time, Time::Skipping);
        Self(to_file.then(|| temporary("defmt")))
    }

    fn serial(&self) -> String {
        self.0
            .as_ref()
            .map_or_else(|| "stdio".into(), |file| format!("file:{}", file.display()))
    }

    fn read(&self) -> Result<Vec<u8>> {
        let Some(file) = &self.0 else {
            return Ok(Vec::new());
        };
        fs::read(file).with_context(|| format!("cannot read {}", file.display()))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.0.as_ref().map(fs::remove_file);
    }
}

/// A path of our own among the temporary files.
pub fn temporary(ending: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("dunlin-{}-{count}.{ending}", std::process::id()))
}

/// A command that is killed when we end, however we do: an orphan would run on for ever, and keep
/// open the pipe that our own words go to.
fn ends_with_us(program: &str) -> Command {
    let Some(setpriv) = find("setpriv") else {
        return Command::new(program);
    };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "KILL", "--", program]);
    command
}

fn command(machine: Machine<'_>, record: &Record) -> Command {
    let mut command = ends_with_us("qemu-system-arm");
    command.args([
        "-machine",
        "mps2-an386",
        "-cpu",
        "cortex-m4",
        "-display",
        "none",
    ]);
    command.arg("-monitor").arg(match machine.attached.monitor {
        Some(socket) => format!("unix:{},server=on,wait=off", socket.display()),
        None => "none".into(),
    });
    if let Some(socket) = machine.attached.debugger {
        command
            .arg("-gdb")
            .arg(format!("unix:{},server=on,wait=off", socket.display()));
    }
    // Without a terminal and without `-nographic`, which would translate line ends in the binary
    // log.
    command.arg("-serial").arg(record.serial());
    // The chip is part of the machine. IPv6 would send by itself, whenever it likes, and spoil the
    // repeatable runs.
    let cable = if machine.attached.network {
        "off"
    } else {
        "on"
    };
    let attached = &machine.attached;
    let forwards = [("tcp", attached.forward), ("udp", attached.datagrams)];
    let forward = |(protocol, ports): (&str, Option<(u16, u16)>)| {
        let (here, there) = ports?;
        Some(format!(",hostfwd={protocol}:127.0.0.1:{here}-:{there}"))
    };
    let forward: String = forwards.into_iter().filter_map(forward).collect();
    command.arg("-nic").arg(format!(
        "user,id=net,model=lan9118,restrict={cable},ipv6=off{forward}"
    ));
    if let Some(file) = machine.attached.frames {
        command.arg("-object").arg(format!(
            "filter-dump,id=frames,netdev=net,file={}",
            file.display()
        ));
    }
    let loaded = [machine.attached.image, machine.attached.settings];
    for (image, address) in loaded.into_iter().flatten() {
        command.arg("-device");
        command.arg(format!(
            "loader,file={},addr={address:#x},force-raw=on",
            image.display()
        ));
    }
    let options = machine
        .options
        .iter()
        .map(|option| format!(",arg={option}"));
    command
        .arg("-semihosting-config")
        .arg("enable=on,target=native".to_string() + &options.collect::<String>());
    match machine.time {
        Time::Real => {}
        Time::Counted => drop(command.args(["-icount", &format!("shift={COUNTED}")])),
        Time::Skipping => drop(command.args(["-icount", &format!("shift={SKIPPING},sleep=off")])),
    }
    let loaded = machine.attached.boot_loader.unwrap_or(machine.elf);
    command.arg("-kernel").arg(loaded);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C is for us to hear, and for the firmware to be told politely.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Drains the pipe whatever the receiver does: a full pipe would freeze the firmware.
fn read_in_background(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> ExitStatus {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).status().expect("a shell")
    }

    /// The kernel's word: the signal belongs to the thread that started the process, so a thread's
    /// end shows what ours would do.
    #[test]
    fn a_program_ends_with_whoever_started_it() {
        let starter = thread::spawn(|| {
            let mut command = ends_with_us("sleep");
            let child = command.arg("60").spawn().expect("sleep");
            // Until setpriv has become what it starts, the signal may not be set yet.
            let name = format!("/proc/{}/comm", child.id());
            for _ in 0..1_000 {
                if fs::read_to_string(&name).is_ok_and(|name| name == "sleep\n") {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
            child
        });
        let mut child = starter.join().expect("it was started");
        let status = child.wait().expect("it ends");
        assert!(exit_of(status).is_err(), "{status}");
    }

    #[test]
    fn a_firmware_passes_by_its_exit_code_alone() {
        let judged = |end: End| end.success("it", Duration::from_secs(7));
        assert!(judged(exit_of(ended("exit 0")).expect("it ended")).is_ok());
        for code in [1, 2, 101, 255] {
            let end = exit_of(ended(&format!("exit {code}"))).expect("it ended");
            assert_eq!(end, End::Exit(code));
            let why = judged(end).expect_err("a failure").to_string();
            assert!(why.contains(&format!("exit code {code}")), "{why}");
        }
        assert!(judged(End::Deadline).is_err());
        assert!(exit_of(ended("kill -9 $$")).is_err());
    }
}
