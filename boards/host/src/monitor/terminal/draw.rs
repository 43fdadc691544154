//! One screen of figures.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table as Grid};

use super::app::{ActiveTable, App, HOST_COLUMNS, PAGE_COLUMNS};
use crate::monitor::host_stats::GateState;
use crate::monitor::readable::{
    ago, learning, percent, rate, share, span, status, tells, trend, until,
};
use crate::monitor::view::View;
use crate::news::Kind;

/// Rows of the figures above the tables.
const FIGURES: u16 = 6;
/// Screens lower than this show the chosen table only.
const LOW: u16 = 18;
/// Screens lower than this have no room for news beside the tables.
const HIGH: u16 = 30;
/// Rows of news above the pages.
const NEWS: u16 = 6;
/// Screens narrower than this have no room for trends beside figures.
const NARROW: u16 = 70;
/// Screens narrower than this have no room for all that there is about hosts.
const WIDE: u16 = 120;
/// Columns of the screen for what a host tells.
const TELLS: u16 = 42;

/// Draws `view`; `names` are those of all probes.
pub fn draw(frame: &mut Frame<'_>, app: &App, names: &[String], view: &View) {
    let area = frame.area();
    let figures = if area.height < LOW { 0 } else { FIGURES };
    let hosts = if area.height < LOW || app.table == ActiveTable::Hosts {
        0
    } else {
        (area.height / 4).min(10)
    };
    let news = match app.table {
        ActiveTable::Pages | ActiveTable::Hosts if area.height >= HIGH => NEWS,
        _ => 0,
    };
    let [title, top, middle, latest, bottom, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(figures),
        Constraint::Length(hosts),
        Constraint::Length(news),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(heading(app, names, view)), title);
    if figures > 0 {
        draw_figures(frame, view, top);
    }
    if hosts > 0 {
        draw_hosts(frame, app, view, middle, false);
    }
    if news > 0 {
        draw_news(frame, app, view, latest, false);
    }
    match app.table {
        ActiveTable::Pages => draw_pages(frame, app, view, bottom),
        ActiveTable::Hosts => draw_hosts(frame, app, view, bottom, true),
        ActiveTable::Log => draw_log(frame, app, view, bottom),
        ActiveTable::News => draw_news(frame, app, view, bottom, true),
        ActiveTable::Collection => draw_collection(frame, app, view, bottom),
    }
    frame.render_widget(Paragraph::new(help(app)).dim(), keys);
}

fn heading(app: &App, names: &[String], view: &View) -> Vec<Line<'static>> {
    let mut first = vec![" dunlin ".reversed(), " ".into()];
    for (index, name) in names.iter().enumerate() {
        let style = if index == app.probe {
            Modifier::BOLD | Modifier::UNDERLINED
        } else {
            Modifier::empty()
        };
        first.extend([Span::styled(name.clone(), style), "  ".into()]);
    }
    first.push(
        view.firmware
            .clone()
            .unwrap_or_else(|| "no boot banner yet".into())
            .into(),
    );
    if let Some(build) = &view.build {
        first.push(format!(", build {build}").dim());
    }
    if let Some(updates) = &view.updates {
        first.push(format!(", {updates}").dim());
    }
    if app.paused.is_some() {
        first.push("  PAUSED".yellow().bold());
    }
    let network = match (view.online, &view.address) {
        (Some(true), Some(address)) => format!("network up at {address}").green(),
        (Some(true), None) => "network up".green(),
        (Some(false), _) => "network down".red(),
        (None, _) => "network not heard of".into(),
    };
    let stream = if view.live {
        "live".green()
    } else {
        view.stream.clone().yellow()
    };
    let lost = format!(
        "{} frames, {} lost ({} B)",
        view.frames, view.lost_frames, view.lost_bytes
    );
    let second = match view.complaint.as_ref().or(view.refused.as_ref()) {
        Some(complaint) => Line::from(complaint.clone().red().bold()),
        None => Line::from(vec![
            network,
            "  log ".into(),
            stream,
            format!("  {}  {lost}", clock(view.now_s)).into(),
        ]),
    };
    vec![Line::from(first), second]
}

/// Writes a time on the log's timeline.
fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0) as u64;
    let days = if s >= 86_400 {
        format!("{} d ", s / 86_400)
    } else {
        String::new()
    };
    format!(
        "{days}{:02}:{:02}:{:02}",
        s / 3_600 % 24,
        s / 60 % 60,
        s % 60
    )
}

fn draw_figures(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let charts = if area.width < NARROW {
        0
    } else {
        area.width / 3
    };
    let [numbers, errors, charts] = Layout::horizontal([
        Constraint::Min(34),
        Constraint::Length(26),
        Constraint::Length(charts),
    ])
    .areas(area);
    let figure = |name: &'static str, value: String| {
        Line::from(vec![format!("{name:<14}").dim(), value.bold()])
    };
    let [freshness, optimum] = match learning(view.visits_a_page) {
        // On two lines, where it fits: it is too early for figures.
        Some(learning) => {
            let (what, since) = learning.split_at(learning.find(" (").unwrap_or(learning.len()));
            [what.to_owned(), since.trim_start().to_owned()]
        }
        None => [
            format!("{}  {}", share(view.freshness), trend(view.trend)),
            format!(
                "{}  reported {}",
                share(view.optimum),
                share(view.freshness_reported)
            ),
        ],
    };
    let lines = vec![
        figure("freshness", freshness),
        figure("optimum", optimum),
        figure(
            "fetches/min",
            format!("{}  of {}", view.fetches_per_minute, view.fetches),
        ),
        figure(
            "304 share",
            format!(
                "{}  changes {}",
                percent(view.not_modified_share),
                view.changed
            ),
        ),
    ];
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title("figures")),
        numbers,
    );
    let mut kinds: Vec<(&String, &u64)> = view.errors_by_kind.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut lines: Vec<Line<'_>> = kinds
        .iter()
        .take(3)
        .map(|(kind, count)| Line::from(format!("{count:>6} {kind}")))
        .collect();
    lines.push(Line::from(format!(
        "{:>6} denied by robots",
        view.robots_denied
    )));
    if view.collected + view.uncollected > 0 {
        let collected = view.collected;
        let lost = view.uncollected;
        lines.push(Line::from(format!("{collected:>6} collected, {lost} not")));
    }
    if let Some(it) = &view.collection {
        lines.push(Line::from(format!(
            "{:>6} of {} kept, {} candidates",
            it.pages, it.places, it.candidates
        )));
    }
    let title = format!("errors: {}", view.errors);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(title)),
        errors,
    );
    draw_trend(frame, view, charts);
}

fn draw_trend(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let room = usize::from(area.width.saturating_sub(2));
    let fresh: Vec<u64> = view
        .series
        .iter()
        .filter_map(|point| point.freshness)
        .map(|share| (1000.0 * share) as u64)
        .collect();
    let shown = fresh
        .get(fresh.len().saturating_sub(room)..)
        .unwrap_or_default();
    let chart = Sparkline::default()
        .data(shown.iter().copied())
        .max(1000)
        .style(Style::new().fg(Color::Cyan));
    // The axes: what goes up, and how far back it goes.
    let mut axes = Block::bordered().title("freshness (height: 0 to 1)");
    let times = || view.series.iter().filter(|point| point.freshness.is_some());
    let first = times().nth(fresh.len().saturating_sub(room));
    if let (Some(first), Some(last)) = (first, times().next_back()) {
        let width = span(last.time_s - first.time_s);
        axes = axes.title_bottom(format!("{width} ago ─▶ now"));
    }
    frame.render_widget(chart.block(axes), area);
}

fn draw_hosts(frame: &mut Frame<'_>, app: &App, view: &View, area: Rect, chosen: bool) {
    let hosts = app.hosts(view);
    let shown = host_columns(view, area.width);
    let rows = hosts
        .iter()
        .skip(if chosen { app.scroll } else { 0 })
        .map(|host| {
            let style = match host.state {
                GateState::BackingOff => Style::new().red(),
                GateState::Waiting => Style::new().yellow(),
                GateState::Open => Style::new().green(),
                GateState::Unused => Style::new(),
            };
            Row::new(shown.iter().map(|column| match column {
                0 => Cell::from(host.name.clone()),
                1 => Cell::from(host.state.text()).style(style),
                2 => until(view.now_s, host.opens_s).into(),
                3 => host.gap_s.map_or_else(|| "–".into(), span).into(),
                4 => status(host.robots).into(),
                5 => host.fetches.to_string().into(),
                6 => host.errors.to_string().into(),
                _ => host.tells.as_ref().map(tells).unwrap_or_default().into(),
            }))
        });
    let widths = shown.iter().map(|column| match column {
        0 => Constraint::Min(12),
        1 => Constraint::Length(13),
        2 => Constraint::Length(12),
        3 => Constraint::Length(7),
        5 => Constraint::Length(8),
        4 | 6 => Constraint::Length(6),
        _ => Constraint::Length(TELLS),
    });
    let title = format!("hosts: {} of {}", hosts.len(), view.hosts.len());
    let header = header(&HOST_COLUMNS, shown.iter().copied(), app.host_order);
    let grid = Grid::new(rows, widths).header(header);
    frame.render_widget(grid.block(block(title, chosen)), area);
}

/// Which columns there are of the hosts: what they tell where one of them tells anything, and where
/// the screen is narrow, that instead of what can be missed.
fn host_columns(view: &View, width: u16) -> &'static [usize] {
    let tells = view.hosts.iter().any(|host| host.tells.is_some());
    match (tells, width < WIDE) {
        (false, _) => &[0, 1, 2, 3, 4, 5, 6],
        (true, false) => &[0, 1, 2, 3, 4, 5, 6, 7],
        (true, true) => &[0, 1, 5, 7],
    }
}

fn draw_pages(frame: &mut Frame<'_>, app: &App, view: &View, area: Rect) {
    let pages = app.pages(view);
    let rows = pages.iter().skip(app.scroll).map(|page| {
        Row::new(vec![
            page.url.clone(),
            page.status.clone().unwrap_or_else(|| "–".into()),
            rate(page.rate),
            ago(view.now_s, page.last_change_s),
            until(view.now_s, page.due_s),
            page.visits.to_string(),
            page.changes.to_string(),
            page.errors.to_string(),
        ])
    });
    let widths = [
        Constraint::Min(20),
        Constraint::Length(7),
        Constraint::Length(12),
        Constraint::Length(12),
    ]
    .into_iter()
    .chain([
        Constraint::Length(11),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(7),
    ]);
    let title = format!("pages: {} of {}", pages.len(), view.pages.len());
    let header = header(&PAGE_COLUMNS, 0..PAGE_COLUMNS.len(), app.page_order);
    let grid = Grid::new(rows, widths).header(header);
    frame.render_widget(grid.block(block(title, true)), area);
}

fn draw_news(frame: &mut Frame<'_>, app: &App, view: &View, area: Rect, chosen: bool) {
    let wanted: Vec<_> = view
        .news
        .iter()
        .filter(|news| app.is_wanted(&news.about))
        .collect();
    let skipped = if chosen { app.scroll } else { 0 };
    let rows = wanted.iter().skip(skipped).map(|news| {
        let style = match news.event {
            kind if kind.is_bad() => Style::new().red(),
            Kind::Recovered => Style::new().green(),
            _ => Style::new().cyan(),
        };
        Row::new(vec![
            Cell::from(ago(view.now_s, Some(news.time_s))),
            Cell::from(news.event.name()).style(style),
            Cell::from(news.about.clone()),
            Cell::from(news.reason.clone().unwrap_or_default()),
        ])
    });
    let widths = [
        Constraint::Length(12),
        Constraint::Length(15),
        Constraint::Min(20),
        Constraint::Min(20),
    ];
    let title = format!("news: the last {}", view.news.len());
    frame.render_widget(Grid::new(rows, widths).block(block(title, chosen)), area);
}

/// Hosts of the collection, and below each its pages.
fn draw_collection(frame: &mut Frame<'_>, app: &App, view: &View, area: Rect) {
    let mut lines = Vec::new();
    for branch in &view.collection_tree {
        let is_wanted = |path: &str| app.is_wanted(&format!("{}{path}", branch.host));
        let mut leaves = branch.leaves.iter().filter(|leaf| is_wanted(&leaf.path));
        let Some(mut leaf) = leaves.next() else {
            continue;
        };
        let title = format!(
            "{}: {} pages, {} found",
            branch.host, branch.pages, branch.found
        );
        lines.push(Line::from(title.bold()));
        loop {
            let next = leaves.next();
            let more = branch.pages - branch.leaves.len();
            let twig = if next.is_some() || more > 0 {
                "├─"
            } else {
                "└─"
            };
            let worth = match (leaf.importance, leaf.is_found) {
                (Some(importance), _) => format!("{importance:>8.2}"),
                (None, true) => format!("{:>8}", "–"),
                (None, false) => format!("{:>8}", "listed"),
            };
            lines.push(Line::from(format!("{twig} {worth} {}", leaf.path)));
            let Some(following) = next else {
                if more > 0 {
                    lines.push(Line::from(format!("└─ and {more} more").dim()));
                }
                break;
            };
            leaf = following;
        }
    }
    let room = usize::from(area.height.saturating_sub(2));
    let first = app.scroll.min(lines.len().saturating_sub(room));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(first).take(room).collect();
    let title = match &view.collection {
        Some(it) => format!(
            "collection: {} of {}, by host, with importance",
            it.pages, it.places
        ),
        None => "collection: nothing is looked for beyond the list".into(),
    };
    frame.render_widget(Paragraph::new(shown).block(block(title, true)), area);
}

fn draw_log(frame: &mut Frame<'_>, app: &App, view: &View, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let wanted = app.search.to_lowercase();
    let lines: Vec<_> = view
        .lines
        .iter()
        .filter(|line| line.message.to_lowercase().contains(&wanted))
        .collect();
    let end = lines
        .len()
        .saturating_sub(app.scroll)
        .max(room.min(lines.len()));
    let shown = lines
        .get(end.saturating_sub(room)..end)
        .unwrap_or_default()
        .iter()
        .map(|line| {
            let style = match line.level {
                "ERROR" | "LOST" => Style::new().red(),
                "WARN" => Style::new().yellow(),
                _ => Style::new(),
            };
            Line::styled(
                format!("{:>12} {:5} {}", line.time, line.level, line.message),
                style,
            )
        });
    let list = Paragraph::new(shown.collect::<Vec<_>>());
    frame.render_widget(list.block(block("log".into(), true)), area);
}

fn header<'c>(
    names: &[&'c str],
    shown: impl Iterator<Item = usize>,
    (column, descending): (usize, bool),
) -> Row<'c> {
    Row::new(shown.map(|index| {
        let name = names.get(index).copied().unwrap_or_default();
        let mark = if descending { "▼" } else { "▲" };
        if index == column {
            Cell::from(format!("{name}{mark}")).bold()
        } else {
            Cell::from(name).dim()
        }
    }))
}

fn block(title: String, chosen: bool) -> Block<'static> {
    let block = Block::bordered().title(title);
    if chosen {
        block.border_style(Style::new().fg(Color::Cyan))
    } else {
        block
    }
}

fn help(app: &App) -> String {
    if app.searching {
        return format!("search: {}▏  Enter keeps it, Esc drops it", app.search);
    }
    let search = if app.search.is_empty() {
        String::new()
    } else {
        format!(" [{}]", app.search)
    };
    let probes = if app.probes > 1 { "  ←→ probe" } else { "" };
    format!("q quit  Tab table  / search{search}  s sort  r reverse  p pause  ↑↓ scroll{probes}")
}
