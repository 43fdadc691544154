//! A collection that never grows: pages are visited again and again, and better ones take the
//! places of worse ones (Cho §7.3). What a probe does, without time and network.

use dunlin::discover::{FrontierSettings, Step};
use dunlin::rank::Topic;
use serde::Serialize;

use super::graph::Graph;
use super::order::{Reader, Room, digest};

/// What is to be simulated.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// Pages that are kept.
    pub places: usize,
    /// Candidates that are known besides, as on a device.
    pub candidates: usize,
    /// How the frontier decides.
    pub settings: FrontierSettings,
    /// Of what is random.
    pub seed: u64,
}

/// How good a collection is after some visits.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Held {
    /// Visits a place.
    pub visits: f64,
    /// Importance of the pages that are held, over that of the best ones.
    pub share: f64,
    /// Pages that took another's place so far.
    pub replaced: usize,
    /// Visits that explored.
    pub explored: usize,
}

/// Visits pages from `seeds` on, `visits` times the number of places, and says after each whole
/// number of visits a place what is held. Hands each visited page to `visited`.
pub fn collect(
    graph: &Graph,
    seeds: &[usize],
    collection: &Collection,
    visits: usize,
    measure: &[f64],
    visited: &mut dyn FnMut(usize),
) -> (Vec<Held>, Vec<usize>) {
    let places = collection.places;
    let mut best: Vec<f64> = measure.to_vec();
    best.sort_unstable_by(|one, other| other.total_cmp(one));
    let best: f64 = best.iter().take(places).sum();
    let mut room = Room::new(places, collection.candidates);
    let mut frontier = room.frontier(collection.settings, collection.seed);
    let mut reader = Reader::new(graph, Topic::default());
    let mut kept: Vec<usize> = Vec::new();
    let mut texts: Vec<u32> = Vec::new();
    let mut seen = vec![false; places];
    for page in seeds.iter().take(places) {
        if frontier.keep(kept.len() as u16, digest(*page)) {
            texts.push(reader.text(*page));
            kept.push(*page);
        }
    }
    let mut turn = 0;
    let mut held = Vec::new();
    let mut replaced = 0;
    let mut explored = 0;
    for visit in 0..visits * places {
        let step = frontier.next(&|place| seen[usize::from(place)].then_some(1.0));
        let free = kept.len() < places;
        let place = match step {
            Step::Admit {
                digest,
                place,
                explores,
            } => {
                let place = if free { kept.len() as u16 } else { place };
                let at = usize::from(place);
                let old = kept.get(at).map(|page| (graph.host(*page), texts[at]));
                let text = frontier
                    .candidates()
                    .find(digest)
                    .map_or(0, |one| one.text());
                match (reader.page(digest), frontier.admit(digest, place, old)) {
                    (Some(page), Some(_)) if at < kept.len() => {
                        kept[at] = page;
                        texts[at] = text;
                        seen[at] = false;
                        replaced += 1;
                        explored += usize::from(explores);
                    }
                    (Some(page), Some(_)) => {
                        kept.push(page);
                        texts.push(text);
                        explored += 1;
                    }
                    _ => continue,
                }
                place
            }
            Step::Refresh => {
                turn = (turn + 1) % kept.len().max(1);
                turn as u16
            }
        };
        let at = usize::from(place);
        if let Some(page) = kept.get(at).copied() {
            visited(page);
            seen[at] = true;
            reader.visit(&mut frontier, page, place);
        }
        if (visit + 1) % places == 0 {
            let own: f64 = kept.iter().map(|page| measure[*page]).sum();
            held.push(Held {
                visits: (visit + 1) as f64 / places as f64,
                share: own / best,
                replaced,
                explored,
            });
        }
    }
    (held, kept)
}
