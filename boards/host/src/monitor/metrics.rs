//! The figures in Prometheus' text format, version 0.0.4.

use std::fmt::Write as _;

use super::state::{DURATIONS, MonitoredProbe};
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
        "The most bytes of the pool for https, sessions included, that were ever in use.",
        |probe, _, family| family.maybe(probe.handshakes.map(|said| said.pool.into())),
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
    fn https_is_counted_by_reason_and_by_handshake() {
        let mut probe = MonitoredProbe::new("p".into(), Arc::default());
        for message in [
            "failed page=0 ms=4 why=Tls(Expired)",
            "failed page=1 ms=4 why=Tls(Issuer)",
            "failed page=0 ms=4 why=Tls(Expired)",
            "tls full=3 resumed=40 sessions=2 session_bytes=1800 pool=20480",
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
        ] {
            assert!(text.contains(expected), "no {expected} in\n{text}");
        }
    }
}
