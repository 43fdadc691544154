use host_tests::learn::providers::*;
#[test]
fn scratch() {
    let smart = Help::Smart { recall: 1.0, precision: 1.0 };
    for (name, hosts) in [
        ("normal", vec![Help::Normal; 15]),
        ("smart", vec![smart; 15]),
        ("super100", vec![Help::Super { precision: 1.0 }; 15]),
        ("super75", vec![Help::Super { precision: 0.75 }; 15]),
        ("super50", vec![Help::Super { precision: 0.5 }; 15]),
        ("super25", vec![Help::Super { precision: 0.25 }; 15]),
        ("smart .8/.8", vec![Help::Smart { recall: 0.8, precision: 0.8 }; 15]),
        ("smart .5/.2", vec![Help::Smart { recall: 0.5, precision: 0.2 }; 15]),
        (
            "mixed",
            [smart, Help::Normal, Help::Smart { recall: 0.8, precision: 0.1 }]
                .iter()
                .copied()
                .cycle()
                .take(15)
                .collect(),
        ),
    ] {
        for per_day in [80.0, 160.0] {
            let world = World::new(&hosts, 20.0, 0.5, 7);
            let f = |c: &mut dyn Crawler| world.freshness(c, per_day);
            let xu = f(&mut XuCrawler::new(&world, per_day));
            let mut w1 = world.clone();
            w1.cycle = 1.0 / per_day;
            let xu1 = w1.freshness(&mut XuCrawler::new(&w1, per_day), per_day);
            let deaf = f(&mut IndexCrawler::new(&world, Value::Deaf));
            let eq = f(&mut IndexCrawler::new(&world, Value::EquivalentAge));
            let mut e = IndexCrawler::new(&world, Value::Exact);
            let exact = f(&mut e);
            let (rates, hs) = e.learnt();
            let ratio: f64 = rates.zip(&world.pages).map(|(r, p)| (r / p.rate).ln()).sum::<f64>()
                / world.pages.len() as f64;
            let hs: Vec<_> = hs.take(3).map(|p| format!("{:.2}/{:.2}", p.recall(), p.precision())).collect();
            eprintln!(
                "{name:12} {per_day} xu {xu:.4} xu-slot {xu1:.4} deaf {deaf:.4} eq {eq:.4} exact {exact:.4} rate bias {:.2} {hs:?}",
                ratio.exp()
            );
        }
    }
}
