//! Who says what time it is: no host, and no owner of one name, decides it beside others.

use dunlin::fetch::HttpDate;
use dunlin::probe::Event;
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::{GAP, no_robots};
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

/// What time it is when a world begins, in seconds since 1970.
const START: u64 = 1_794_000_000;

/// What the clock of a probe was set to, in seconds since 1970.
pub fn clocks(world: &World) -> Vec<(Duration, u32)> {
    let events = world.events.borrow();
    let clocks = events.iter().filter_map(|(at, event)| match event {
        Event::Clock { unix, .. } => Some((*at, *unix)),
        _ => None,
    });
    clocks.collect()
}

/// A run with a store, which has to know the time.
pub fn keeping_time(setting: &Setting, site: impl Fn(&Hit) -> Answer + 'static) -> World {
    let mut store = Store::new(Flash::<16, 4096, 4>::blank());
    let keeper = Keeper {
        store: &mut store,
        how: Keeping::AsItShould,
    };
    setting.run_keeping(Some(keeper), site, |_, _| ()).0
}

pub fn dated(body: &str, at: Duration) -> Answer {
    let date = HttpDate::from_unix(START + at.as_secs()).expect("a date");
    let date = String::from_utf8_lossy(&date.format()).into_owned();
    Answer::new(200, &format!("Date: {date}\r\n"), body)
}

#[test]
fn one_of_ten_hosts_does_not_set_the_clock_before_an_hour() {
    const NAMES: [&str; 10] = [
        "0.test", "1.test", "2.test", "3.test", "4.test", "5.test", "6.test", "7.test", "8.test",
        "9.test",
    ];
    for (speakers, earliest, latest) in [(1, 3_600, 3_700), (2, 3_600, 3_700), (3, 0, 100)] {
        let hosts = NAMES.map(|host| (host, &["/page"][..]));
        let setting = Setting {
            seconds: 7_200,
            ..Setting::of(GAP, &hosts)
        };
        let world = keeping_time(&setting, move |hit| {
            let speaks = NAMES.iter().take(speakers).any(|host| *host == hit.host);
            no_robots(hit).unwrap_or_else(|| match speaks {
                true => dated("here", hit.at),
                false => Answer::page("here"),
            })
        });
        let first = clocks(&world).first().map(|(at, _)| at.as_secs());
        assert!(
            first.is_some_and(|at| (earliest..latest).contains(&at)),
            "{speakers} of ten have set it at {first:?}"
        );
    }
}

/// One name, and one address, by several ports.
const PORTS: [[&str; 3]; 2] = [
    ["b.test", "b.test:81", "b.test:82"],
    [
        "[2606:2800:21f::1]",
        "[2606:2800:21f::1]:81",
        "[2606:2800:21f::1]:82",
    ],
];

#[test]
fn all_ports_of_a_name_have_one_voice_about_the_time() {
    const WRONG: Duration = Duration::from_secs(365 * 86_400);
    for ports in PORTS {
        let honest = ["x.test", "y.test", "z.test"];
        let hosts = honest.into_iter().chain(ports);
        let hosts: Vec<(&'static str, &[&'static str])> =
            hosts.map(|host| (host, &["/page"][..])).collect();
        let world = keeping_time(&Setting::of(GAP, &hosts), move |hit| {
            let lies = ports.contains(&&*hit.host);
            // Whoever lies speaks first.
            let late = hit.at > Duration::from_secs(200);
            no_robots(hit).unwrap_or_else(|| match (lies, late) {
                (true, _) => dated("here", hit.at + WRONG),
                (false, true) => dated("here", hit.at),
                (false, false) => Answer::page("here"),
            })
        });
        for host in ports {
            let asked = world.asked(host, "/page").len();
            assert!(asked > 10, "{host} was asked {asked} times");
        }
        let clocks = clocks(&world);
        assert!(!clocks.is_empty(), "three honest hosts agree");
        let off = |(at, unix): &(Duration, u32)| u64::from(*unix).abs_diff(START + at.as_secs());
        assert!(clocks.iter().all(|clock| off(clock) < 60), "{clocks:?}");
    }
}
