//! Figures 3.7 to 3.11: what crawlers have to tell each other, and what it is good for.

use dunlin_host::crawl::parallel::{Achieved, Crawlers, Mode, Partition};

use super::crawlers::{SEEDS, Shared, cells, head, table};
use crate::page::{Printed, Section, Verdict};

/// Figures 3.7 and 3.8.
pub fn told(section: &mut Section, shared: &Shared) -> Achieved {
    section.part(
        "Figures 3.7 and 3.8: URLs told for each page",
        "Exchange mode: a crawler tells every link to another's page at once, and does not remember that it has. Then the most popular pages are known to all; the thesis has 10,000 and \
         100,000 of 40 million, here are the same shares and larger ones.",
    );
    let counts = &shared.counts[1..];
    let of = |count: usize, partition| {
        shared.mean(
            &Crawlers {
                partition,
                ..Crawlers::new(count)
            },
            SEEDS,
        )
    };
    let sites: Vec<Achieved> = counts
        .iter()
        .map(|count| of(*count, Partition::Site))
        .collect();
    let urls: Vec<f64> = counts
        .iter()
        .map(|count| of(*count, Partition::Url).communication)
        .collect();
    let told: Vec<f64> = sites.iter().map(|one| one.communication).collect();
    let printed = ["0.4", "", "", "0.8", "", "0.86"].map(str::to_owned);
    let rows = [
        cells("by site", told.iter().copied()),
        ["in print".to_owned()].into_iter().chain(printed).collect(),
        cells("by URL", urls.iter().copied()),
    ];
    table(section, &head("crawlers", counts), &rows);
    section.figure(
        "Figure 3.7",
        "URLs told for each page, 2 crawlers",
        Printed::new(0.4, 1),
        told[0],
    );
    section.figure(
        "Figure 3.7",
        "URLs told for each page, 16 crawlers",
        Printed::new(0.8, 1),
        told[3],
    );
    section.figure(
        "Figure 3.8",
        "URLs told for each page, 64 crawlers",
        Printed::new(0.86, 2),
        told[5],
    );
    section.figure(
        "Figure 3.7",
        "URLs told for each page, 2 crawlers by URL hash",
        Printed::new(5.0, 0),
        urls[0],
    );
    let more = urls.iter().zip(&told).all(|(url, site)| *url > 3.0 * site);
    section.limit(
        "partition by URL takes more than three times the words",
        more,
    );
    let pages = shared.graph.len() as f64;
    let shares = [0.0, 0.000_25, 0.002_5, 0.01, 0.05];
    let by_share: Vec<f64> = shares
        .iter()
        .map(|share| {
            let replicated = (share * pages).round() as usize;
            let crawlers = Crawlers {
                replicated,
                ..Crawlers::new(64)
            };
            shared.mean(&crawlers, SEEDS).communication
        })
        .collect();
    let rows: Vec<Vec<String>> = shares
        .iter()
        .zip(&by_share)
        .zip(["0.86", "0.52", "0.42", "", ""])
        .map(|((share, told), printed)| {
            vec![
                format!("{} %", 100.0 * share),
                format!("{told:.3}"),
                format!("−{:.0} %", 100.0 * (1.0 - told / by_share[0])),
                printed.to_owned(),
            ]
        })
        .collect();
    section.table(
        &[
            "replicated, of the web",
            "URLs a page, n = 64",
            "saved",
            "in print",
        ],
        &rows,
    );
    section.figure(
        "Figure 3.8",
        "10,000 of 40 million replicated save so much",
        Printed::percent(40.0),
        100.0 * (1.0 - by_share[1] / by_share[0]),
    );
    section.figure(
        "Figure 3.8",
        "100,000 of 40 million replicated save so much",
        Printed::percent(51.0),
        100.0 * (1.0 - by_share[2] / by_share[0]),
    );
    let falls = by_share.windows(2).all(|pair| pair[1] <= pair[0]);
    section.claim(
        "Figure 3.8",
        "the more is replicated, the less is told, and each more brings less",
        "falls",
        format!("{:.2} → {:.2}", by_share[0], by_share[4]),
        Verdict::of(falls),
    );
    section.limit(
        "replication saves words",
        falls && by_share[4] < by_share[0],
    );
    sites[3]
}

/// Figures 3.9 to 3.11; at 5 %, 16 crawlers: alone, and telling all.
pub fn quality(section: &mut Section, shared: &Shared) -> [f64; 3] {
    section.part(
        "Figures 3.9 to 3.11: quality by exchanges",
        "Crawlers order pages by the links they know of (IB'), and tell each other pages and links to them x times in a crawl (∞: after every page). Quality is the share of the best pages by IB among as many \
         that were downloaded; each cell has quality, and pairs told for each page. Every crawler starts from one page.",
    );
    let exchanges: [Option<usize>; 5] = [Some(0), Some(1), Some(10), Some(100), None];
    let counts = [2, 8, 32, 64];
    let run = |count: usize, share: f64, exchanges: Option<usize>, mode| {
        let limit = ((share * shared.graph.len() as f64) as usize / count).max(1);
        let crawlers = Crawlers {
            by_backlinks: true,
            mode: if exchanges == Some(0) {
                Mode::Firewall
            } else {
                mode
            },
            batch: exchanges.map_or(1, |times| (limit / (times + 1)).max(1)),
            limit,
            ..Crawlers::new(count)
        };
        shared.mean(&crawlers, 1)
    };
    let mut all = Vec::new();
    for (figure, share) in [
        ("Figure 3.9", 0.012),
        ("Figure 3.10", 0.05),
        ("Figure 3.11", 0.2),
    ] {
        let found: Vec<Vec<Achieved>> = counts
            .iter()
            .map(|count| {
                exchanges
                    .iter()
                    .map(|times| run(*count, share, *times, Mode::Exchange))
                    .collect()
            })
            .collect();
        let rows: Vec<Vec<String>> = counts
            .iter()
            .zip(&found)
            .map(|(count, row)| {
                let cells = row
                    .iter()
                    .map(|one| format!("{:.3}; {:.2}", one.quality, one.communication));
                [format!("n = {count}")].into_iter().chain(cells).collect()
            })
            .collect();
        let head = format!("{figure}: {} % downloaded", 100.0 * share);
        section.table(&[&head, "x = 0", "x = 1", "x = 10", "x = 100", "∞"], &rows);
        all.push(found);
    }
    let first = &all[0];
    section.figure(
        "Figure 3.9",
        "quality without exchange, 2 crawlers",
        Printed::new(0.12, 2),
        first[0][0].quality,
    );
    section.figure(
        "Figure 3.9",
        "quality without exchange, 64 crawlers",
        Printed::new(0.025, 3),
        first[3][0].quality,
    );
    let falls = first
        .windows(2)
        .all(|pair| pair[1][0].quality <= pair[0][0].quality);
    section.claim(
        "Figure 3.9",
        "without exchange, more crawlers find worse pages",
        "at every n",
        first
            .iter()
            .map(|row| format!("{:.3}", row[0].quality))
            .collect::<Vec<_>>()
            .join(", "),
        Verdict::of(falls),
    );
    let restored = all
        .iter()
        .flatten()
        .map(|row| row[3].quality / row[4].quality)
        .fold(f64::MAX, f64::min);
    section.claim(
        "§3.9",
        "fewer than 100 exchanges bring the highest quality",
        "as without end",
        format!("{:.0} % of it at least", 100.0 * restored),
        Verdict::of(restored >= 0.95),
    );
    let gap = |found: &[Vec<Achieved>]| found[3][4].quality / found[3][0].quality;
    section.claim(
        "Figures 3.9 to 3.11",
        "the more is downloaded, the less exchange matters (64 crawlers)",
        "less and less",
        all.iter()
            .map(|found| format!("{:.2} times", gap(found)))
            .collect::<Vec<_>>()
            .join(", "),
        Verdict::of(gap(&all[0]) > gap(&all[1]) && gap(&all[1]) > gap(&all[2])),
    );
    // Ten times the exchanges, and not ten times the words.
    let is_slower = |row: &[Achieved]| {
        let told = [1, 2, 3].map(|at| row[at].communication);
        told[1] < 10.0 * told[0] && told[2] < 10.0 * told[1]
    };
    let two = &all[2][0];
    section.claim(
        "§3.9",
        "what is told grows more slowly than the number of exchanges",
        "no straight line",
        format!(
            "2 crawlers, a fifth: {:.2}, {:.2}, {:.2} with 1, 10, 100 exchanges",
            two[1].communication, two[2].communication, two[3].communication
        ),
        Verdict::of(all.iter().flatten().all(|row| is_slower(row))),
    );
    section.limit(
        "exchanges bring quality to 64 crawlers that download a twentieth",
        gap(&all[1]) > 1.0,
    );
    section.limit(
        "one exchange takes 2 crawlers that download a fifth fewer words than telling at once",
        two[1].communication < two[4].communication,
    );
    [
        run(16, 0.05, Some(0), Mode::Firewall).quality,
        run(16, 0.05, None, Mode::CrossOver).quality,
        run(16, 0.05, None, Mode::Exchange).quality,
    ]
}
