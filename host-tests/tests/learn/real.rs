//! Real documents: do the defaults predict the next visit better than never forgetting?
//!
//! The data's notice is in its file.

use std::collections::BTreeMap;

use dunlin::learn::{Estimate, HostPrior, LearningSettings, Visit};
use dunlin::time::Duration;

const DATA: &str = include_str!("../../data/open-terms-archive-excerpt.tsv");

/// Days of each document's changes, by service and page.
fn changes() -> BTreeMap<(&'static str, &'static str), Vec<f64>> {
    let mut pages: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for line in DATA.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [service, page, time] = fields[..] else {
            panic!("not three fields: {line}")
        };
        pages
            .entry((service, page))
            .or_default()
            .push(time.parse::<f64>().unwrap() / 86_400.0);
    }
    pages
}

/// Surprise in nats a visit, when every page is visited every `days`: −ln of what was predicted for
/// what was found.
fn loss(days: f64, settings: &LearningSettings) -> f64 {
    let interval = Duration::from_days(days);
    let mut hosts: BTreeMap<&str, HostPrior> = BTreeMap::new();
    let mut loss = 0.0;
    let mut visits = 0.0;
    for ((service, _), changes) in changes() {
        let host = hosts.entry(service).or_default();
        host.add_page();
        let mut page = Estimate::new(&host.prior(&HostPrior::of_gap(days as f32)));
        let mut now = changes[0];
        let end = changes[changes.len() - 1];
        while now + days < end {
            let changed = changes.iter().any(|at| *at > now && *at <= now + days);
            let shape = f64::from(page.shape());
            let rate = f64::from(page.rate());
            let nothing_new = (-shape * (days * rate / shape).ln_1p()).exp();
            loss -= if changed {
                1.0 - nothing_new
            } else {
                nothing_new
            }
            .ln();
            visits += 1.0;
            page.update(&Visit::new(interval, changed), settings);
            host.update(&page, 1.0);
            now += days;
        }
    }
    loss / visits
}

#[test]
fn fading_and_the_watch_for_jumps_predict_real_pages_better() {
    for days in [1.0, 7.0] {
        let steady = loss(days, &LearningSettings::STEADY);
        let fading = loss(
            days,
            &LearningSettings::DEFAULT.with_surprise(f32::INFINITY),
        );
        let default = loss(days, &LearningSettings::DEFAULT);
        println!(
            "every {days} days: never forgetting {steady:.4}, fading {fading:.4}, default {default:.4} nats"
        );
        assert!(
            fading < 0.97 * steady,
            "every {days} days: {fading} against {steady}"
        );
        assert!(
            default < fading,
            "every {days} days: {default} against {fading}"
        );
    }
}
