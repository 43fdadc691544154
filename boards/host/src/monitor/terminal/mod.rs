//! The live view on a terminal. Leaves the terminal as it found it, whatever ends it.

mod app;
mod draw;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{io, panic, thread};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::app::App;
use super::decode;
use super::view::View;
use super::web::Probes;

/// The time between two looks at the probes.
const EVERY: Duration = Duration::from_millis(250);
/// Lines of the log that can be looked at.
const LINES: usize = 200;

/// A terminal that is ready to be drawn on, and left as it was found when dropped.
#[derive(Debug)]
pub struct Screen(ratatui::DefaultTerminal);

impl Screen {
    /// Prepares the terminal, and decides who is told of panics: before the first frame of a log is
    /// decoded, because a damaged one must not be complained about.
    ///
    /// # Errors
    /// The terminal cannot be drawn on.
    pub fn prepare(stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let prepared = ratatui::try_init().map(Self).inspect_err(|_| {
            // It may be half prepared.
            let _ = ratatui::try_restore();
        });
        if prepared.is_ok() {
            end_after_panics(Arc::clone(stop));
        }
        prepared
    }

    /// Shows the probes until the user, or somebody else, wants to stop.
    ///
    /// # Errors
    /// The terminal cannot be drawn on.
    pub fn run(mut self, probes: &Probes, stop: &AtomicBool) -> io::Result<()> {
        look(&mut self.0, probes, stop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = ratatui::try_restore();
    }
}

/// By the time a panic's message is printed, ratatui has put the terminal back: whoever goes on
/// drawing would draw over the shell. A frame that cannot be decoded is no reason to end.
fn end_after_panics(stop: Arc<AtomicBool>) {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |why| {
        stop.store(true, Ordering::Relaxed);
        told(why);
    }));
    decode::hush_panics();
}

fn look(
    terminal: &mut ratatui::DefaultTerminal,
    probes: &Probes,
    stop: &AtomicBool,
) -> io::Result<()> {
    let name = |probe: &Arc<std::sync::Mutex<super::state::MonitoredProbe>>| {
        probe
            .lock()
            .map(|probe| probe.name.clone())
            .unwrap_or_default()
    };
    let names: Vec<String> = probes.iter().map(name).collect();
    let mut app = App::new(names.len());
    let events = events();
    while !app.quit && !stop.load(Ordering::Relaxed) {
        let Some(Ok(probe)) = probes.get(app.probe).map(|probe| probe.lock()) else {
            return Ok(());
        };
        let live = View::new(&probe, LINES);
        drop(probe);
        let view = app.paused.as_deref().unwrap_or(&live);
        terminal.draw(|frame| draw::draw(frame, &app, &names, view))?;
        // A new size is an event, too: the next round draws for it.
        if let Ok(Event::Key(key)) = events.recv_timeout(EVERY)
            && key.kind != KeyEventKind::Release
        {
            let view = view.clone();
            app.press(key, &view);
        }
    }
    Ok(())
}

/// What the user does, read by a thread of its own: reading from a terminal that has gone away
/// never ends.
fn events() -> Receiver<Event> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || while event::read().is_ok_and(|event| sender.send(event).is_ok()) {});
    receiver
}

#[cfg(test)]
mod tests;
