//! EDF on the optimal rates reaches the continuous optimum, but for what whole slots cost.

use host_tests::freshness::run;

#[test]
fn edf_reaches_the_continuous_optimum() {
    let mut table =
        String::from(" pages  budget  on optimal  on azar   (% of the continuous optimum)\n");
    for (pages, rounds) in [(10, 2_000), (100, 1_000), (1_000, 200), (10_000, 60)] {
        for budget in [0.01, 0.1, 1.0, 4.0] {
            let reached = run(pages, budget, rounds, 1);
            if pages >= 1_000 && budget >= 1.0 {
                assert!(
                    reached.optimal >= 0.998,
                    "{pages} pages, {budget}: {reached:?}"
                );
            }
            if pages >= 1_000 && budget >= 0.1 {
                assert!(
                    reached.optimal >= 0.993,
                    "{pages} pages, {budget}: {reached:?}"
                );
            }
            let percent = |share: f64| share * 100.0;
            let ours = percent(reached.optimal);
            let azar = percent(reached.azar);
            table += &format!("{pages:>6}  {budget:>6}  {ours:>10.2}  {azar:>7.2}\n");
        }
    }
    insta::assert_snapshot!("edf_freshness", table);
}
