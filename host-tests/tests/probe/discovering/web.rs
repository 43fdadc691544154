//! A web to look for pages in, and what only its servers know of it.

use std::collections::HashMap;

use super::Collection;
use crate::world::{Answer, Hit};

/// A web of hosts `h0.test`, `h1.test` …, each with as many pages; links go to a few pages that
/// many link to, and to any others.
#[derive(Clone, Debug)]
pub struct Web {
    hosts: usize,
    pages: usize,
    pub links: Vec<Vec<usize>>,
}

impl Web {
    pub fn new(hosts: usize, pages: usize, seed: u64) -> Self {
        let all = hosts * pages;
        let mut state = seed;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize) % below
        };
        // As pages come, they link to what many link to already.
        let mut ends: Vec<usize> = (0..hosts).map(|host| host * pages).collect();
        let mut links = vec![Vec::new(); all];
        let mut order: Vec<usize> = (0..all).collect();
        for at in 0..all {
            order.swap(at, at + random(all - at));
        }
        for page in order {
            for _ in 0..7 {
                let target = match random(4) {
                    0 => random(all),
                    _ => ends[random(ends.len())],
                };
                if target != page && !links[page].contains(&target) {
                    links[page].push(target);
                    ends.push(target);
                }
            }
            // Nobody is out of reach.
            let parent = ends[random(ends.len())];
            if parent != page && !links[parent].contains(&page) {
                links[parent].push(page);
            }
        }
        Self {
            hosts,
            pages,
            links,
        }
    }

    pub fn url(&self, page: usize) -> String {
        match page % self.pages {
            0 => format!("http://h{}.test/", page / self.pages),
            number => format!("http://h{}.test/p{number}", page / self.pages),
        }
    }

    pub fn page(&self, host: &str, target: &str) -> Option<usize> {
        let host: usize = host
            .strip_prefix('h')?
            .strip_suffix(".test")?
            .parse()
            .ok()?;
        let number = match target {
            "/" => 0,
            target => target.strip_prefix("/p")?.parse().ok()?,
        };
        let good = host < self.hosts && number < self.pages && (target == "/" || number > 0);
        good.then_some(host * self.pages + number)
    }

    pub fn html(&self, page: usize) -> String {
        let mut text = format!("<title>{}</title>", self.url(page));
        for link in &self.links[page] {
            text += &format!("<a href=\"{}\">on</a>\n", self.url(*link));
        }
        text
    }

    pub fn answer(&self, hit: &Hit) -> Answer {
        match self.page(&hit.host, &hit.target) {
            Some(page) => Answer::page(&self.html(page)),
            None => Answer::none(),
        }
    }

    /// What only the servers know.
    fn page_rank(&self) -> Vec<f64> {
        let all = self.links.len();
        let mut rank = vec![1.0 / all as f64; all];
        for _ in 0..60 {
            let mut next = vec![0.0; all];
            let mut lost = 0.0;
            for (page, links) in self.links.iter().enumerate() {
                match links.is_empty() {
                    true => lost += rank[page],
                    false => {
                        let share = rank[page] / links.len() as f64;
                        links.iter().for_each(|link| next[*link] += share);
                    }
                }
            }
            let rain = (0.1 + 0.9 * lost) / all as f64;
            rank = next.iter().map(|own| 0.9 * own + rain).collect();
        }
        rank
    }

    /// The PageRank of what is held, over that of as many best pages.
    pub fn share(&self, held: &Collection, places: usize) -> f64 {
        let rank = self.page_rank();
        let by_url: HashMap<String, f64> = rank
            .iter()
            .enumerate()
            .map(|(page, rank)| (self.url(page), *rank))
            .collect();
        let own: f64 = held.keys().filter_map(|url| by_url.get(url)).sum();
        let mut best = rank;
        best.sort_by(|one, other| other.total_cmp(one));
        own / best.iter().take(places).sum::<f64>()
    }
}
