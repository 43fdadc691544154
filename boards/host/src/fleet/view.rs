//! A fleet as others see it: as JSON, as figures for Prometheus, in Home Assistant.

use std::fmt::Write as _;
use std::time::Duration;

use dunlin::fleet::{ProbeTopic, topic};
use dunlin::time::Instant;
use serde::{Deserialize, Serialize};

use super::collection::Holder;
use super::coordinator::{Coordinator, Ignored};
use super::link::Outgoing;
use crate::output::Table;

/// The whole fleet as people and programs see it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FleetView {
    /// The name of the fleet.
    pub fleet: String,
    /// Counts the planner's starts.
    pub epoch: u32,
    /// Pages of the collection.
    pub pages: usize,
    /// How many pages no probe has at present.
    pub pages_without_owner: usize,
    /// Hosts, or groups of them.
    pub hosts: usize,
    /// How many hosts are on their way from one probe to another.
    pub hosts_moving: usize,
    /// Fetches a day, over all probes.
    pub budget: f32,
    /// What all of them together may believe to have.
    pub granted: f64,
    /// Mean freshness of the pages that somebody has, as the probes believe.
    pub freshness: Option<f64>,
    /// Visits that were heard of since the planner started.
    pub visits: u64,
    /// How many visits found a change.
    pub changes: u64,
    /// Messages that were not used.
    pub ignored: Ignored,
    /// Seconds since the planner was last heard of, for who listens to its broker; 0 at the planner.
    #[serde(default)]
    pub planner_silent_s: f64,
    /// All probes that the planner knows.
    pub probes: Vec<ProbeView>,
}

/// A planner says this often that it is there.
pub const PUBLISHED: Duration = Duration::from_secs(5);
/// One that has said nothing for so long is gone, or its broker's connection is.
const SILENT: Duration = Duration::from_secs(15);

impl FleetView {
    /// Has its planner said nothing for longer than it ever does?
    pub fn is_silent(&self) -> bool {
        self.planner_silent_s > SILENT.as_secs_f64()
    }
}

/// One probe as people and programs see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeView {
    /// The name that it reports under.
    pub id: String,
    /// The broker says that it is connected.
    pub online: bool,
    /// It was heard of within a lease's time.
    pub here: bool,
    /// It was told to fetch nothing.
    pub paused: bool,
    /// Seconds until its lease is over everywhere; 0 for none.
    pub lease_s: f64,
    /// The version of the list that was made for it …
    pub list: u32,
    /// … and of the one that it crawls.
    pub list_in_force: u32,
    /// Pages on its list.
    pub pages: usize,
    /// Fetches a day that it was granted …
    pub budget: f32,
    /// … and should have.
    pub target: f32,
    /// What a fetch is worth to it.
    pub price: f32,
    /// How much its demand falls when the price rises.
    pub elasticity: f32,
    /// Mean freshness of its pages, as it believes.
    pub freshness: f32,
    /// Fetches since it started.
    pub fetches: u32,
    /// How many fetches failed.
    pub errors: u32,
    /// Visits that were heard of since the planner started.
    pub visits: u64,
}

impl Coordinator {
    /// The fleet as it is now.
    pub fn view(&self, now: Instant) -> FleetView {
        let probes: Vec<ProbeView> = (0..self.roster.probes().len())
            .filter_map(|number| self.probe_view(number, now))
            .collect();
        let groups = self.collection.groups();
        let moving = |holder: &Holder| matches!(holder, Holder::Leaving { .. });
        let without = groups.iter().filter(|group| group.holder.owner().is_none());
        let here = probes.iter().filter(|probe| probe.here && probe.pages > 0);
        let (mut fresh, mut pages) = (0.0, 0.0);
        for probe in here {
            if (0.0..=1.0).contains(&probe.freshness) {
                fresh += f64::from(probe.freshness) * probe.pages as f64;
                pages += probe.pages as f64;
            }
        }
        FleetView {
            fleet: self.settings.fleet.clone(),
            epoch: self.planner.rules().epoch,
            pages: self.collection.pages(),
            pages_without_owner: without.map(|group| group.pages as usize).sum(),
            hosts: groups.iter().filter(|group| group.pages > 0).count(),
            hosts_moving: groups.iter().filter(|group| moving(&group.holder)).count(),
            budget: self.settings.budget,
            granted: self.planner.committed(now),
            freshness: (pages > 0.0).then(|| fresh / pages),
            visits: probes.iter().map(|probe| probe.visits).sum(),
            changes: self.roster.probes().iter().map(|probe| probe.changes).sum(),
            ignored: self.ignored,
            planner_silent_s: 0.0,
            probes,
        }
    }

    fn probe_view(&self, number: usize, now: Instant) -> Option<ProbeView> {
        let probe = self.roster.get(number)?;
        let entry = self.planner.entries().get(number)?;
        let report = entry.report;
        let left = entry.ledger.leased_until(self.settings.drift) - now;
        // JSON has no infinities, and a probe may say anything.
        let number = |value: f32| if value.is_finite() { value } else { 0.0 };
        let said = |what: fn(&dunlin::fleet::Report) -> f32| {
            report.as_ref().map_or(0.0, |report| number(what(report)))
        };
        Some(ProbeView {
            id: probe.name.clone(),
            online: probe.online,
            here: entry.is_here(self.planner.rules(), now),
            paused: probe.paused,
            lease_s: left.as_secs_f64(),
            list: entry.ledger.list(),
            list_in_force: report.map_or(0, |report| report.list),
            pages: probe.list.pages.len(),
            budget: entry.ledger.committed(self.settings.drift, now),
            target: entry.target(),
            price: said(|report| report.outlook.price),
            elasticity: said(|report| report.outlook.elasticity),
            freshness: said(|report| report.outlook.freshness),
            fetches: report.map_or(0, |report| report.outlook.fetches),
            errors: report.map_or(0, |report| report.outlook.errors),
            visits: probe.visits,
        })
    }
}

/// The probes as comma-separated values, all that JSON says of each under the same names. Whoever
/// prints several has the names once.
pub fn csv(view: &FleetView, with_names: bool) -> String {
    let mut table = Table::new(&[
        "id",
        "online",
        "here",
        "paused",
        "lease_s",
        "list",
        "list_in_force",
        "pages",
        "budget",
        "target",
        "price",
        "elasticity",
        "freshness",
        "fetches",
        "errors",
        "visits",
    ]);
    for probe in &view.probes {
        table.row(vec![
            probe.id.clone(),
            probe.online.to_string(),
            probe.here.to_string(),
            probe.paused.to_string(),
            probe.lease_s.to_string(),
            probe.list.to_string(),
            probe.list_in_force.to_string(),
            probe.pages.to_string(),
            probe.budget.to_string(),
            probe.target.to_string(),
            probe.price.to_string(),
            probe.elasticity.to_string(),
            probe.freshness.to_string(),
            probe.fetches.to_string(),
            probe.errors.to_string(),
            probe.visits.to_string(),
        ]);
    }
    let text = table.to_csv();
    match text.split_once('\n') {
        Some((_, rows)) if !with_names => rows.to_owned(),
        _ => text,
    }
}

/// The probes for people.
pub fn table(view: &FleetView) -> Table {
    let mut table = Table::new(&[
        "id",
        "here",
        "paused",
        "lease_s",
        "pages",
        "budget",
        "price",
        "freshness",
    ]);
    for probe in &view.probes {
        table.row(vec![
            probe.id.clone(),
            probe.here.to_string(),
            probe.paused.to_string(),
            format!("{:.0}", probe.lease_s),
            probe.pages.to_string(),
            format!("{:.1}", probe.budget),
            format!("{:.5}", probe.price),
            format!("{:.3}", probe.freshness),
        ]);
    }
    table
}

/// The whole in one line, for whoever watches.
pub fn line(view: &FleetView) -> String {
    let here = view.probes.iter().filter(|probe| probe.here).count();
    let leased = view
        .probes
        .iter()
        .filter(|probe| probe.lease_s > 0.0)
        .count();
    let mut line = format!(
        "{here} of {} probes here, {leased} leased, {} pages on {} hosts",
        view.probes.len(),
        view.pages,
        view.hosts
    );
    if view.pages_without_owner > 0 {
        let _ = write!(line, ", {} pages without a probe", view.pages_without_owner);
    }
    if view.hosts_moving > 0 {
        let _ = write!(line, ", {} hosts moving", view.hosts_moving);
    }
    let _ = write!(
        line,
        ", {:.0} of {:.0} fetches a day granted",
        view.granted, view.budget
    );
    if let Some(freshness) = view.freshness {
        let _ = write!(line, ", freshness {:.1} %", freshness * 100.0);
    }
    if view.is_silent() {
        // Without a number, which would make another line each second.
        line += ", and no word from the planner for a while";
    }
    line
}

/// What a family of figures says of a probe.
type Sample = fn(&ProbeView) -> f64;

const PER_PROBE: &[(&str, &str, &str, Sample)] = &[
    (
        "dunlin_fleet_probe_here",
        "gauge",
        "1 while the probe was heard of within a lease's time.",
        |probe| f64::from(u8::from(probe.here)),
    ),
    (
        "dunlin_fleet_probe_online",
        "gauge",
        "1 while the broker says that the probe is connected.",
        |probe| f64::from(u8::from(probe.online)),
    ),
    (
        "dunlin_fleet_probe_lease_seconds",
        "gauge",
        "Time until the probe's lease is over everywhere.",
        |probe| probe.lease_s,
    ),
    (
        "dunlin_fleet_probe_pages",
        "gauge",
        "Pages on the probe's list.",
        |probe| probe.pages as f64,
    ),
    (
        "dunlin_fleet_probe_budget_per_day",
        "gauge",
        "Fetches a day that the probe may believe to have.",
        |probe| probe.budget.into(),
    ),
    (
        "dunlin_fleet_probe_price",
        "gauge",
        "What a fetch is worth to the probe, in weight times days of freshness.",
        |probe| probe.price.into(),
    ),
    (
        "dunlin_fleet_probe_freshness_ratio",
        "gauge",
        "Weighted mean freshness, as the probe believes.",
        |probe| probe.freshness.into(),
    ),
    (
        "dunlin_fleet_probe_fetches_total",
        "counter",
        "Fetches since the probe started.",
        |probe| probe.fetches.into(),
    ),
    (
        "dunlin_fleet_probe_errors_total",
        "counter",
        "Fetches since the probe started that failed.",
        |probe| probe.errors.into(),
    ),
];

/// The figures of a fleet as Prometheus reads them.
pub fn metrics(view: &FleetView) -> String {
    let fleet = escape(&view.fleet);
    let mut text = String::new();
    let whole: [(&str, &str, &str, f64); 9] = [
        (
            "pages",
            "gauge",
            "Pages of the collection.",
            view.pages as f64,
        ),
        (
            "pages_without_owner",
            "gauge",
            "Pages that no probe has at present.",
            view.pages_without_owner as f64,
        ),
        (
            "hosts_moving",
            "gauge",
            "Hosts on their way from one probe to another.",
            view.hosts_moving as f64,
        ),
        (
            "budget_per_day",
            "gauge",
            "Fetches a day, over all probes.",
            view.budget.into(),
        ),
        (
            "granted_per_day",
            "gauge",
            "Fetches a day that all probes together may believe to have.",
            view.granted,
        ),
        (
            "visits_total",
            "counter",
            "Visits that were heard of.",
            view.visits as f64,
        ),
        (
            "changes_total",
            "counter",
            "Visits that found a change.",
            view.changes as f64,
        ),
        (
            "messages_ignored_total",
            "counter",
            "Messages that were stale, foreign or no messages.",
            (view.ignored.stale + view.ignored.foreign + view.ignored.nonsense) as f64,
        ),
        (
            "planner_silent_seconds",
            "gauge",
            "Time since the planner was last heard of, by who listens to its broker.",
            view.planner_silent_s,
        ),
    ];
    for (name, kind, help, value) in whole {
        let _ = writeln!(
            text,
            "# HELP dunlin_fleet_{name} {help}\n# TYPE dunlin_fleet_{name} {kind}\ndunlin_fleet_{name}{{fleet=\"{fleet}\"}} {value}"
        );
    }
    if let Some(freshness) = view.freshness {
        let name = "dunlin_fleet_freshness_ratio";
        let _ = writeln!(
            text,
            "# HELP {name} Mean freshness over all pages that a probe has.\n# TYPE {name} gauge\n{name}{{fleet=\"{fleet}\"}} {freshness}"
        );
    }
    for (name, kind, help, sample) in PER_PROBE {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for probe in &view.probes {
            let id = escape(&probe.id);
            let _ = writeln!(
                text,
                "{name}{{fleet=\"{fleet}\",probe=\"{id}\"}} {}",
                sample(probe)
            );
        }
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Where the state of the whole fleet is published as JSON, without its probes.
pub fn fleet_topic(fleet: &str) -> String {
    format!("dunlin/1/{fleet}/planner/fleet")
}

/// Where a probe's state is published as JSON.
pub fn probe_topic(fleet: &str, probe: &str) -> String {
    format!("dunlin/1/{fleet}/planner/probe/{probe}")
}

/// What everybody on the broker can read: the fleet as JSON, each time, as a sign of life, and a
/// message for each probe that has changed since it was last looked at. The broker keeps them.
pub fn republished(view: &FleetView, last: &[ProbeView]) -> Vec<Outgoing> {
    let whole = FleetView {
        probes: Vec::new(),
        ..view.clone()
    };
    let whole = serde_json::to_vec(&whole).unwrap_or_default();
    let whole = Outgoing::new(fleet_topic(&view.fleet), whole).retained();
    // A probe's number is for ever.
    let is_new = |(number, probe): &(usize, &ProbeView)| {
        let last = last.get(*number);
        last.is_none_or(|last| has_changed(probe, last))
    };
    let probes = view.probes.iter().enumerate().filter(is_new);
    let probes = probes.map(|(_, probe)| {
        let text = serde_json::to_vec(probe).unwrap_or_default();
        Outgoing::new(probe_topic(&view.fleet, &probe.id), text).retained()
    });
    std::iter::once(whole).chain(probes).collect()
}

/// Is there news of a probe? That its lease has become shorter is none, but that it is over, or
/// holds longer.
fn has_changed(probe: &ProbeView, last: &ProbeView) -> bool {
    let is_leased = |probe: &ProbeView| probe.lease_s > 0.0;
    let same_time = ProbeView {
        lease_s: last.lease_s,
        ..probe.clone()
    };
    is_leased(probe) != is_leased(last) || probe.lease_s > last.lease_s || same_time != *last
}

/// What Home Assistant reads of a probe: name, unit, and the field of the JSON.
const SENSORS: [(&str, &str, &str, &str); 5] = [
    (
        "freshness",
        "Freshness",
        "%",
        "{{ (value_json.freshness * 100) | round(1) }}",
    ),
    ("pages", "Pages", "pages", "{{ value_json.pages }}"),
    (
        "budget",
        "Budget",
        "fetches/d",
        "{{ value_json.budget | round(0) }}",
    ),
    ("lease", "Lease", "s", "{{ value_json.lease_s | round(0) }}"),
    ("errors", "Errors", "fetches", "{{ value_json.errors }}"),
];

/// Messages by which Home Assistant finds a probe. The broker keeps them.
pub fn discovery(fleet: &str, probe: &str) -> Vec<Outgoing> {
    let state = probe_topic(fleet, probe);
    let presence = topic(fleet, probe, ProbeTopic::State);
    let node = format!("dunlin_{fleet}_{probe}").replace('.', "_");
    let sensor = |(field, name, unit, template): (&str, &str, &str, &str)| {
        let config = serde_json::json!({
            "name": name,
            "unique_id": format!("{node}_{field}"),
            "state_topic": state,
            "value_template": template,
            "unit_of_measurement": unit,
            "device": {
                "identifiers": [node],
                "name": format!("{probe} of {fleet}"),
                "manufacturer": "dunlin",
                "model": "probe",
            },
        });
        let place = format!("homeassistant/sensor/{node}/{field}/config");
        Outgoing::new(place, config.to_string()).retained()
    };
    // A name that is no topic is none of Home Assistant's, either.
    match presence {
        Some(_) => SENSORS.into_iter().map(sensor).collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> FleetView {
        FleetView {
            fleet: "ro\"of".into(),
            epoch: 2,
            pages: 10,
            pages_without_owner: 1,
            hosts: 3,
            hosts_moving: 1,
            budget: 100.0,
            granted: 90.0,
            freshness: Some(0.9),
            visits: 5,
            changes: 1,
            ignored: Ignored::default(),
            planner_silent_s: 0.0,
            probes: vec![ProbeView {
                id: "p\\1".into(),
                online: true,
                here: true,
                paused: false,
                lease_s: 12.0,
                list: 3,
                list_in_force: 3,
                pages: 9,
                budget: 90.0,
                target: 90.0,
                price: 0.1,
                elasticity: 1.0,
                freshness: 0.9,
                fetches: 7,
                errors: 1,
                visits: 5,
            }],
        }
    }

    #[test]
    fn figures_are_escaped_and_each_family_is_named_once() {
        let text = metrics(&view());
        let labels = "{fleet=\"ro\\\"of\",probe=\"p\\\\1\"}";
        assert!(
            text.contains(&format!("dunlin_fleet_probe_pages{labels} 9\n")),
            "{text}"
        );
        assert!(text.contains("dunlin_fleet_granted_per_day{fleet=\"ro\\\"of\"} 90\n"));
        let helps: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("# HELP"))
            .collect();
        let mut once = helps.clone();
        once.dedup();
        assert_eq!(helps, once);
    }

    #[test]
    fn a_probe_is_told_of_again_when_more_has_changed_than_the_time_that_its_lease_has_left() {
        let then = view();
        let told = |probe: ProbeView| {
            let now = FleetView {
                probes: vec![probe],
                ..view()
            };
            let sent = republished(&now, &then.probes);
            assert_eq!(sent[0].topic, fleet_topic(&now.fleet), "a sign of life");
            sent.len() == 2
        };
        let probe = || then.probes[0].clone();
        let leased = |lease_s| ProbeView { lease_s, ..probe() };
        assert_eq!(republished(&then, &[]).len(), 2, "somebody new");
        assert!(!told(probe()));
        assert!(!told(leased(7.0)), "time passes");
        assert!(told(leased(60.0)), "the lease holds longer");
        assert!(told(leased(0.0)), "the lease is over");
        let fetched = ProbeView {
            fetches: 8,
            ..leased(7.0)
        };
        assert!(told(fetched));
    }

    #[test]
    fn the_whole_is_said_in_a_line() {
        assert_eq!(
            line(&view()),
            "1 of 1 probes here, 1 leased, 10 pages on 3 hosts, 1 pages without a probe, 1 hosts moving, 90 of 100 fetches a day granted, freshness 90.0 %"
        );
        let silent = FleetView {
            planner_silent_s: 16.0,
            ..view()
        };
        assert!(line(&silent).ends_with("no word from the planner for a while"));
    }

    #[test]
    fn home_assistant_finds_a_probe_by_json() {
        let found = discovery("roof", "p.1");
        assert_eq!(found.len(), SENSORS.len());
        for message in found {
            assert!(message.retained);
            assert!(
                message
                    .topic
                    .starts_with("homeassistant/sensor/dunlin_roof_p_1/")
            );
            let config: serde_json::Value = serde_json::from_slice(&message.payload).expect("JSON");
            assert_eq!(config["state_topic"], "dunlin/1/roof/planner/probe/p.1");
        }
        assert!(discovery("roof", "a/b").is_empty());
    }
}
