//! The link as a whole: attends to the broker, and fetches the list that was announced, for ever.

use dunlin::fetch::{Connect, Resolve};
use dunlin::fleet::{Drift, LONGEST, ListError, Member, is_name};
use dunlin::probe::{Board, FleetEvent, Probe};
use dunlin::time::{Duration, Instant};

use crate::attend::attend;
use crate::duty::Duty;
use crate::list::Device;
use crate::pace::Pace;

/// Who a probe is, and where its broker is.
#[derive(Clone, Copy)]
pub struct Broker<'a> {
    /// The broker's name or address.
    pub host: &'a str,
    /// The port that the broker listens at.
    pub port: u16,
    /// It is spoken to through TLS.
    pub is_secure: bool,
    /// The name of the fleet.
    pub fleet: &'a str,
    /// The probe's name, which is its client identifier, too.
    pub probe: &'a str,
    /// The name that the broker knows it by: the same, where the broker insists on it.
    pub user: &'a str,
    /// What shows that it is that one; without one, the broker is asked to let anybody in.
    pub password: Option<&'a str>,
}

impl<'a> Broker<'a> {
    /// Of what a device was told: `mqtt://HOST:PORT/FLEET` (`mqtts://` for TLS; the port is MQTT's
    /// own unless given), and who it is, which is the probe's name, too. `None` if that makes no
    /// sense.
    ///
    /// ```
    /// use dunlin_fleet::Broker;
    /// let broker = Broker::told("mqtt://192.0.2.1:1884/roofs", "north", Some("secret"));
    /// let broker = broker.expect("it makes sense");
    /// assert_eq!((broker.host, broker.port, broker.fleet), ("192.0.2.1", 1884, "roofs"));
    /// assert!(Broker::told("http://192.0.2.1/roofs", "north", None).is_none());
    /// ```
    pub fn told(url: &'a str, user: &'a str, password: Option<&'a str>) -> Option<Self> {
        let (is_secure, rest) = match url.strip_prefix("mqtts://") {
            Some(rest) => (true, rest),
            None => (false, url.strip_prefix("mqtt://")?),
        };
        let (place, fleet) = rest.split_once('/')?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (place, if is_secure { 8883 } else { 1883 }),
        };
        let is_good = is_name(fleet) && is_name(user) && !host.is_empty();
        is_good.then_some(Self {
            host,
            port,
            is_secure,
            fleet,
            probe: user,
            user,
            password,
        })
    }
}

impl core::fmt::Debug for Broker<'_> {
    /// Leaves the password out.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Broker")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("fleet", &self.fleet)
            .field("probe", &self.probe)
            .finish_non_exhaustive()
    }
}

/// What a probe has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The most pages that it holds.
    pub pages: u16,
    /// The most hosts that it holds.
    pub hosts: u16,
    /// Fetches a day that its link and its slots can make.
    pub fetches: f32,
}

impl Room {
    /// The same beside a list of so many pages and bytes, where lists have room for `most` bytes: a
    /// planner counts pages, and URLs may be longer than there is room for so many of. A list that
    /// is short says little.
    #[must_use]
    pub fn beside(self, pages: usize, bytes: usize, most: usize) -> Self {
        if bytes < most / 2 {
            return self;
        }
        let pages = (pages as u64 * most as u64 / bytes.max(1) as u64).max(1);
        Self {
            pages: self.pages.min(pages.try_into().unwrap_or(u16::MAX)),
            ..self
        }
    }
}

/// What a link needs: put it in a `ConstStaticCell`.
#[derive(Debug)]
pub struct Memory {
    /// One packet of the broker, the longest of which announces a list.
    pub(crate) receive: [u8; 640],
    /// Packets on their way to the broker, and room to connect again meanwhile.
    pub(crate) send: [u8; 1_536],
    /// A message while it is written, or what comes of a list.
    pub(crate) window: [u8; LONGEST],
}

impl Memory {
    /// Memory that nobody has used yet.
    pub const NEW: Self = Self {
        receive: [0; 640],
        send: [0; 1_536],
        window: [0; LONGEST],
    };
}

/// The link of one probe.
#[derive(Debug)]
pub struct Link<'a, C, R> {
    pub(crate) connect: C,
    pub(crate) resolve: R,
    pub(crate) broker: Broker<'a>,
    pub(crate) memory: &'a mut Memory,
    pub(crate) duty: Duty,
}

/// The first pause after a list that was not taken.
const LIST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause after a list that was not taken.
const LONGEST_LIST_PAUSE: Duration = Duration::from_secs(600);

impl<'a, C: Connect, R: Resolve> Link<'a, C, R> {
    /// For a probe that has just started, with a number `boot` that was drawn at random and a list
    /// of this version from an earlier run, 0 for none. Leases are taken to last for `lease` until
    /// the planner says how long.
    pub fn new(
        (connect, resolve): (C, R),
        broker: Broker<'a>,
        memory: &'a mut Memory,
        room: Room,
        (boot, list): (u32, u32),
        (lease, now): (Duration, Instant),
    ) -> Self {
        let member = Member::new(boot, list, now, Drift::DEFAULT);
        Self {
            connect,
            resolve,
            broker,
            memory,
            duty: Duty::new(member, Pace::new(lease, boot), room),
        }
    }

    /// What is known of lease, budget and list.
    pub fn member(&self) -> &Member {
        &self.duty.member
    }

    /// Keeps the probe in its fleet until there is another list, which the device has kept by then:
    /// its version. Then stop all slots, start a probe on that list, and say so with
    /// [`Self::listed`].
    ///
    /// *Cancellation*: safe; the connection to the broker ends without a good-bye.
    pub async fn run<B: Board, D: Device>(&mut self, probe: &Probe<'_, B>, device: &mut D) -> u32 {
        let board = probe.board();
        self.duty.command(probe);
        self.duty.pace.report_soon();
        let mut pause = LIST_PAUSE;
        loop {
            if self.duty.is_list_due(board.now()) {
                if let Some(version) = self.fetch(probe, device).await {
                    return version;
                }
                self.duty.fetch_at = board.now() + pause;
                pause = (pause * 2).min(LONGEST_LIST_PAUSE);
            }
            if let Some(why) = attend(self, probe, device).await {
                device.tell(FleetEvent::Left { why });
                let wait = self.duty.pace.failed();
                board.sleep_until(board.now() + wait).await;
            } else if !self.duty.is_list_due(board.now()) {
                // It ends by itself for a list only; whatever else it was, it does not go round
                // without a pause.
                board.sleep_until(board.now() + LIST_PAUSE).await;
            }
        }
    }

    /// Fetches the list that was announced; its version if it was kept.
    ///
    /// *Cancellation*: the device has a list that was never used.
    async fn fetch<B: Board, D: Device>(
        &mut self,
        probe: &Probe<'_, B>,
        device: &mut D,
    ) -> Option<u32> {
        let wanted = self.duty.wanted.clone()?;
        let version = wanted.version;
        let agent = probe.agent();
        let network = (&mut self.connect, &mut self.resolve);
        let window = &mut self.memory.window;
        let fetched = wanted.fetch(probe.board(), agent, network, window, device);
        match fetched.await {
            Ok(()) => {
                device.tell(FleetEvent::Listed { list: version });
                // Visits that were made by the numbers of the old list are told by them.
                self.duty.take_visits(probe);
                self.duty.wanted = None;
                Some(version)
            }
            Err(why) => {
                device.tell(FleetEvent::NotListed { list: version, why });
                if why == ListError::TooLong {
                    // The planner cannot know: the next report asks for fewer pages, and if that
                    // changes nothing, for fewer still.
                    let room = self.duty.room;
                    let pages = room.pages.into();
                    let bytes = wanted.length as usize;
                    self.duty.room = room.beside(pages, bytes, device.room() as usize);
                    self.duty.pace.report_soon();
                }
                None
            }
        }
    }

    /// The list of this version is in force: no request goes on that belongs to another one.
    pub fn listed(&mut self, version: u32, now: Instant) {
        self.duty.member.take_list(version, now);
    }
}
