//! Cho (2001), chapters 2 and 3: which pages a crawl finds first, and crawlers that share a web.

pub(crate) mod crawlers;
mod exchange;
mod orders;
mod topics;

use dunlin_host::crawl::graph::Graph;

use super::Settings;
use super::page::Section;

const SEED: u64 = 1;

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "crawling",
        "Cho: crawling in a good order, and by several crawlers (2001, chapters 2 and 3)",
        SEED,
        settings,
    );
    section.say(
        "The thesis crawls what was stored of Stanford's web (179,000 pages), of a research group's (1,100 pages) and of the web at large (40 million \
         pages). None of them is published, so webs are generated here: sites of Zipf's sizes, nine links of ten within a site, few pages with most of \
         the links, every page linked from another of its site. So figures can be compared in kind only, but for Figure 3.2, which the thesis describes. \
         Everything is run by the code of `dunlin crawl-order`: *IR'* computes PageRank anew after each hundredth of the web, as the thesis does; *cash* \
         is what a probe uses instead, which stores no links.",
    );
    orders::tabulate(&mut section, settings);
    topics::tabulate(&mut section, settings);
    crawlers::tabulate(&mut section, settings);
    section
}

/// The part of a web that can be reached from its first page.
fn reachable(web: &Graph) -> Graph {
    let mut number = vec![None; web.len()];
    let mut found = vec![0_usize];
    number[0] = Some(0_u32);
    let mut at = 0;
    while let Some(page) = found.get(at).copied() {
        at += 1;
        for target in web.targets(page).iter().map(|target| *target as usize) {
            if number[target].is_none() {
                number[target] = Some(found.len() as u32);
                found.push(target);
            }
        }
    }
    let urls = found.iter().map(|page| web.url(*page).to_owned());
    let mut links = Vec::new();
    for (from, page) in found.iter().enumerate() {
        let targets = web.targets(*page).iter();
        let targets = targets.filter_map(|target| number[*target as usize]);
        links.extend(targets.map(|to| (from as u32, to)));
    }
    Graph::new(urls.collect(), links)
}

/// Per cent, to one digit.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
