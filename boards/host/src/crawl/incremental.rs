//! A collection that never grows: pages are visited again and again, and better ones take the
//! places of worse ones (Cho §7.3). What a probe does, without time and network.

use dunlin::discover::FrontierSettings;
use dunlin::fetch::robots::Verdict;
use dunlin::rank::Topic;
use serde::Serialize;

use super::graph::Graph;
use super::order::{FrontierRoom, GraphReader, digest};

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct SimulatedCollection {
    /// Pages that are kept.
    pub places: usize,
    /// Candidates that are known besides, as on a device.
    pub candidates: usize,
    /// How the frontier decides.
    pub settings: FrontierSettings,
    /// Words that URLs should hold, where the measure counts them.
    pub topic: Topic,
    /// The seed of what is random.
    pub seed: u64,
}

/// How good a collection is after some visits.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Held {
    /// Visits so far, for each place.
    pub visits: f64,
    /// Importance of the pages that are held, over that of the best ones.
    pub share: f64,
    /// Pages that took another's place so far.
    pub replaced: usize,
    /// How many of the visits explored.
    pub explored: usize,
}

/// Visits pages from `seeds` on, `visits` times the number of places, and says after each whole
/// number of visits a place what is held. Hands each visited page to `visited`.
pub fn collect(
    graph: &Graph,
    seeds: &[usize],
    collection: &SimulatedCollection,
    visits: usize,
    measure: &[f64],
    visited: &mut dyn FnMut(usize),
) -> (Vec<Held>, Vec<usize>) {
    let places = collection.places;
    let mut best: Vec<f64> = measure.to_vec();
    best.sort_unstable_by(|one, other| other.total_cmp(one));
    let best: f64 = best.iter().take(places).sum();
    // One more: a candidate is looked at in a place of its own, as on a probe.
    let mut room = FrontierRoom::new(places + 1, collection.candidates);
    let mut frontier = room.frontier(collection.settings, collection.seed);
    let mut reader = GraphReader::new(graph, collection.topic.clone());
    // What the PageRank of a page is multiplied by, as on a probe.
    let measured = collection.settings.measure;
    let factor = |reader: &GraphReader<'_>, page: usize| match measured.location || measured.topic {
        true => reader.worth(page),
        false => 1.0,
    };
    // What is in each place: a page, and where its text is.
    let mut slots: Vec<Option<(usize, u32)>> = vec![None; places + 1];
    let mut seen = vec![false; places + 1];
    for (place, page) in seeds.iter().take(places).enumerate() {
        if frontier.keep(place as u16, digest(*page)) {
            slots[place] = Some((*page, reader.text(*page)));
        }
    }
    let mut turn = 0;
    let mut held = Vec::new();
    let mut replaced = 0;
    let mut explored = 0;
    for visit in 0..visits * places {
        let kept = slots.iter().flatten().count();
        let may_go = |place: u16| {
            let (page, _) = slots[usize::from(place)]?;
            seen[usize::from(place)].then(|| factor(&reader, page))
        };
        let least = frontier.least(may_go);
        let worth = match kept < places {
            true => Some(0.0),
            false => least.map(|(_, worth)| worth),
        };
        let free = slots.iter().position(Option::is_none);
        let scout = frontier.scout(worth).zip(free).and_then(|(next, free)| {
            let (digest, explores) = next;
            let page = reader.page(digest)?;
            let text = frontier.candidates().find(digest)?.text();
            let _ = frontier.admit(digest, free as u16, None)?;
            explored += usize::from(explores);
            slots[free] = Some((page, text));
            Some(free)
        });
        let place = scout.unwrap_or_else(|| {
            turn = (turn..turn + places + 1)
                .map(|place| (place + 1) % (places + 1))
                .find(|place| slots[*place].is_some())
                .unwrap_or(0);
            turn
        });
        if let Some((page, _)) = slots[place] {
            visited(page);
            seen[place] = true;
            reader.visit(&mut frontier, page, place as u16);
        }
        // Who looked at more than there are places for has to choose.
        if let Some(scout) = scout.filter(|_| kept == places) {
            seen[scout] = false;
            let may_go = |place: u16| {
                let (page, _) = slots[usize::from(place)]?;
                seen[usize::from(place)].then(|| factor(&reader, page))
            };
            let own = slots[scout].map_or(1.0, |(page, _)| factor(&reader, page));
            let worth = frontier.bank().importance(scout as u16) * own;
            let gives_way = match frontier.least(may_go) {
                Some((least, other)) if frontier.is_better(worth, other) => {
                    replaced += 1;
                    usize::from(least)
                }
                _ => scout,
            };
            seen[scout] = gives_way != scout;
            seen[gives_way] = false;
            if let Some((page, text)) = slots[gives_way].take() {
                let text = Some((graph.host(page), text));
                let _ = frontier.retire(gives_way as u16, text, Verdict::Allowed);
            }
        }
        if (visit + 1) % places == 0 {
            let own = slots.iter().flatten().map(|(page, _)| measure[*page]);
            held.push(Held {
                visits: (visit + 1) as f64 / places as f64,
                share: own.sum::<f64>() / best,
                replaced,
                explored,
            });
        }
    }
    let kept = slots.into_iter().flatten().map(|(page, _)| page).collect();
    (held, kept)
}
