//! What the person at the keyboard has chosen: which probe, which table, what order, what to look
//! for.

use std::cmp::Ordering;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::monitor::view::{HostRow, PageRow, View};

/// The table that keys act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveTable {
    /// The table of pages.
    Pages,
    /// The table of hosts.
    Hosts,
    /// The lines of the log.
    Log,
    /// The news of the probes.
    News,
    /// The collection beyond the list, by host.
    Collection,
}

/// Columns of the pages, in order, by which they can be sorted.
pub const PAGE_COLUMNS: [&str; 8] = [
    "page",
    "status",
    "changes/day",
    "last change",
    "next due ≈",
    "visits",
    "changes",
    "errors",
];
/// Columns of the hosts.
pub const HOST_COLUMNS: [&str; 8] = [
    "host",
    "gate",
    "next allowed",
    "gap",
    "robots",
    "fetches",
    "errors",
    "tells",
];

/// What the person at the keyboard has chosen to see.
#[derive(Clone, Debug)]
pub struct App {
    /// Which probe is looked at.
    pub probe: usize,
    /// How many probes there are.
    pub probes: usize,
    /// Which table keys act on.
    pub table: ActiveTable,
    /// Column and direction by which pages are sorted.
    pub page_order: (usize, bool),
    /// Column and direction by which hosts are sorted.
    pub host_order: (usize, bool),
    /// Rows above the first one shown.
    pub scroll: usize,
    /// What has to be part of a URL or a host's name.
    pub search: String,
    /// Whether the search text is being typed.
    pub searching: bool,
    /// The figures that are shown while the view is paused.
    pub paused: Option<Box<View>>,
    /// Whether the view is to be closed.
    pub quit: bool,
}

impl App {
    /// The choices at the start.
    pub fn new(probes: usize) -> Self {
        Self {
            probe: 0,
            probes,
            table: ActiveTable::Pages,
            page_order: (0, false),
            host_order: (0, false),
            scroll: 0,
            search: String::new(),
            searching: false,
            paused: None,
            quit: false,
        }
    }

    /// Acts on a key that was pressed while `view` was shown.
    pub fn press(&mut self, key: KeyEvent, view: &View) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            self.quit = true;
        } else if self.searching {
            self.type_search(key.code);
        } else {
            self.command(key.code, view);
        }
    }

    fn type_search(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(typed) => self.search.push(typed),
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Enter => self.searching = false,
            KeyCode::Esc => {
                self.searching = false;
                self.search.clear();
            }
            _ => return,
        }
        self.scroll = 0;
    }

    fn command(&mut self, key: KeyCode, view: &View) {
        match key {
            KeyCode::Char('q') => self.quit = true,
            KeyCode::Char('/') => self.searching = true,
            KeyCode::Char('p' | ' ') => {
                self.paused = if self.paused.is_some() {
                    None
                } else {
                    Some(Box::new(view.clone()))
                };
            }
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('r') => {
                let (_, descending) = self.order();
                *descending = !*descending;
            }
            KeyCode::Tab => self.show(match self.table {
                ActiveTable::Pages => ActiveTable::Hosts,
                ActiveTable::Hosts => ActiveTable::Log,
                ActiveTable::Log => ActiveTable::News,
                ActiveTable::News if view.collection.is_some() => ActiveTable::Collection,
                ActiveTable::News | ActiveTable::Collection => ActiveTable::Pages,
            }),
            KeyCode::Left => self.switch(self.probes - 1),
            KeyCode::Right => self.switch(1),
            KeyCode::Esc => self.search.clear(),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll += 1,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::PageDown => self.scroll += 10,
            KeyCode::Home => self.scroll = 0,
            _ => {}
        }
    }

    fn show(&mut self, table: ActiveTable) {
        self.table = table;
        self.scroll = 0;
    }

    fn switch(&mut self, by: usize) {
        self.probe = (self.probe + by) % self.probes.max(1);
        self.paused = None;
        self.scroll = 0;
    }

    fn order(&mut self) -> (&mut usize, &mut bool) {
        let order = if self.table == ActiveTable::Hosts {
            &mut self.host_order
        } else {
            &mut self.page_order
        };
        (&mut order.0, &mut order.1)
    }

    fn sort_by_next(&mut self) {
        let columns = if self.table == ActiveTable::Hosts {
            HOST_COLUMNS.len()
        } else {
            PAGE_COLUMNS.len()
        };
        let (column, _) = self.order();
        *column = (*column + 1) % columns;
        self.scroll = 0;
    }

    /// Is this text looked for?
    pub fn is_wanted(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.search.to_lowercase())
    }

    /// Pages that are looked for, in order.
    pub fn pages<'v>(&self, view: &'v View) -> Vec<&'v PageRow> {
        let mut rows: Vec<&PageRow> = view
            .pages
            .iter()
            .filter(|page| self.is_wanted(&page.url))
            .collect();
        let (column, descending) = self.page_order;
        let count = |count: u64| Some(count as f64);
        if column == 1 {
            rows.sort_by(|a, b| {
                if descending {
                    b.status.cmp(&a.status)
                } else {
                    a.status.cmp(&b.status)
                }
            });
            return rows;
        }
        let key = |row: &PageRow| match column {
            0 => count(row.page as u64),
            2 => row.rate,
            3 => row.last_change_s,
            4 => row.due_s,
            5 => count(row.visits),
            6 => count(row.changes),
            _ => count(row.errors),
        };
        rows.sort_by(|a, b| ordered(key(a), key(b), descending));
        rows
    }

    /// Hosts that are looked for, in order.
    pub fn hosts<'v>(&self, view: &'v View) -> Vec<&'v HostRow> {
        let mut rows: Vec<&HostRow> = view
            .hosts
            .iter()
            .filter(|host| self.is_wanted(&host.name))
            .collect();
        let (column, descending) = self.host_order;
        let count = |count: u64| Some(count as f64);
        let key = |row: &HostRow| match column {
            0 => count(row.host as u64),
            1 => count(row.state as u64),
            2 => row.opens_s,
            3 => row.gap_s,
            4 => row.robots.map(f64::from),
            5 => count(row.fetches),
            6 => count(row.errors),
            _ => row.tells.map(|tells| tells.saves_per_day),
        };
        rows.sort_by(|a, b| ordered(key(a), key(b), descending));
        rows
    }
}

/// What is not known comes last in both directions.
fn ordered(a: Option<f64>, b: Option<f64>, descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if descending => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
