//! The performance page: `host-tests/PERFORMANCE.md`, written by `cargo xtask bench --page`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use dunlin_tools::shell::{output, root, say};

use super::row::{Growth, Row};

const METHOD: &str = "\
1. Device figures are instructions, counted by QEMU (`-icount shift=7`), not cycles: an emulator has no pipeline. They are
   the same on every computer and in every run of the same build. M0+ rows are thumbv6m code on the same core.
2. Host figures are processor time of one thread, the fastest of a few runs; time in which others had the core does not
   count, but their use of caches and memory does: compare ratios.
3. What stands beside a figure was measured in the same run: what else one could use, or the bare work without which it
   cannot be done.
4. Exponents are least squares over the logarithms; the command fails when one exceeds what the documentation promises.
5. `cargo xtask test` holds instruction counts and sizes against `host-tests/baseline.toml`;
   `cargo xtask bench --device --renew` writes that file anew.
";

const LOSSES: &str = "\
- Our heap pays for what it can do: every move also writes down where the entry is now, so that it can be found again by its
  id, changed and removed, which `heapless::BinaryHeap` cannot. That costs a sixth more. It is 4-ary with a tournament among
  children; sifting to a leaf and back up, as heapless does, was measured and is no better with four children. Where only
  the top is ever touched, the simpler heap is the better choice, and `greedy` uses neither.
- `greedy` takes more than ten times as long for a million pages as for a hundred thousand: it works through n log n steps,
  and its pages no longer fit the caches.
- Parsing and fingerprinting cost little beyond the hash; a stretch to skip (a nonce, a date) costs half as much again, for
  its marker is looked for, eight bytes at a time.
- A robots decision costs some 210 instructions a rule where comparing plain bytes costs 8: which rule wins is counted,
  and a comparison can be interrupted. With a `*` or an escape in the way, each octet of both sides is decoded.
- The clock of the scheduler is set back every 101 days in one call, which passes over all pages: 23 instructions a page.
- A scheduler that scans all pages is cheaper for `next` below some hundred pages. It learns nothing and knows no hosts.
- Without a floating-point unit (M0+) everything that plans or learns costs ten to twenty times as much; the carousel and
  the heap, which count in integers, half as much again.
- An unchanged page on a host whose next turn is far away costs twice the bytes of its request and answer: a connection is
  opened and closed around them. Where it is kept, two acknowledgements are all that is added.
- The probe does not reach a bare loop's requests a second: it looks up names, keeps rules, learns and logs in between.
- A page of a collection takes 14 bytes beside what the scheduler knows, and what is kept of it is rounded: what it has
  earned to one part in 32,000, its cash to one in 128, each time at another place, so that small shares add up. Its host is
  not among them: who asks for it reads the page's URL from flash, or those of one page in eight to find a host's.
- Discovery takes 51 kB of flash, where 24 were wanted. By where the code was written, scouts, hosts and who is kept are 9.5
  kB of it, the log of URLs and what a restart makes of it 6.4, links of HTML 5.7, sitemaps, their indexes and XML 5.6,
  importance 3.8, candidates 3.8, the rest of the probe and the scheduler, which add and remove pages then, 3.7, URLs and
  their digests 3.0, what pages and robots.txt ask for 2.1, limits and scopes 1.3, boards 1.1, libraries 1.6, and constants
  3.2: names of characters, texts of words, places of panics.
- State is 36 bytes a page where 17 would hold what must be known: whole `f32`s instead of 16-bit logarithms, three links
  instead of two, bytes instead of bits. What each field buys, and what the stretch of 32 would cost, is told where they
  are declared (`src/scheduler/page.rs`).
";

/// Promises that are not a matter of speed or size: what, how much, and the test that fails when it
/// is broken, by its file and its name there.
const ELSEWHERE: &[(&str, &str, &str, &str)] = &[
    (
        "plan: Cho's Table 5.5",
        "four digits",
        "host-tests/tests/plan.rs",
        "cho_table_5_5_freshness_and_age",
    ),
    (
        "plan: `select` beside `greedy`",
        "1e-9",
        "host-tests/tests/plan.rs",
        "select_meets_greedy_on_large_instances",
    ),
    (
        "plan: `optimal`'s conditions",
        "1e-6",
        "host-tests/tests/plan.rs",
        "optimal_satisfies_its_conditions",
    ),
    (
        "plan: `azar` of the optimum",
        "≥ 98 %",
        "host-tests/tests/plan.rs",
        "azar_reaches_98_percent_of_the_optimum",
    ),
    (
        "plan: `f32` beside `f64`",
        "1e-4",
        "host-tests/tests/plan.rs",
        "single_precision_agrees_with_double",
    ),
    (
        "pace: EDF of the optimum, R ≥ Σλ, 0.1 Σλ",
        "≥ 99.8, 99.3 %",
        "host-tests/tests/pace_freshness.rs",
        "edf_reaches_the_continuous_optimum",
    ),
    (
        "pace: ahead or behind, after 2⁴⁰ slots",
        "≤ 1 visit",
        "host-tests/tests/pace_carousel.rs",
        "nothing_drifts",
    ),
    (
        "scheduler: of the optimum; half of hosts capped; rates unknown",
        "≥ 99.8, 99.5, 97.5 %",
        "host-tests/tests/scheduler/freshness.rs",
        "of_the_optimum",
    ),
    (
        "scheduler: on real changes",
        "above round robin, Nutch, StormCrawler",
        "host-tests/tests/scheduler/real.rs",
        "beats_round_robin_nutch_and_stormcrawler",
    ),
    (
        "scheduler: beside round robin, learning from nothing in 22 worlds",
        "≥ −0.5 %",
        "host-tests/tests/scheduler/floor.rs",
        "never_below_round_robin",
    ),
    (
        "scheduler: what exploring costs, of the freshness, in eight worlds",
        "≤ 1 to 2 %",
        "host-tests/tests/scheduler/exploring.rs",
        "costs_little_freshness",
    ),
    (
        "scheduler, monitor: freshness as they believe it, beside the server's, in 18 worlds",
        "within 0.03",
        "host-tests/tests/scheduler/figures.rs",
        "agree_after_ten_visits_a_page",
    ),
    (
        "scheduler: of the optimum, the demo's first minute, 100 seeds",
        "≥ 97 %",
        "host-tests/tests/scheduler/demo.rs",
        "the_first_minute_is_within_three_per_cent_of_the_optimum",
    ),
    (
        "learn: bias at 200 visits, deviation beside maximum likelihood",
        "≤ 5 %, ≤ 2 times",
        "host-tests/tests/learn/bias.rs",
        "the_online_estimator_keeps_up_with_maximum_likelihood",
    ),
    (
        "learn: bias of two dated visits",
        "≤ 2 %",
        "host-tests/tests/learn/papers.rs",
        "figure_6_13_two_dated_visits_are_within_two_percent",
    ),
    (
        "simulate: the papers' tables and ranges",
        "each its own",
        "host-tests/papers/tests/claims.rs",
        "holds",
    ),
    (
        "probe: of the optimum, rates given, ten runs of five minutes",
        "≥ 97 %",
        "host-tests/e2e/src/crawling.rs",
        "near_the_optimum",
    ),
    (
        "probe: gaps at the server, as configured",
        "never below",
        "host-tests/e2e/src/crawling.rs",
        "crawls_politely",
    ),
    (
        "discover: links of pages, beside html5ever",
        "the same",
        "host-tests/tests/discover/pages.rs",
        "mutated_pages_have_the_links_that_html5ever_finds",
    ),
    (
        "rank: cash beside PageRank, after four rounds on three webs",
        "≥ 0.98",
        "host-tests/tests/discover/ranking.rs",
        "cash_is_page_rank_after_four_rounds",
    ),
    (
        "rank: of the best 256's PageRank, 10 and 30 visits a place",
        "≥ 0.70, 0.85",
        "host-tests/tests/discover/ranking.rs",
        "a_collection_holds_the_important_pages",
    ),
    (
        "rank: pages that give way on a steady web, a place and day",
        "≤ 0.02",
        "host-tests/tests/discover/ranking.rs",
        "a_steady_collection_does_not_thrash",
    ),
    (
        "probe: freshness of found pages, of what visits allow that do not explore",
        "≥ 97 %",
        "host-tests/e2e/src/discovering.rs",
        "judge_freshness",
    ),
    (
        "store: reads for one store, 4,096 pages",
        "≤ 1,000",
        "host-tests/tests/store/wear.rs",
        "a_store_reads_little_at_4096_pages",
    ),
    (
        "store: lifetime of the flash",
        "≥ 10 years",
        "host-tests/tests/store/wear.rs",
        "flash_lasts_for_ten_years",
    ),
    (
        "store: freshness an hour after a restart",
        "within 1 %",
        "host-tests/tests/store/restart.rs",
        "freshness_is_back_within_an_hour",
    ),
    (
        "monitor: an update is on the page",
        "≤ 2 s",
        "host-tests/e2e/src/monitor/live.rs",
        "updates_arrive",
    ),
    (
        "monitor: a record of 1 GiB",
        "≤ 100 MiB",
        "boards/host/tests/monitor/commands.rs",
        "a_long_record_takes_no_more_memory_than_a_short_one",
    ),
    (
        "program: a line of 1 GB in a page list",
        "bounded memory",
        "boards/host/tests/cli.rs",
        "an_endless_line_is_refused_after_a_few_kilobytes",
    ),
];

fn elsewhere() -> String {
    let row = |(what, limit, file, test): &(&str, &str, &str, &str)| {
        format!("| {what} | {limit} | {file}, `{test}` |\n")
    };
    let rows: String = ELSEWHERE.iter().map(row).collect();
    format!("| promise | limit | what fails |\n|---|---|---|\n{rows}")
}

const FILE: &str = "host-tests/PERFORMANCE.md";
const PEERS: &str = "## Beside the peers\n";
const PEERS_METHOD: &str = "\
Written by `cargo xtask bench --peers`: what a user would pick instead, on the same lists, with the same budget and the same
politeness, in the simulator. Nobody is told a rate. Share of time that copies were fresh, from the first fetch on, the mean
of ten runs (seeds 1 to 10; rates and changes are others in each, and the same for all peers); in brackets the difference to
dunlin's with its 95 % interval over the pairs. The changes of the last list are real, so its runs differ by chance of the
policies alone. *At most* is the optimum in the long run for Poisson pages whose rates are known; real changes come
otherwise, so it may be exceeded there. Nutch and StormCrawler begin with the interval that spends the budget; their limits are the defaults,
a minute and an hour at least, which is why StormCrawler is out of the running where pages change by seconds. LambdaCrawl is
made to lag few changes behind, not to be fresh, and its visits come at random times; at even gaps its pages are fresher.

Decisions are timed over ten rounds of 100,000 pages on 2,000 hosts, without a simulator, and memory is what the process grew
by. The rules of others are their published ones, in Rust, on queues like ours (`host-tests/bench/src/peers`,
`boards/host/src/simulate/rules.rs`), not their programs. On a device dunlin's page takes 36 bytes; here its links are twice
as wide.
";

/// Writes the section of the peers, and leaves the others alone.
pub fn write_peers(tables: &str) -> Result<()> {
    let file = root().join(FILE);
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {FILE}"))?;
    let (before, old, after) = around_peers(&text);
    let section = format!("{PEERS}\n{PEERS_METHOD}\n{tables}\n");
    let text = match old {
        Some(_) => format!("{before}{section}{after}"),
        None => format!("{}\n\n{}\n", before.trim_end(), section.trim_end()),
    };
    fs::write(&file, text).with_context(|| format!("cannot write {FILE}"))?;
    say(format_args!("wrote {}", file.display()));
    Ok(())
}

/// The page before the section of the peers, that section, and what follows.
fn around_peers(text: &str) -> (&str, Option<&str>, &str) {
    let Some(start) = text.find(PEERS) else {
        return (text, None, "");
    };
    let (before, rest) = text.split_at(start);
    let end = rest[PEERS.len()..]
        .find("\n## ")
        .map_or(rest.len(), |end| PEERS.len() + end + 1);
    let (section, after) = rest.split_at(end);
    (before, Some(section), after)
}

/// Writes `PERFORMANCE.md`, but for the section of the peers.
pub fn write(rows: &[Row], growth: &[Growth]) -> Result<()> {
    let file = root().join(FILE);
    // The section of the peers has a command of its own.
    let old = fs::read_to_string(&file).unwrap_or_default();
    let peers = around_peers(&old).1.unwrap_or_default();
    let machine = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = machine
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or("an unnamed processor", |(_, name)| name);
    let compiler = output(Command::new("rustc").arg("--version")).unwrap_or_default();
    let text = format!(
        "# How fast, how small, how far from the limit\n\n\
         Written by `cargo xtask bench --page`, on one core of {name}, with {}. `ratio` is the other figure by ours; `kept` says \
         whether what was promised holds.\n\n## Method\n\n{METHOD}\n## Figures\n\n{}\n## Honest losses\n\n{LOSSES}\n{peers}\
         ## Promises of another kind\n\nFreshness, exactness, politeness and wear are no figures of this table: tests fail when \
         they are broken.\n\n{}",
        compiler.trim(),
        super::table(rows, growth),
        elsewhere(),
    );
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    say(format_args!("wrote {}", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_of_the_peers_is_found_and_nothing_else() {
        let text = format!("a\n\n{PEERS}\nb\n\n## Next\nc\n");
        let (before, section, after) = around_peers(&text);
        assert_eq!(before, "a\n\n");
        assert_eq!(section, Some(&*format!("{PEERS}\nb\n\n")));
        assert_eq!(after, "## Next\nc\n");
        assert_eq!(around_peers("a\n").1, None);
    }

    #[test]
    fn promises_are_kept_where_the_page_says() {
        for (what, _, file, test) in ELSEWHERE {
            let text = fs::read_to_string(root().join(file)).unwrap_or_default();
            assert!(
                text.contains(&format!("fn {test}(")),
                "{what}: no {test} in {file}"
            );
        }
    }
}
