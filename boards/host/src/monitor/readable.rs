//! Figures as people read them; the web page spells them the same way.

use super::host_stats::TellerFigures;

/// Writes a length of time: `3.2 s`, `45 s`, `12 min`, `5.0 h`, `3.1 d`.
pub fn span(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.1} d", s / 86_400.0),
    }
}

/// Writes how long ago something was.
pub fn ago(now: f64, then: Option<f64>) -> String {
    then.map_or_else(none, |then| format!("{} ago", span(now - then)))
}

/// Writes how long it is until then.
pub fn until(now: f64, then: Option<f64>) -> String {
    match then {
        None => none(),
        Some(then) if then <= now => "now".into(),
        Some(then) => format!("in {}", span(then - now)),
    }
}

/// Writes a share of one.
pub fn share(share: Option<f64>) -> String {
    share.map_or_else(none, |share| format!("{share:.3}"))
}

/// From so many visits a page on, freshness as the probe and as the monitor estimate it is near
/// what a server would measure: within 0.03, whether pages change by chance, by a clock, in bursts or
/// after long gaps. Of pages that have changed at nearly every visit, visits do not tell it.
const LEARNT: f64 = 10.0;

/// Says that an estimate of freshness is not one yet; `None` once it is.
pub fn learning(visits_a_page: Option<f64>) -> Option<String> {
    visits_a_page
        .filter(|visits| *visits < LEARNT)
        .map(|visits| format!("still learning ({visits:.1} visits a page)"))
}

/// Writes an estimate of freshness, or that it is not one yet.
pub fn estimate(freshness: Option<f64>, visits_a_page: Option<f64>) -> String {
    learning(visits_a_page).unwrap_or_else(|| share(freshness))
}

/// Writes a share in per cent.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(none, |share| format!("{:.1} %", 100.0 * share))
}

/// Writes what a host says about its pages, and what that has turned out to be worth.
pub fn tells(tells: &TellerFigures) -> String {
    let TellerFigures {
        kind,
        precision,
        delay_s,
        saves_per_day,
        ..
    } = tells;
    let late = span(*delay_s);
    format!(
        "{kind}: {:.0} % true, {late} late, saves {saves_per_day:.0}/d",
        100.0 * precision
    )
}

/// Writes a rate in changes a day.
pub fn rate(rate: Option<f64>) -> String {
    match rate {
        None => none(),
        Some(rate) if rate >= 100.0 => format!("{rate:.0}"),
        Some(rate) if rate >= 1.0 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.3}"),
    }
}

/// Writes which way a share goes.
pub fn trend(trend: Option<f64>) -> String {
    match trend {
        None => none(),
        Some(trend) if trend >= 0.0 => format!("▲ +{trend:.3}"),
        Some(trend) => format!("▼ −{:.3}", -trend),
    }
}

/// Writes a status, or that there is none.
pub fn status(status: Option<u16>) -> String {
    status.map_or_else(none, |status| status.to_string())
}

fn none() -> String {
    "–".into()
}
