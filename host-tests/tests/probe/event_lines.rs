//! One of each event, its line in the log, and what is read back of it.

use dunlin::boot::Reset;
use dunlin::collect::{CollectorError, Uncollected};
use dunlin::discover::UrlRefusal;
use dunlin::feed::FeedError;
use dunlin::fetch::{RedirectError, TlsError};
use dunlin::fleet::{LinkError, ListError};
use dunlin::image::{ImageError, Tag};
use dunlin::probe::{
    BoardEvent, Event, Failure, Flags, FleetEvent, FoundEvent, LoggedBoardEvent, LoggedEvent,
    LoggedFleetEvent, LoggedFoundEvent, Resumed, TimeSource, Totals,
};
use dunlin::push::DatagramError;
use dunlin::sntp::NoTime;

const RESUMED: Resumed = {
    let mut resumed = Resumed::NOTHING;
    resumed.pages = 1;
    resumed.hosts = 2;
    resumed.strange = 3;
    resumed.refused = 4;
    resumed.foreign = true;
    resumed
};

const TOTALS: Totals = {
    let mut totals = Totals::ZERO;
    totals.fetches = 1;
    totals.not_modified = 2;
    totals.changed = 3;
    totals.errors = 4;
    totals.denied = 5;
    totals.bytes = 6;
    totals.late_seconds = 7;
    totals
};

/// One of each event in the table's order, its line, and what is read back.
pub const EVENTS: &[(Event, &str, LoggedEvent<'static>)] = &[
    (
        Event::Loaded { pages: 7, hosts: 3 },
        "loaded pages=7 hosts=3",
        LoggedEvent::Loaded { pages: 7, hosts: 3 },
    ),
    (
        Event::Refused {
            why: ImageError::Record {
                section: Tag::PAGES,
                index: 4,
            },
        },
        "image refused: page image whose record 4 of section PAGE is missing or makes no sense: make it again",
        LoggedEvent::Refused {
            why: "page image whose record 4 of section PAGE is missing or makes no sense: make it again",
        },
    ),
    (
        Event::Resumed(RESUMED),
        "resumed pages=1 hosts=2 strange=3 refused=4 foreign=true other_list=false",
        LoggedEvent::Resumed(RESUMED),
    ),
    (Event::NotStored, "store failed", LoggedEvent::NotStored),
    (
        Event::Clock {
            unix: 1_794_000_000,
            from: TimeSource::Hosts,
        },
        "clock unix=1794000000 from=Hosts",
        LoggedEvent::Clock {
            unix: 1_794_000_000,
            from: Some("Hosts"),
        },
    ),
    (
        Event::NoTime {
            why: NoTime::Silence,
        },
        "no time why=Silence",
        LoggedEvent::NoTime { why: "Silence" },
    ),
    (
        Event::Up {
            address: [10, 0, 2, 15],
        },
        "network up address=10.0.2.15",
        LoggedEvent::Up {
            address: "10.0.2.15",
        },
    ),
    (Event::Down, "network down", LoggedEvent::Down),
    (
        Event::Start { page: 9 },
        "start page=9",
        LoggedEvent::Start { page: 9 },
    ),
    (
        Event::First { page: 5 },
        "first page=5",
        LoggedEvent::First { page: 5 },
    ),
    (
        Event::End {
            page: 1,
            status: 200,
            bytes: 3,
            millis: 4,
            changed: true,
            flags: Flags {
                first: true,
                encoded: false,
                cut: false,
            },
        },
        "end page=1 status=200 bytes=3 ms=4 changed=true",
        LoggedEvent::End {
            page: 1,
            status: 200,
            bytes: 3,
            millis: 4,
            changed: true,
        },
    ),
    (
        Event::Flagged {
            page: 1,
            encoded: true,
            cut: false,
        },
        "flagged page=1 encoded=true cut=false",
        LoggedEvent::Flagged {
            page: 1,
            encoded: true,
            cut: false,
        },
    ),
    (
        Event::Failed {
            page: 1,
            millis: 2,
            why: Failure::PrivateAddress,
        },
        "failed page=1 ms=2 why=PrivateAddress",
        LoggedEvent::Failed {
            page: 1,
            millis: 2,
            why: "PrivateAddress",
        },
    ),
    (
        Event::Recovered { page: 5 },
        "recovered page=5",
        LoggedEvent::Recovered { page: 5 },
    ),
    (
        Event::Robots {
            host: 1,
            status: 404,
            judged: 3,
            denied: 4,
        },
        "robots host=1 status=404 judged=3 denied=4",
        LoggedEvent::Robots {
            host: 1,
            status: 404,
            judged: 3,
            denied: 4,
        },
    ),
    (
        Event::Costly { host: 1 },
        "robots too costly host=1",
        LoggedEvent::Costly { host: 1 },
    ),
    (
        Event::Gap { host: 1, millis: 2 },
        "gap host=1 ms=2",
        LoggedEvent::Gap { host: 1, millis: 2 },
    ),
    (
        Event::Denied { page: 5 },
        "denied page=5",
        LoggedEvent::Denied { page: 5 },
    ),
    (
        Event::Moved {
            page: 1,
            status: 301,
        },
        "moved page=1 status=301",
        LoggedEvent::Moved {
            page: 1,
            status: 301,
        },
    ),
    (
        Event::Astray {
            page: 1,
            status: 302,
            why: Some(RedirectError::PrivateAddress),
        },
        "astray page=1 status=302 why=Some(PrivateAddress)",
        LoggedEvent::Astray {
            page: 1,
            status: 302,
            why: "Some(PrivateAddress)",
        },
    ),
    (
        Event::Collected {
            page: 5,
            millis: 70,
        },
        "collected page=5 ms=70",
        LoggedEvent::Collected {
            page: 5,
            millis: 70,
        },
    ),
    (
        Event::Uncollected {
            page: 5,
            why: Uncollected::Refused(507),
        },
        "not collected page=5 why=Refused(507)",
        LoggedEvent::Uncollected {
            page: 5,
            why: "Refused(507)",
        },
    ),
    (
        Event::Collection {
            pages: 1,
            places: 2,
            candidates: 3,
            found: 4,
            admitted: 5,
            replaced: 6,
            refused: 7,
        },
        "collection pages=1 places=2 candidates=3 found=4 admitted=5 replaced=6 refused=7",
        LoggedEvent::Collection {
            pages: 1,
            places: 2,
            candidates: 3,
            found: 4,
            admitted: 5,
            replaced: 6,
            refused: 7,
        },
    ),
    (
        Event::Told {
            page: 5,
            entries: 20,
            news: 3,
            seconds: 61,
            precision: 0.75,
            recall: 0.5,
            saves: -2.5,
        },
        "told page=5 entries=20 news=3 delay_s=61 precision=0.75 recall=0.5 saves=-2.5",
        LoggedEvent::Told {
            page: 5,
            entries: 20,
            news: 3,
            seconds: 61,
            precision: 0.75,
            recall: 0.5,
            saves: -2.5,
        },
    ),
    (
        Event::Untold {
            page: 3,
            why: FeedError::Gzip,
        },
        "untold page=3 why=Gzip",
        LoggedEvent::Untold {
            page: 3,
            why: "Gzip",
        },
    ),
    (
        Event::BackOff {
            host: 1,
            seconds: 120,
            why: Failure::Busy,
        },
        "backoff host=1 s=120 why=Busy",
        LoggedEvent::BackOff {
            host: 1,
            seconds: 120,
            why: Some("Busy"),
        },
    ),
    (
        Event::Plan {
            price: 1.5,
            freshness: None,
            optimum: Some(0.75),
        },
        "plan price=1.5 freshness=NaN optimum=0.75",
        LoggedEvent::Plan {
            price: 1.5,
            freshness: None,
            optimum: Some(0.75),
        },
    ),
    (
        Event::Totals(TOTALS),
        "totals fetches=1 same=2 changed=3 errors=4 denied=5 bytes=6 late_s=7",
        LoggedEvent::Totals(TOTALS),
    ),
];

/// The same of URLs beyond the list.
pub const FOUND_EVENTS: &[(FoundEvent<'static>, &str, LoggedFoundEvent<'static>)] = &[
    (
        FoundEvent::Found { url: URL },
        "found url=http://a.test/b",
        LoggedFoundEvent::Found { url: URL },
    ),
    (
        FoundEvent::Kept { page: 3, url: URL },
        "kept page=3 url=http://a.test/b",
        LoggedFoundEvent::Kept { page: 3, url: URL },
    ),
    (
        FoundEvent::Admitted {
            page: 3,
            importance: 1.5,
            url: URL,
        },
        "admitted page=3 importance=1.5 url=http://a.test/b",
        LoggedFoundEvent::Admitted {
            page: 3,
            importance: 1.5,
            url: URL,
        },
    ),
    (
        FoundEvent::Replaced {
            page: 3,
            importance: 0.5,
            url: URL,
        },
        "replaced page=3 importance=0.5 url=http://a.test/b",
        LoggedFoundEvent::Replaced {
            page: 3,
            importance: 0.5,
            url: URL,
        },
    ),
    (
        FoundEvent::Refused {
            why: UrlRefusal::Depth,
            url: URL,
        },
        "refused why=Depth url=http://a.test/b",
        LoggedFoundEvent::Refused {
            why: "Depth",
            url: URL,
        },
    ),
    (
        FoundEvent::Unread {
            why: FeedError::Root,
            url: URL,
        },
        "unread why=Root url=http://a.test/b",
        LoggedFoundEvent::Unread {
            why: "Root",
            url: URL,
        },
    ),
];
const URL: &str = "http://a.test/b";

/// The same of what a board says.
pub const BOARD_EVENTS: &[(BoardEvent<'static>, &str, LoggedBoardEvent<'static>)] = &[
    (
        BoardEvent::Memory {
            flash: 1,
            ram: 2,
            stack: 3,
        },
        "memory: 1 B flash, 2 B static RAM, 3 B left for the stack",
        LoggedBoardEvent::Memory {
            flash: 1,
            ram: 2,
            stack: 3,
        },
    ),
    (
        BoardEvent::Boot {
            reset: Reset::PowerOn,
            uptime_seconds: 60,
            fast_resets: 2,
        },
        "boot reset=PowerOn after_s=60 fast=2",
        LoggedBoardEvent::Boot {
            reset: "PowerOn",
            uptime_seconds: 60,
            fast_resets: 2,
        },
    ),
    (
        BoardEvent::LastWords {
            message: "panicked: last words: 1 B, build 2",
        },
        "last words: panicked: last words: 1 B, build 2",
        LoggedBoardEvent::LastWords {
            message: "panicked: last words: 1 B, build 2",
        },
    ),
    (
        BoardEvent::Power { awake_millis: 12 },
        "power awake_ms=12",
        LoggedBoardEvent::Power { awake_millis: 12 },
    ),
    (
        BoardEvent::Tls {
            full: 4,
            resumed: 24,
            sessions: 4,
            session_bytes: 3_152,
            pool: 19_300,
        },
        "tls full=4 resumed=24 sessions=4 session_bytes=3152 pool=19300",
        LoggedBoardEvent::Tls {
            full: 4,
            resumed: 24,
            sessions: 4,
            session_bytes: 3_152,
            pool: 19_300,
        },
    ),
    (
        BoardEvent::Updates {
            state: "trial",
            attempt: 2,
            sequence: 7,
            counter: 1,
            list: 9,
            half: 1,
            refused: 6,
            why: "digest",
        },
        "updates slot=active state=trial attempt=2 sequence=7 counter=1 list=9 half=1 refused=6 why=digest",
        LoggedBoardEvent::Updates {
            state: "trial",
            attempt: 2,
            sequence: 7,
            counter: 1,
            list: 9,
            half: 1,
            refused: 6,
            why: "digest",
        },
    ),
    (
        BoardEvent::UpdateRefused {
            kind: "list",
            sequence: 3,
            why: "signature",
        },
        "update refused kind=list sequence=3 why=signature",
        LoggedBoardEvent::UpdateRefused {
            kind: "list",
            sequence: 3,
            why: "signature",
        },
    ),
    (
        BoardEvent::UpdateReady {
            kind: "firmware",
            sequence: 3,
            bytes: 4,
        },
        "update ready kind=firmware sequence=3 bytes=4",
        LoggedBoardEvent::UpdateReady {
            kind: "firmware",
            sequence: 3,
            bytes: 4,
        },
    ),
    (
        BoardEvent::UpdateConfirmed { sequence: 3 },
        "update confirmed sequence=3",
        LoggedBoardEvent::UpdateConfirmed { sequence: 3 },
    ),
    (
        BoardEvent::UpdateRolledBack {
            sequence: 3,
            attempt: 1,
            why: "hang",
        },
        "update rolled back sequence=3 attempt=1 why=hang",
        LoggedBoardEvent::UpdateRolledBack {
            sequence: 3,
            attempt: 1,
            why: "hang",
        },
    ),
    (
        BoardEvent::ResetLoop { fast_resets: 4 },
        "4 resets within a minute each: starting with nothing restored",
        LoggedBoardEvent::ResetLoop { fast_resets: 4 },
    ),
    (
        BoardEvent::NoTask,
        "no room for a task",
        LoggedBoardEvent::NoTask,
    ),
    (
        BoardEvent::KeyNotKept,
        "the device's key could not be kept",
        LoggedBoardEvent::KeyNotKept,
    ),
    (
        BoardEvent::NoNetwork,
        "no network to join: `cargo xtask flash` sets one",
        LoggedBoardEvent::NoNetwork,
    ),
    (
        BoardEvent::Joined {
            network: "a roof; of ours",
        },
        "joined a roof; of ours",
        LoggedBoardEvent::Joined {
            network: "a roof; of ours",
        },
    ),
    (
        BoardEvent::NotJoined {
            network: "a roof; of ours",
            seconds: 5,
        },
        "not joined to a roof; of ours; once more in 5 s",
        LoggedBoardEvent::NotJoined {
            network: "a roof; of ours",
            seconds: 5,
        },
    ),
    (
        BoardEvent::NoBroker,
        "the settings name no broker that can be asked: this probe is alone",
        LoggedBoardEvent::NoBroker,
    ),
    (
        BoardEvent::NoCollector {
            why: CollectorError::Https,
        },
        "nothing is collected: Https",
        LoggedBoardEvent::NoCollector { why: "Https" },
    ),
    (
        BoardEvent::NoPushKeys,
        "no push-keys in the settings: nobody is heard",
        LoggedBoardEvent::NoPushKeys,
    ),
    (
        BoardEvent::NoPushPort { port: 5_683 },
        "nobody listens at port 5683",
        LoggedBoardEvent::NoPushPort { port: 5_683 },
    ),
    (
        BoardEvent::PushRefused {
            why: DatagramError::Key,
        },
        "a push is not heeded: Key",
        LoggedBoardEvent::PushRefused { why: "Key" },
    ),
    (
        BoardEvent::PushUnlisted { url: URL },
        "a push of what is not in the list: http://a.test/b",
        LoggedBoardEvent::PushUnlisted { url: URL },
    ),
    (
        BoardEvent::Pushed { page: 7, sender: 1 },
        "page 7 was pushed by sender 1",
        LoggedBoardEvent::Pushed { page: 7, sender: 1 },
    ),
    (
        BoardEvent::Awake { micros: 34 },
        "awake us=34",
        LoggedBoardEvent::Awake { micros: 34 },
    ),
    (
        BoardEvent::Done {
            millis: 5,
            stack: 6,
        },
        "done after 5 ms, stack high-water mark 6 B",
        LoggedBoardEvent::Done {
            millis: 5,
            stack: 6,
        },
    ),
    (
        BoardEvent::Here {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: 0xff,
        },
        "here dunlin on qemu-mps2 0.1.0, build 00000000000000ff",
        LoggedBoardEvent::Here {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: "00000000000000ff",
        },
    ),
    (
        BoardEvent::Banner {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: 0xff,
        },
        "dunlin on qemu-mps2 0.1.0, build 00000000000000ff",
        LoggedBoardEvent::Banner {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: "00000000000000ff",
        },
    ),
];

/// The same of the link to a planner.
pub const FLEET_EVENTS: &[(FleetEvent, &str, LoggedFleetEvent<'static>)] = &[
    (FleetEvent::Joined, "fleet joined", LoggedFleetEvent::Joined),
    (
        FleetEvent::Left {
            why: LinkError::Refused(0x87),
        },
        "fleet left why=Refused(135)",
        LoggedFleetEvent::Left {
            why: "Refused(135)",
        },
    ),
    (
        FleetEvent::Untrusted {
            why: TlsError::Issuer,
        },
        "fleet untrusted why=Issuer",
        LoggedFleetEvent::Untrusted { why: "Issuer" },
    ),
    (
        FleetEvent::Granted {
            number: 3,
            budget: 2_000.5,
            lease_millis: 60_000,
        },
        "fleet granted number=3 budget=2000.5 lease_ms=60000",
        LoggedFleetEvent::Granted {
            number: 3,
            budget: 2_000.5,
            lease_millis: 60_000,
        },
    ),
    (
        FleetEvent::Announced { list: 7 },
        "fleet announced list=7",
        LoggedFleetEvent::Announced { list: 7 },
    ),
    (
        FleetEvent::Listed { list: 7 },
        "fleet listed list=7",
        LoggedFleetEvent::Listed { list: 7 },
    ),
    (
        FleetEvent::NotListed {
            list: 7,
            why: ListError::Status(404),
        },
        "fleet not listed list=7 why=Status(404)",
        LoggedFleetEvent::NotListed {
            list: 7,
            why: "Status(404)",
        },
    ),
    (FleetEvent::Paused, "fleet paused", LoggedFleetEvent::Paused),
    (
        FleetEvent::Resumed,
        "fleet resumed",
        LoggedFleetEvent::Resumed,
    ),
];
