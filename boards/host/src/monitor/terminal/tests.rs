//! The view on a terminal of any size.

use std::sync::Arc;

use dunlin::time::Duration;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{ActiveTable, App};
use super::draw::draw;
use crate::monitor::decode::{Level, Line};
use crate::monitor::names::{HostName, Names, PageName};
use crate::monitor::state::MonitoredProbe;
use crate::monitor::view::View;

fn view() -> View {
    let probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    after(probe, &[])
}

/// What is known of a probe after a while, and after these lines.
fn after(mut probe: MonitoredProbe, last: &[&str]) -> View {
    let messages = [
        "dunlin on paper 0.1.0, build 0123456789abcdef".to_owned(),
        "network up address=10.0.2.15".into(),
        "backoff host=1 s=30".into(),
        "failed page=2 ms=5 why=Deadline".into(),
        "collection pages=2 places=9 candidates=5 found=7 admitted=2 replaced=0 refused=1".into(),
        "admitted page=7 importance=2.5 url=http://a.test/birds".into(),
        "admitted page=8 importance=0.5 url=http://a.test/waders".into(),
    ];
    let ends = (0..200).map(|n| {
        format!(
            "end page={} status={} bytes=9 ms=12 changed={}",
            n % 7,
            200 + 104 * (n % 2),
            n % 2 == 0
        )
    });
    let last = last.iter().map(|line| (*line).to_owned());
    let lines = messages.into_iter().chain(ends).chain(last);
    for (second, message) in lines.enumerate() {
        let micros = Some(1_000_000 * second as u64);
        probe.hear(Line {
            micros,
            level: Level::Info,
            message,
            bytes: 20,
        });
    }
    View::new(&probe, 100)
}

fn press(app: &mut App, key: KeyCode) {
    app.press(KeyEvent::new(key, KeyModifiers::NONE), &view());
}

#[test]
fn no_size_of_the_terminal_is_too_small() {
    let view = view();
    for (width, height) in [
        (1, 1),
        (3, 2),
        (10, 5),
        (40, 17),
        (40, 18),
        (69, 24),
        (80, 24),
        (300, 100),
    ] {
        let mut terminal =
            Terminal::new(TestBackend::new(width, height)).expect("a terminal on paper");
        let mut app = App::new(1);
        for table in [
            ActiveTable::Pages,
            ActiveTable::Hosts,
            ActiveTable::Log,
            ActiveTable::News,
            ActiveTable::Collection,
        ] {
            app.table = table;
            for scroll in [0, 5, 100_000] {
                app.scroll = scroll;
                terminal
                    .draw(|frame| draw(frame, &app, &["probe".into()], &view))
                    .expect("drawn");
            }
        }
    }
}

#[test]
fn the_collection_is_a_tree_by_host() {
    let view = view();
    let mut app = App::new(1);
    for _ in 0..4 {
        press(&mut app, KeyCode::Tab);
    }
    assert_eq!(app.table, ActiveTable::Collection);
    let mut terminal = Terminal::new(TestBackend::new(80, 40)).expect("a terminal on paper");
    let mut shown = |app: &App| {
        terminal
            .draw(|frame| draw(frame, app, &["probe".into()], &view))
            .expect("drawn");
        terminal.backend().to_string()
    };
    let all = shown(&app);
    let branches = [
        "a.test: 2 pages, 2 found",
        "├─     2.50 /birds",
        "└─     0.50 /waders",
    ];
    for branch in branches {
        assert!(all.contains(branch), "{branch} in\n{all}");
    }
    app.search = "waders".into();
    let some = shown(&app);
    assert!(
        some.contains("/waders") && !some.contains("/birds"),
        "{some}"
    );
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.table, ActiveTable::Pages);
}

#[test]
fn what_a_host_tells_is_shown_with_what_it_is_worth() {
    let names = Names {
        pages: vec![PageName {
            url: "http://a.test/sitemap.xml".into(),
            name: None,
            is_teller: false,
            host: 0,
            weight: 1.0,
            prior: None,
        }],
        hosts: vec![HostName {
            name: "a.test".into(),
            gap: Duration::from_secs(1),
            gate: 0,
        }],
    };
    let told = "told page=0 entries=9 news=2 delay_s=4 precision=0.92 recall=0.4 saves=12.3";
    let probe = MonitoredProbe::new("probe".into(), Arc::new(names));
    let view = after(probe, &[told]);
    let mut app = App::new(1);
    app.table = ActiveTable::Hosts;
    for width in [80, 119, 120, 300] {
        let mut terminal = Terminal::new(TestBackend::new(width, 24)).expect("a terminal on paper");
        terminal
            .draw(|frame| draw(frame, &app, &["probe".into()], &view))
            .expect("drawn");
        let shown = terminal.backend().to_string();
        let worth = "teller: 92 % true, 4.0 s late, saves 12/d";
        assert!(shown.contains(worth), "{width}:\n{shown}");
        assert!(shown.contains("tells") && shown.contains("fetches"));
        assert_eq!(shown.contains("next allowed"), width >= 120, "{width}");
    }
}

#[test]
fn where_updates_stand_is_shown_beside_the_build() {
    let said = "updates slot=active state=trial attempt=2 sequence=7 counter=1 list=9 half=1 refused=8 why=digest";
    let probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let view = after(probe, &[said]);
    let mut terminal = Terminal::new(TestBackend::new(200, 24)).expect("a terminal on paper");
    terminal
        .draw(|frame| draw(frame, &App::new(1), &["probe".into()], &view))
        .expect("drawn");
    let shown = terminal.backend().to_string();
    let words = "build 0123456789abcdef, slot active, release 7, on trial (attempt 2), \
        list 9 in half 1, last refusal: release 8 (digest)";
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn keys_search_sort_pause_and_quit() {
    let mut app = App::new(3);
    press(&mut app, KeyCode::Char('/'));
    for key in "page 3".chars() {
        press(&mut app, KeyCode::Char(key));
    }
    press(&mut app, KeyCode::Enter);
    assert_eq!(
        app.pages(&view())
            .iter()
            .map(|page| page.page)
            .collect::<Vec<_>>(),
        [3]
    );
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.pages(&view()).len(), 7);
    press(&mut app, KeyCode::Char('r'));
    assert_eq!(app.pages(&view())[0].page, 6, "reversed");
    for _ in 0..7 {
        press(&mut app, KeyCode::Char('s'));
    }
    assert_eq!(app.pages(&view())[0].page, 2, "by errors, most first");
    press(&mut app, KeyCode::Char('p'));
    assert!(app.paused.is_some());
    press(&mut app, KeyCode::Char('p'));
    assert!(app.paused.is_none());
    press(&mut app, KeyCode::Left);
    assert_eq!(app.probe, 2);
    press(&mut app, KeyCode::Char('q'));
    assert!(app.quit);
}
