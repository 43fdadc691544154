//! The figures in Prometheus' text format, version 0.0.4.

use std::fmt::Write as _;

use super::counts::DURATIONS;
use super::host_stats::TellerFigures;
use super::state::MonitoredProbe;
use super::view::View;
use crate::news::Kind;

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How a family's samples are made of one probe.
type Samples = fn(&MonitoredProbe, &View, &mut Family<'_>);

/// Every family: name, type, help, samples. Names end in their unit, counters in `_total`.
const FAMILIES: &[(&str, &str, &str, Samples)] = &[
    (
        "dunlin_probe_info",
        "gauge",
        "The firmware that speaks, by its boot banner; always 1.",
        |_, view, family| {
            if let (Some(firmware), Some(build)) = (&view.firmware, &view.build) {
                family.labelled(&[("firmware", firmware), ("build", build)], 1.0);
            }
        },
    ),
    (
        "dunlin_stream_up",
        "gauge",
        "1 while the probe's log can be read.",
        |_, view, family| {
            family.value(u64::from(view.live) as f64);
        },
    ),
    (
        "dunlin_network_up",
        "gauge",
        "1 while the probe has an address.",
        |_, view, family| {
            family.maybe(view.online.map(|online| u64::from(online) as f64));
        },
    ),
    (
        "dunlin_boots_total",
        "counter",
        "Boots seen in the log.",
        |probe, _, family| {
            family.value(probe.boots as f64);
        },
    ),
    (
        "dunlin_fetches_total",
        "counter",
        "Pages that were answered, redirects included.",
        |_, view, family| {
            family.value(view.fetches as f64);
        },
    ),
    (
        "dunlin_not_modified_total",
        "counter",
        "Pages that were answered 304 Not Modified.",
        |_, view, family| {
            family.value(view.not_modified as f64);
        },
    ),
    (
        "dunlin_changes_total",
        "counter",
        "Versions found that differ from the one before.",
        |_, view, family| {
            family.value(view.changed as f64);
        },
    ),
    (
        "dunlin_first_versions_total",
        "counter",
        "First versions of pages, which are no changes.",
        |_, view, family| {
            family.value(view.first_versions as f64);
        },
    ),
    (
        "dunlin_news_total",
        "counter",
        "News by kind, with the names that dunlin run has for its events.",
        |probe, _, family| {
            for (kind, count) in Kind::ALL.iter().zip(probe.counts.news) {
                family.labelled(&[("event", kind.name())], count as f64);
            }
        },
    ),
    (
        "dunlin_fetch_errors_total",
        "counter",
        "Requests without a usable answer, by kind; of https by reason, such as Tls(Expired).",
        |_, view, family| {
            for (kind, count) in &view.errors_by_kind {
                family.labelled(&[("kind", kind)], *count as f64);
            }
        },
    ),
    (
        "dunlin_tls_handshakes_total",
        "counter",
        "Handshakes of https since the probe's boot: full ones, and those that resumed a session.",
        |probe, _, family| {
            if let Some(said) = probe.handshakes {
                family.labelled(&[("kind", "full")], said.full.into());
                family.labelled(&[("kind", "resumed")], said.resumed.into());
            }
        },
    ),
    (
        "dunlin_tls_sessions",
        "gauge",
        "Sessions of https that are kept to be resumed.",
        |probe, _, family| family.maybe(probe.handshakes.map(|said| said.sessions.into())),
    ),
    (
        "dunlin_tls_pool_peak_bytes",
        "gauge",
        "The most bytes of the pool for https that were ever in use beside sessions.",
        |probe, _, family| family.maybe(probe.handshakes.map(|said| said.pool.into())),
    ),
    (
        "dunlin_update_release",
        "gauge",
        "The release in use, by kind: firmware or list.",
        |probe, _, family| {
            if let Some(said) = &probe.updates {
                family.labelled(&[("kind", "firmware")], said.sequence.into());
                family.labelled(&[("kind", "list")], said.list.into());
            }
        },
    ),
    (
        "dunlin_update_on_trial",
        "gauge",
        "Whether the firmware is on trial: 1 or 0.",
        |probe, _, family| {
            let trial = probe.updates.as_ref().map(|said| said.is_on_trial());
            family.maybe(trial.map(|trial| f64::from(u8::from(trial))));
        },
    ),
    (
        "dunlin_update_refused_release",
        "gauge",
        "The release that was refused or rolled back last, by reason.",
        |probe, _, family| {
            let said = probe.updates.as_ref();
            if let Some((said, why)) = said.and_then(|said| Some((said, said.refusal()?))) {
                family.labelled(&[("why", why)], said.refused.into());
            }
        },
    ),
    (
        "dunlin_redirects_not_followed_total",
        "counter",
        "Redirects that were not followed, by reason; NeedsTls: to https, without a gateway.",
        |probe, _, family| {
            for (why, count) in &probe.counts.astray {
                family.labelled(&[("why", why)], *count as f64);
            }
        },
    ),
    (
        "dunlin_flagged_total",
        "counter",
        "Answers compressed unasked (encoded), or longer than what is read of them (cut).",
        |probe, _, family| {
            family.labelled(&[("what", "encoded")], probe.counts.encoded as f64);
            family.labelled(&[("what", "cut")], probe.counts.cut as f64);
        },
    ),
    (
        "dunlin_collected_total",
        "counter",
        "Versions that a collector has said it has.",
        |probe, _, family| {
            family.value(probe.counts.collected as f64);
        },
    ),
    (
        "dunlin_uncollected_total",
        "counter",
        "Versions that a collector did not get, by reason; they are fetched again.",
        |probe, _, family| {
            for (why, count) in &probe.counts.uncollected {
                family.labelled(&[("why", why)], *count as f64);
            }
        },
    ),
    (
        "dunlin_collection",
        "gauge",
        "Pages that are kept, places for them, and candidates, of a probe that looks beyond its list.",
        |probe, _, family| {
            if let Some(it) = &probe.collection {
                family.labelled(&[("what", "pages")], it.pages.into());
                family.labelled(&[("what", "places")], it.places.into());
                family.labelled(&[("what", "candidates")], it.candidates.into());
            }
        },
    ),
    (
        "dunlin_discovered_total",
        "counter",
        "URLs found, pages admitted, replaced and refused, since the probe's last boot.",
        |probe, _, family| {
            if let Some(it) = &probe.collection {
                family.labelled(&[("what", "found")], it.found.into());
                family.labelled(&[("what", "admitted")], it.admitted.into());
                family.labelled(&[("what", "replaced")], it.replaced.into());
                family.labelled(&[("what", "refused")], it.refused.into());
            }
        },
    ),
    (
        "dunlin_robots_denied_total",
        "counter",
        "Turns that robots.txt forbade.",
        |_, view, family| {
            family.value(view.robots_denied as f64);
        },
    ),
    (
        "dunlin_body_bytes_total",
        "counter",
        "Bytes of page bodies received.",
        |_, view, family| {
            family.value(view.bytes as f64);
        },
    ),
    (
        "dunlin_fetch_duration_seconds",
        "histogram",
        "Time from a page's name to its last byte.",
        |probe, _, family| {
            family.histogram(&DURATIONS, &probe.counts.durations, probe.counts.seconds);
        },
    ),
    (
        "dunlin_freshness_ratio",
        "gauge",
        "Weighted mean probability that copies are fresh, as the probe last reported.",
        |_, view, family| family.maybe(view.freshness_reported),
    ),
    (
        "dunlin_freshness_estimate_ratio",
        "gauge",
        "The same now, as the monitor estimates it from the log.",
        |_, view, family| family.maybe(view.freshness),
    ),
    (
        "dunlin_freshness_optimum_ratio",
        "gauge",
        "The best freshness for the probe's budget, as far as it knows rates.",
        |_, view, family| family.maybe(view.optimum),
    ),
    (
        "dunlin_pages",
        "gauge",
        "Pages the probe watches.",
        |probe, _, family| {
            family.maybe(probe.loaded.map(|(pages, _)| pages.into()));
        },
    ),
    (
        "dunlin_hosts",
        "gauge",
        "Hosts the pages are on, by the state of their gate.",
        |_, view, family| {
            use super::host_stats::GateState::{BackingOff, Open, Unused, Waiting};
            let states = [
                (Unused, "unused"),
                (Open, "open"),
                (Waiting, "waiting"),
                (BackingOff, "backing_off"),
            ];
            for (state, name) in states {
                let count = view.hosts.iter().filter(|host| host.state == state).count();
                family.labelled(&[("state", name)], count as f64);
            }
        },
    ),
    (
        "dunlin_host_hints_precision_ratio",
        "gauge",
        "The share of what a host says about its pages that is true.",
        |_, view, family| each_teller(view, family, |tells| tells.precision),
    ),
    (
        "dunlin_host_hints_recall_ratio",
        "gauge",
        "The share of its changes that a host tells of.",
        |_, view, family| each_teller(view, family, |tells| tells.recall),
    ),
    (
        "dunlin_host_hints_delay_seconds",
        "gauge",
        "From a change until its host told of it, on average of the last time.",
        |_, view, family| each_teller(view, family, |tells| tells.delay_s),
    ),
    (
        "dunlin_host_hints_saved_visits_per_day",
        "gauge",
        "Visits a day that what a host says about its pages saves.",
        |_, view, family| each_teller(view, family, |tells| tells.saves_per_day),
    ),
    (
        "dunlin_log_frames_total",
        "counter",
        "Frames of the log that were decoded.",
        |_, view, family| {
            family.value(view.frames as f64);
        },
    ),
    (
        "dunlin_log_lost_frames_total",
        "counter",
        "Frames of the log that were not.",
        |_, view, family| {
            family.value(view.lost_frames as f64);
        },
    ),
    (
        "dunlin_log_lost_bytes_total",
        "counter",
        "Bytes of the log that were not decoded.",
        |_, view, family| {
            family.value(view.lost_bytes as f64);
        },
    ),
    (
        "dunlin_log_last_line_age_seconds",
        "gauge",
        "Time since the probe last spoke.",
        |_, view, family| {
            family.value((view.now_s - view.last_line_s).max(0.0));
        },
    ),
];

/// A figure of each host that tells.
fn each_teller(view: &View, family: &mut Family<'_>, figure: fn(&TellerFigures) -> f64) {
    for host in &view.hosts {
        if let Some(tells) = &host.tells {
            family.labelled(&[("host", &host.name)], figure(tells));
        }
    }
}

/// One family of one probe.
struct Family<'t> {
    text: &'t mut String,
    name: &'static str,
    probe: &'t str,
}

impl Family<'_> {
    fn value(&mut self, value: f64) {
        self.labelled(&[], value);
    }

    fn maybe(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.value(value);
        }
    }

    fn labelled(&mut self, labels: &[(&str, &str)], value: f64) {
        self.sample("", labels, value);
    }

    fn sample(&mut self, ending: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(
            self.text,
            "{}{ending}{{probe=\"{}\"",
            self.name,
            escape(self.probe)
        );
        for (name, text) in labels {
            let _ = write!(self.text, ",{name}=\"{}\"", escape(text));
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    /// `counts` holds one more than there are `ends`: what lies beyond.
    fn histogram(&mut self, ends: &[f64], counts: &[u64], sum: f64) {
        let mut below = 0;
        for (place, count) in counts.iter().enumerate() {
            below += count;
            let end = ends
                .get(place)
                .map_or_else(|| "+Inf".into(), f64::to_string);
            self.sample("_bucket", &[("le", &end)], below as f64);
        }
        self.sample("_sum", &[], sum);
        self.sample("_count", &[], below as f64);
    }
}

/// All families of all probes.
pub fn text<'p>(probes: impl Iterator<Item = &'p MonitoredProbe>) -> String {
    let probes: Vec<(&MonitoredProbe, View)> =
        probes.map(|probe| (probe, View::new(probe, 0))).collect();
    let mut text = String::new();
    for (name, kind, help, samples) in FAMILIES {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (probe, view) in &probes {
            samples(
                probe,
                view,
                &mut Family {
                    text: &mut text,
                    name,
                    probe: &probe.name,
                },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::decode::{Level, Line};
    use std::sync::Arc;

    #[test]
    fn https_and_updates_are_told_by_reason_and_by_kind() {
        let mut probe = MonitoredProbe::new("p".into(), Arc::default());
        for message in [
            "failed page=0 ms=4 why=Tls(Expired)",
            "failed page=1 ms=4 why=Tls(Issuer)",
            "failed page=0 ms=4 why=Tls(Expired)",
            "tls full=3 resumed=40 sessions=2 session_bytes=1800 pool=20480",
            "updates slot=active state=trial attempt=1 sequence=7 counter=0 list=3 half=1 refused=6 why=digest",
        ] {
            probe.hear(Line {
                micros: Some(1),
                level: Level::Info,
                message: message.into(),
                bytes: 9,
            });
        }
        let text = text([&probe].into_iter());
        for expected in [
            "dunlin_fetch_errors_total{probe=\"p\",kind=\"Tls(Expired)\"} 2",
            "dunlin_fetch_errors_total{probe=\"p\",kind=\"Tls(Issuer)\"} 1",
            "dunlin_tls_handshakes_total{probe=\"p\",kind=\"full\"} 3",
            "dunlin_tls_handshakes_total{probe=\"p\",kind=\"resumed\"} 40",
            "dunlin_tls_sessions{probe=\"p\"} 2",
            "dunlin_tls_pool_peak_bytes{probe=\"p\"} 20480",
            "dunlin_update_release{probe=\"p\",kind=\"firmware\"} 7",
            "dunlin_update_release{probe=\"p\",kind=\"list\"} 3",
            "dunlin_update_on_trial{probe=\"p\"} 1",
            "dunlin_update_refused_release{probe=\"p\",why=\"digest\"} 6",
        ] {
            assert!(text.contains(expected), "no {expected} in\n{text}");
        }
    }
}
