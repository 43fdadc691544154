//! The memory and the flash that a probe has for pages beyond its list.

use std::cell::RefCell;
use std::rc::Rc;

use dunlin::discover::{Candidate, DiscoverySettings, FrontierMemory};
use dunlin::probe::{DiscoveryMemory, FoundHost, FoundPage, SCOUTS, TextSource};
use dunlin::rank::Account;
use dunlin::store::{LONGEST_TEXT, Partition, Text, TextKind, TextLedger, TextLog};
use dunlin::time::{Duration, Instant};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use futures_lite::future::block_on;
use host_tests::flash::{Fault, Flash};

/// 128 KiB, as on a chip: one owner writes it, and everybody reads it.
type Chip = Flash<32, 4096, 4>;

#[derive(Clone, Debug)]
pub struct TextFlash(pub Rc<RefCell<Chip>>, pub Rc<RefCell<Done>>);

/// What was done to a flash.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Each write and erase: bytes that were written or erased before it, and its own.
    pub operations: Vec<(u64, u64)>,
    /// Texts that were written whole: the log has confirmed them.
    pub texts: Vec<(TextKind, String)>,
}

impl TextFlash {
    pub fn blank() -> Self {
        Self::of(Chip::blank())
    }

    fn of(chip: Chip) -> Self {
        Self(Rc::new(RefCell::new(chip)), Rc::default())
    }

    /// What is in it after the power came back.
    pub fn switched_on(&self) -> Self {
        Self::of(self.0.borrow().switched_on())
    }

    /// Texts that a restart would find, oldest first.
    pub fn texts(&self) -> Vec<(TextKind, String)> {
        let mut log = TextLog::new(self.switched_on());
        let mut texts = Vec::new();
        let opened = log.open(|text, _| texts.push((text.kind, text.url.to_owned())));
        block_on(opened).expect("flash with power");
        texts
    }

    /// Goes on writing texts that mean nothing, until the last sector but one is nearly full: the
    /// next one is emptied soon, and the oldest after that.
    pub fn wear(&self) {
        let mut log = TextLog::new(self.clone());
        block_on(log.open(|_, _| ())).expect("flash with power");
        let used = || {
            let chip = self.0.borrow();
            let sector = &chip.bytes()[30 * 4096..31 * 4096];
            sector.iter().filter(|byte| **byte != 0xff).count()
        };
        while used() < 2_780 {
            let step = log.step(&Nothing, true, Instant::MAX);
            assert!(block_on(step).is_ok(), "flash with power");
        }
        self.1.replace(Done::default());
    }

    fn begin(&self, bytes: usize) {
        let before = self.0.borrow().count.bytes;
        let operations = &mut self.1.borrow_mut().operations;
        operations.push((before, bytes as u64));
    }
}

/// Writes that a place is free which nobody has.
struct Nothing;

impl TextLedger for Nothing {
    fn next<'u>(&self, _: &'u mut [u8; LONGEST_TEXT]) -> Option<Text<'u>> {
        Some(Text {
            kind: TextKind::Free(u16::MAX),
            value: 0,
            url: "",
        })
    }

    fn written(&self, _: &Text<'_>, _: u32) {}

    fn wanted(&self, text: &Text<'_>, _: u32) -> Option<TextKind> {
        (!text.url.is_empty()).then_some(text.kind)
    }

    fn moved(&self, _: &Text<'_>, _: u32, _: Option<u32>) {}
}

impl ErrorType for TextFlash {
    type Error = Fault;
}

impl ReadNorFlash for TextFlash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        block_on(self.0.borrow_mut().read(offset, bytes))
    }

    fn capacity(&self) -> usize {
        self.0.borrow().capacity()
    }
}

impl NorFlash for TextFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        self.begin((to - from) as usize);
        block_on(self.0.borrow_mut().erase(from, to))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.begin(bytes.len());
        block_on(self.0.borrow_mut().write(offset, bytes))?;
        if let Some(text) = Text::read(bytes) {
            let confirmed = &mut self.1.borrow_mut().texts;
            confirmed.push((text.kind, text.url.to_owned()));
        }
        Ok(())
    }
}

impl Partition for TextFlash {
    const SECTORS: usize = 32;
    const RATED_CYCLES: u32 = 1_000_000;
    const LONGEST_STALL: Duration = Duration::ZERO;
}

impl TextSource for TextFlash {
    fn read(&self, at: u32, bytes: &mut [u8]) -> bool {
        let chip = self.0.borrow();
        let all = chip.bytes().get(at as usize..).unwrap_or_default();
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
        !all.is_empty()
    }
}

/// Memory for a collection, as large as its section of the image says.
pub struct FoundRoom {
    pub places: usize,
    pub hosts: usize,
    accounts: Vec<Account>,
    order: Vec<u16>,
    candidates: Vec<Candidate>,
    doorkeeper: Vec<u8>,
    directories: Vec<u8>,
    pages: Vec<FoundPage>,
    found_hosts: Vec<FoundHost>,
    queue: Vec<u8>,
    trials: Vec<u8>,
}

impl FoundRoom {
    pub fn new(section: &[u8], tellers: usize) -> Self {
        let wanted = DiscoverySettings::read(section).expect("a section of our own");
        let places = usize::from(wanted.places) + tellers + SCOUTS;
        let hosts = 8;
        Self {
            places,
            hosts,
            accounts: vec![Account::FREE; places],
            order: vec![0; places],
            candidates: vec![Candidate::default(); 2048],
            doorkeeper: vec![0; 4096],
            directories: vec![0; 4096],
            pages: (0..places).map(|_| FoundPage::NEW).collect(),
            found_hosts: (0..hosts).map(|_| FoundHost::NEW).collect(),
            queue: vec![0; 4096],
            trials: vec![0; 1024],
        }
    }

    pub fn lend(&mut self) -> DiscoveryMemory<'_> {
        DiscoveryMemory {
            frontier: FrontierMemory {
                accounts: &mut self.accounts,
                order: &mut self.order,
                candidates: &mut self.candidates,
                doorkeeper: &mut self.doorkeeper,
                directories: &mut self.directories,
            },
            pages: &self.pages,
            hosts: &self.found_hosts,
            queue: &mut self.queue,
            trials: &mut self.trials,
        }
    }
}
