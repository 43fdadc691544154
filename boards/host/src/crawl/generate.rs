//! Webs that look like webs: few pages have most of the links, most links stay on their site, and
//! every page can be reached from its site's front page.

use dunlin::math::split_mix;

use super::graph::Graph;

/// What a generated web is like.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// How many pages there are in all.
    pub pages: usize,
    /// Sites, the first the largest and the most popular.
    pub sites: usize,
    /// Links of a page, on average.
    pub links: f64,
    /// The share of links that stay on their site.
    pub local: f64,
}

impl Web {
    /// As the prototype of the design: 6.5 links a page, nine of ten on the site.
    pub fn new(pages: usize, sites: usize) -> Self {
        Self {
            pages,
            sites,
            links: 6.5,
            local: 0.9,
        }
    }
}

/// Random numbers that are the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn unit(&mut self) -> f64 {
        (split_mix(&mut self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.unit() * limit as f64) as usize).min(limit.saturating_sub(1))
    }
}

/// Generates a web; the same for the same seed.
pub fn generate(web: &Web, seed: u64) -> Graph {
    let mut random = Random(seed);
    let sites = sizes(web);
    let mut urls = Vec::with_capacity(web.pages);
    let mut links = Vec::new();
    let mut fronts = Vec::new();
    let mut site_of = Vec::new();
    // Each link end is an entry: choosing one at random prefers pages that many link to.
    let mut ends: Vec<Vec<u32>> = Vec::new();
    for (site, size) in sites.iter().enumerate() {
        let front = urls.len();
        fronts.push(front);
        let mut paths = vec![String::from("/")];
        urls.push(format!("http://s{site}.test/"));
        site_of.push(site);
        let mut own = vec![front as u32];
        for number in 1..*size {
            // Its parent links to it: half of the pages hang below the front page.
            let parent = if random.unit() < 0.5 {
                0
            } else {
                random.below(number)
            };
            let path = if number % 3 == 0 {
                format!("{}d{number}/", directory(&paths[parent]))
            } else {
                format!("{}p{number}", directory(&paths[parent]))
            };
            urls.push(format!("http://s{site}.test{path}"));
            paths.push(path);
            site_of.push(site);
            links.push(((front + parent) as u32, (front + number) as u32));
            own.push((front + number) as u32);
        }
        ends.push(own);
    }
    let popular: Vec<f64> = (0..fronts.len())
        .map(|site| 1.0 / (site + 1) as f64)
        .collect();
    let total: f64 = popular.iter().sum();
    for page in 0..urls.len() {
        let site = site_of[page];
        // One link to each page is its parent's.
        let mean = (web.links - 1.0).max(0.0);
        let count = (-mean * (1.0 - random.unit()).ln()) as usize;
        for _ in 0..count.min(100) {
            let target = if random.unit() < web.local {
                if random.unit() < 0.15 {
                    fronts[site] as u32
                } else {
                    ends[site][random.below(ends[site].len())]
                }
            } else {
                let mut at = random.unit() * total;
                let other = popular.iter().position(|share| {
                    at -= share;
                    at < 0.0
                });
                let other = other.unwrap_or(0);
                if random.unit() < 0.6 {
                    fronts[other] as u32
                } else {
                    ends[other][random.below(ends[other].len())]
                }
            };
            links.push((page as u32, target));
            ends[site_of[target as usize]].push(target);
        }
    }
    Graph::new(urls, links)
}

fn directory(path: &str) -> &str {
    &path[..path.rfind('/').map_or(0, |end| end + 1)]
}

/// Pages of each site: Zipf's law, at least one each.
fn sizes(web: &Web) -> Vec<usize> {
    let sites = web.sites.clamp(1, web.pages.max(1));
    let shares: Vec<f64> = (0..sites).map(|site| 1.0 / (site as f64 + 3.0)).collect();
    let total: f64 = shares.iter().sum();
    let spare = (web.pages - sites) as f64;
    let mut sizes: Vec<usize> = shares
        .iter()
        .map(|share| 1 + (share / total * spare) as usize)
        .collect();
    let missing = web.pages - sizes.iter().sum::<usize>();
    for number in 0..missing {
        sizes[number % sites] += 1;
    }
    sizes
}
