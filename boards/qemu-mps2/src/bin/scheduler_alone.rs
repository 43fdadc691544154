#![no_std]
#![no_main]
//! The scheduler alone, in firmware with an HTTP client of its own: what is needed besides that
//! client is a clock and this loop. No network, no executor and no other part of dunlin.

use dunlin::polite;
use dunlin::scheduler::{Decision, Error, Outcome, PageSettings, Scheduler, Settings};
use dunlin::time::{Duration, Instant};
use qemu_mps2::{clock, exit};
use static_cell::ConstStaticCell;

/// 64 pages on 8 hosts: about 3 kB, placed by the linker.
static SCHEDULER: ConstStaticCell<Scheduler<64, 8>> =
    ConstStaticCell::new(Scheduler::new(Settings::DEFAULT));

/// Where the pages are. The scheduler knows them by number.
const PATHS: [&str; 3] = ["/", "/news", "/about"];

/// Stands for the client that the firmware has already.
trait Client {
    /// The status of an answer and a hash of its body, or `None` if there was no answer.
    fn get(&mut self, path: &str) -> Option<(u16, u32)>;
}

/// A page that changes now and then.
struct Pretended {
    requests: u32,
}

impl Client for Pretended {
    fn get(&mut self, path: &str) -> Option<(u16, u32)> {
        self.requests += 1;
        Some((200, path.len() as u32 + self.requests / 4))
    }
}

/// What the scheduler needs to know of an answer.
fn outcome(answer: Option<(u16, u32)>, known: &mut Option<u32>) -> Outcome {
    match answer {
        None => Outcome::Failed,
        Some((304, _)) => Outcome::Unchanged,
        Some((429 | 503, _)) => Outcome::Refused { retry_after: None },
        Some((404 | 410, _)) => Outcome::Gone,
        Some((_, hash)) if known.replace(hash) == Some(hash) => Outcome::Unchanged,
        Some(_) => Outcome::Changed { modified_ago: None },
    }
}

fn now() -> Instant {
    Instant::from_micros(clock::micros())
}

fn crawl(scheduler: &mut Scheduler<64, 8>, client: &mut impl Client) -> Result<(), Error> {
    // As often as politeness allows; here a tenth of a second, so that there is something to see.
    let crawl_delay = None;
    let host = scheduler.add_host(polite::gap(Duration::from_millis(100), crawl_delay))?;
    for _ in PATHS {
        scheduler.add_page(host, &PageSettings::DEFAULT, now())?;
    }
    let mut hashes = [None; PATHS.len()];
    for _ in 0..60 {
        match scheduler.next(now()) {
            Decision::Fetch(page) => {
                let place = page.index();
                let (Some(path), Some(known)) = (PATHS.get(place), hashes.get_mut(place)) else {
                    continue;
                };
                let outcome = outcome(client.get(path), known);
                defmt::info!("{=str}: {}", path, outcome);
                scheduler.record(page, outcome, now())?;
            }
            // Sleep here, with the radio off.
            Decision::WaitUntil(then) => while now() < then {},
            Decision::Idle => break,
        }
    }
    Ok(())
}

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("the scheduler alone on qemu-mps2");
    match crawl(SCHEDULER.take(), &mut Pretended { requests: 0 }) {
        Ok(()) => exit::success(),
        Err(error) => {
            defmt::error!("{}", error);
            exit::failure()
        }
    }
}
