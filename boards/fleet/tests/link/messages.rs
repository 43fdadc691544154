//! What messages change, and what they do not.

use dunlin::fleet::{Command, Grant, LinkError, Presence, ProbeTopic, Verb};
use dunlin::probe::FleetEvent;

use crate::broker::Published;
use crate::world::{BOOT, LIST, World, bytes, of_north};

/// The grant that answers a report.
fn answer(report: &dunlin::fleet::Report, number: u32) -> Grant {
    Grant {
        boot: report.boot,
        seq: report.seq,
        epoch: 1,
        number,
        list: LIST,
        lease_ms: 20_000,
        budget: 100.0,
    }
}

#[test]
fn a_probe_says_that_it_is_there_reports_and_listens_to_its_own_topics_alone() {
    let mut world = World::new();
    world.run(200, |_, _, _| {});
    let broker = world.network.broker.borrow();
    let down = [ProbeTopic::Grant, ProbeTopic::List, ProbeTopic::Command].map(of_north);
    assert_eq!(broker.subscribed, down);
    let here = Presence {
        boot: BOOT,
        online: true,
    };
    assert_eq!(broker.published[0], Published::State(here, true));
    let report = broker.report().expect("a report");
    assert_eq!((report.boot, report.list), (BOOT, LIST));
    assert_eq!(world.device.news, [FleetEvent::Joined]);
}

#[test]
fn a_grant_is_obeyed_once_and_one_that_is_kept_stale_or_foreign_never() {
    let mut world = World::new();
    let mut sent = false;
    let (last, _) = world.run(400, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        let Some(report) = broker.report().filter(|_| !sent) else {
            return;
        };
        sent = true;
        let good = answer(&report, 1);
        let of_another_boot = Grant { boot: 8, ..good };
        let forgotten = Grant { seq: 99, ..good };
        let more = Grant {
            number: 9,
            budget: 1e6,
            ..good
        };
        let grant = of_north(ProbeTopic::Grant);
        broker.send(&grant, false, &bytes(&of_another_boot));
        broker.send(&grant, false, &bytes(&forgotten));
        broker.send(&grant, true, &bytes(&more));
        broker.send(
            "dunlin/1/roofs/probe/south/down/grant",
            false,
            &bytes(&more),
        );
        broker.send(
            "dunlin/1/other/probe/north/down/grant",
            false,
            &bytes(&more),
        );
        broker.send(&of_north(ProbeTopic::Report), false, &bytes(&more));
        broker.send(&grant, false, &bytes(&good));
        broker.send(&grant, false, &bytes(&good));
    });
    let granted = |news: &&FleetEvent| matches!(news, FleetEvent::Granted { .. });
    assert_eq!(world.device.news.iter().filter(granted).count(), 1);
    assert_eq!(last.budget, 100.0);
}

#[test]
fn a_command_is_done_once_and_answered_each_time() {
    let mut world = World::new();
    let mut sent = false;
    world.run(600, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        if let Some(report) = broker.report().filter(|_| !sent) {
            sent = true;
            broker.send(
                &of_north(ProbeTopic::Grant),
                false,
                &bytes(&answer(&report, 1)),
            );
            let pull = |id, list| Command {
                id,
                verb: Verb::Pull { page: 1, list },
            };
            let pause = Command {
                id: 9,
                verb: Verb::Pause(true),
            };
            let commands = [
                pull(1, LIST),
                pull(1, LIST),
                pull(2, LIST + 1),
                pause,
                pause,
            ];
            for command in commands {
                broker.send(&of_north(ProbeTopic::Command), false, &bytes(&command));
            }
        }
    });
    let broker = world.network.broker.borrow();
    let answers: Vec<_> = broker
        .published
        .iter()
        .filter_map(|one| match one {
            Published::Done(done) => Some((done.id, done.done)),
            _ => None,
        })
        .collect();
    let expected = [(1, true), (1, true), (2, false), (9, true), (9, true)];
    assert_eq!(answers, expected);
    let paused = |news: &&FleetEvent| matches!(news, FleetEvent::Paused);
    assert_eq!(world.device.news.iter().filter(paused).count(), 1);
}

#[test]
fn who_is_pushed_out_by_its_own_name_comes_back_after_a_pause() {
    let mut world = World::new();
    world.run(2_000, |poll, network, _| {
        if poll == 100 {
            let mut broker = network.broker.borrow_mut();
            // DISCONNECT: somebody has taken over the session.
            broker.going.extend([0xe0, 2, 0x8e, 0]);
        }
    });
    let left = |news: &&FleetEvent| {
        **news
            == FleetEvent::Left {
                why: LinkError::Ended,
            }
    };
    assert_eq!(world.device.news.iter().filter(left).count(), 1);
    assert_eq!(world.network.broker.borrow().connections, 2);
}
