use super::*;
use crate::monitor::view::View;

fn line(seconds: u64, message: &str) -> Line {
    Line {
        micros: Some(1_000_000 * seconds),
        level: Level::Info,
        message: message.to_owned(),
        bytes: 20,
    }
}

#[test]
fn who_comes_late_learns_who_speaks_within_a_minute_and_no_boot_is_counted() {
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let end = "end page=3 status=200 bytes=9 ms=1 changed=true";
    probe.hear(line(
        5_000,
        "totals fetches=9 same=1 changed=1 errors=0 denied=0 bytes=9 late_s=0",
    ));
    probe.hear(line(
        5_000,
        "here dunlin on paper 0.1.0, build 0123456789abcdef",
    ));
    probe.hear(line(5_010, end));
    probe.hear(line(
        5_060,
        "here dunlin on paper 0.1.0, build 0123456789abcdef",
    ));
    let view = View::new(&probe, 1);
    assert_eq!(view.firmware.as_deref(), Some("dunlin on paper 0.1.0"));
    assert_eq!(view.build.as_deref(), Some("0123456789abcdef"));
    assert_eq!((view.boots, view.online), (0, Some(true)));
    assert_eq!(probe.last_line(), 60.0, "its clock goes on");
    assert_eq!(
        (view.changed, view.first_versions),
        (1, 0),
        "it would have said that it is new"
    );
}

#[test]
fn first_visits_are_no_changes() {
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let end = |page: u16| format!("end page={page} status=200 bytes=9 ms=1 changed=true");
    probe.hear(line(0, "dunlin on paper 0.1.0, build 0123456789abcdef"));
    for page in [1, 2] {
        probe.hear(line(1, &format!("first page={page}")));
        probe.hear(line(1, &end(page)));
    }
    probe.hear(line(60, &end(2)));
    // A restart that has forgotten everything.
    probe.hear(line(0, "dunlin on paper 0.1.0, build 0123456789abcdef"));
    probe.hear(line(1, "first page=2"));
    probe.hear(line(1, &end(2)));
    let view = View::new(&probe, 0);
    assert_eq!((view.changed, view.first_versions), (1, 3));
    let changes: Vec<u64> = view.pages.iter().map(|page| page.changes).collect();
    assert_eq!(changes, [0, 0, 1]);
    assert_eq!(view.news.len(), 1, "{:?}", view.news);
}

#[test]
fn news_is_kept_counted_and_called_by_name() {
    let names = Names {
        pages: vec![PageName {
            url: "http://a.test/x".into(),
            name: None,
            is_teller: false,
            host: 0,
            weight: 1.0,
            prior: None,
        }],
        hosts: vec![HostName {
            name: "a.test".into(),
            gap: dunlin::time::Duration::from_secs(15),
            gate: 0,
        }],
    };
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(names));
    probe.hear(line(1, "end page=0 status=404 bytes=0 ms=1 changed=false"));
    probe.hear(line(2, "failed page=0 ms=4 why=Tls(Expired)"));
    probe.hear(line(3, "backoff host=0 s=60 why=Server"));
    probe.hear(line(4, "recovered page=0"));
    let view = View::new(&probe, 10);
    let news: Vec<_> = view
        .news
        .iter()
        .map(|news| {
            (
                news.event.name(),
                news.about.as_str(),
                news.reason.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        news,
        [
            ("recovered", "http://a.test/x", None),
            (
                "host-backed-off",
                "a.test",
                Some("left alone for 60 s: the server answered with 5xx")
            ),
            (
                "failed",
                "http://a.test/x",
                Some("its certificate has expired")
            ),
            ("gone", "http://a.test/x", Some("status 404 (not found)")),
        ]
    );
    let lines: Vec<&str> = view.lines.iter().map(|line| &*line.message).collect();
    assert_eq!(lines[1], "failed http://a.test/x ms=4 why=Tls(Expired)");
    assert_eq!(lines[2], "backoff a.test s=60 why=Server");
    (0..1_000).for_each(|second| probe.hear(line(10 + second, "denied page=0")));
    assert_eq!(View::new(&probe, 0).news.len(), 100, "the last hundred");
    assert_eq!(probe.counts.news[Kind::Refused as usize], 1_000);
}

#[test]
fn a_redirect_to_https_is_told_apart_from_others_and_from_pages() {
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let hear = |probe: &mut MonitoredProbe, message: &str| {
        let message = message.to_owned();
        probe.hear(Line {
            micros: Some(1_000_000),
            level: Level::Info,
            message,
            bytes: 20,
        });
        View::new(probe, 1)
            .pages
            .into_iter()
            .map(|page| page.status.unwrap_or_default())
            .collect::<Vec<_>>()
    };
    hear(
        &mut probe,
        "end page=0 status=200 bytes=9 ms=1 changed=true",
    );
    hear(&mut probe, "flagged page=0 encoded=true cut=false");
    hear(&mut probe, "astray page=1 status=301 why=Some(NeedsTls)");
    hear(&mut probe, "astray page=2 status=302 why=Some(Loop)");
    assert_eq!(
        hear(&mut probe, "astray page=2 status=302 why=None"),
        ["200", "https", "astray"]
    );
    let counted: Vec<_> = probe
        .counts
        .astray
        .iter()
        .map(|(why, count)| (why.as_str(), *count))
        .collect();
    assert_eq!(counted, [("Loop", 1), ("NeedsTls", 1), ("Target", 1)]);
    assert_eq!((probe.counts.encoded, probe.counts.cut), (1, 0));
    assert_eq!((probe.counts.fetches, probe.counts.all_errors()), (4, 0));
    hear(
        &mut probe,
        "end page=1 status=200 bytes=9 ms=1 changed=true",
    );
    assert_eq!(
        hear(&mut probe, "failed page=2 ms=1 why=Name"),
        ["200", "200", "failed"]
    );
}
