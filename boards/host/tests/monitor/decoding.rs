//! Bytes become lines again, whatever happened to them on their way.

use std::sync::Arc;

use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::monitor::decode::{Decoder, ElfMatch};
use dunlin_host::monitor::names::Names;
use dunlin_host::monitor::state::MonitoredProbe;

use super::{decode, firmware, good, record};

/// The record begins with the boot banner; by here it has ended.
const BANNER: usize = 100;

#[test]
fn the_whole_record_decodes_and_agrees_with_the_probes_own_count() {
    let (lines, decoder) = decode(&record());
    assert_eq!(
        (decoder.lost.frames, decoder.trust),
        (0, ElfMatch::Confirmed)
    );
    assert!(lines.len() > 200, "{}", lines.len());
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let mut compared = 0;
    for line in lines {
        let totals = if let Some(LoggedEvent::Totals(totals)) = LoggedEvent::read(&line.message) {
            Some(totals)
        } else {
            None
        };
        probe.hear(line);
        if let Some(totals) = totals {
            let counts = &probe.counts;
            assert_eq!(
                [
                    counts.fetches,
                    counts.not_modified,
                    counts.changed + counts.first,
                    counts.all_errors(),
                    counts.denied
                ],
                [
                    totals.fetches,
                    totals.not_modified,
                    totals.changed,
                    totals.errors,
                    totals.denied
                ]
                .map(u64::from)
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "the probe never counted");
}

#[test]
fn every_line_of_the_record_is_of_the_tables_of_events() {
    let (lines, _) = decode(&record());
    for line in lines {
        let known = LoggedEvent::read(&line.message).is_some()
            || LoggedBoardEvent::read(&line.message).is_some();
        assert!(known, "{}", line.message);
    }
}

/// What a log says becomes a label: nothing in it may end the label, or begin a sample of its own.
#[test]
fn labels_of_metrics_are_escaped() {
    let name = "a\"} 1\\\nb";
    let probe = MonitoredProbe::new(name.into(), Arc::new(Names::default()));
    let text = dunlin_host::monitor::metrics::text([&probe].into_iter());
    let escaped = r#"{probe="a\"} 1\\\nb""#;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let count = samples
        .inspect(|line| assert!(line.contains(escaped), "{line}"))
        .count();
    assert!(count > 10, "{text}");
}

#[test]
fn a_stream_may_start_anywhere() {
    let whole = record();
    let (all, _) = decode(&whole);
    let mut start = 0;
    for cut in (0..whole.len()).step_by(7) {
        let frames_cut_off = whole[..cut].iter().filter(|byte| **byte == 0).count();
        let (lines, decoder) = decode(&whole[cut..]);
        let found = good(&lines);
        // Whatever was found is the end of what there is, and at most the cut frame is missing.
        assert!(
            all.ends_with(&found),
            "cut at {cut}: lines that were never written"
        );
        assert!(
            decoder.lost.frames <= 1,
            "cut at {cut}: {} frames lost",
            decoder.lost.frames
        );
        assert!(
            all.len() - found.len() <= frames_cut_off + 1,
            "cut at {cut}"
        );
        start = start.max(all.len() - found.len());
    }
    assert!(start > 100, "the cuts were all near the start");
}

#[test]
fn garbage_costs_no_more_than_what_it_touches() {
    let whole = record();
    let (all, _) = decode(&whole);
    let mut random = 12345_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for round in 0..60 {
        let mut damaged = whole.clone();
        let places = 1 + round % 5;
        for _ in 0..places {
            // Behind the banner: what that says is believed, and one flipped bit makes it another
            // firmware's.
            let at = BANNER + next(damaged.len() - BANNER);
            match next(3) {
                0 => {
                    let garbage: Vec<u8> = (0..next(60)).map(|_| next(256) as u8).collect();
                    damaged.splice(at..at, garbage);
                }
                1 => drop(damaged.drain(at..(at + next(40)).min(damaged.len() - 1).max(at))),
                _ => damaged[at] ^= 1 << next(8),
            }
        }
        let (lines, decoder) = decode(&damaged);
        let found = good(&lines);
        let known = found.iter().filter(|line| all.contains(line)).count();
        // One byte may turn one value of one line into another that is as likely: nothing can tell.
        assert!(
            found.len() - known <= places,
            "{} lines out of nowhere",
            found.len() - known
        );
        // 40 bytes lie in four frames at most, each place touches one more on either side.
        assert!(
            known + 6 * places >= all.len(),
            "{known} of {} lines left, {places} places",
            all.len()
        );
        assert!(
            decoder.lost.frames as usize <= 64 * places,
            "{:?}",
            decoder.lost
        );
    }
}

#[test]
fn endless_garbage_is_counted_in_bounded_memory() {
    let mut decoder = Decoder::new(firmware());
    let mut shown = 0;
    for _ in 0..1_000 {
        decoder.feed(&[0x5a; 4096], &mut |_| shown += 1);
    }
    decoder.feed(&[0], &mut |_| shown += 1);
    assert_eq!(
        (shown, decoder.lost.frames, decoder.lost.bytes),
        (1, 1, 4_096_001)
    );
    let record = record();
    let mut lines = Vec::new();
    decoder.feed(&record, &mut |line| lines.push(line));
    assert!(good(&lines).len() > 200, "it found back to the log");
}
