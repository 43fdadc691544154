//! Brokers that misbehave: a probe neither panics, nor goes round without a pause, nor grows.

use dunlin::fleet::{LinkError, ProbeTopic};
use dunlin::math::split_mix;
use dunlin::probe::{Board as _, FleetEvent};
use dunlin::time::{Duration, Instant};
use dunlin_fleet::MOST_A_SECOND;

use crate::world::{World, bytes, of_north};

#[test]
fn bytes_that_are_no_mqtt_end_the_connection_and_nothing_else() {
    let mut random = 27;
    for _ in 0..300 {
        let mut world = World::new();
        let from = split_mix(&mut random) as usize % 60;
        let mut noise: Vec<u8> = (0..200).map(|_| split_mix(&mut random) as u8).collect();
        // Often a packet that is whole, with nonsense in it.
        if split_mix(&mut random).is_multiple_of(2) {
            noise[0] = [0x30, 0x20, 0x32, 0x90, 0x40, 0xe0][split_mix(&mut random) as usize % 6];
            noise[1] = 40;
        }
        let (last, taken) = world.run(300, |poll, network, _| {
            if poll == from {
                network.broker.borrow_mut().going.extend(&noise);
            }
        });
        assert_eq!((last.budget, taken), (0.0, None));
    }
}

#[test]
fn messages_of_any_content_change_nothing() {
    let mut random = 5;
    for which in [ProbeTopic::Grant, ProbeTopic::List, ProbeTopic::Command] {
        let mut world = World::new();
        let (last, taken) = world.run(3_000, |poll, network, _| {
            let length = split_mix(&mut random) as usize % 90;
            let mut noise: Vec<u8> = (0..length).map(|_| split_mix(&mut random) as u8).collect();
            if let Some(first) = noise.first_mut() {
                *first = 1;
            }
            if poll % 40 == 30 && network.broker.borrow().report().is_some() {
                network
                    .broker
                    .borrow_mut()
                    .send(&of_north(which), false, &noise);
            }
        });
        assert_eq!(last.budget, 0.0);
        assert_eq!(taken, None);
    }
}

#[test]
fn a_broker_that_floods_is_left_alone_for_a_while() {
    let mut world = World::new();
    let mut sent = 0;
    world.run(4_000, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        if broker.report().is_some() && broker.going.len() < 200 && sent < 10 * MOST_A_SECOND {
            sent += 1;
            let message = bytes(&dunlin::fleet::Presence {
                boot: 1,
                online: true,
            });
            broker.send(&of_north(ProbeTopic::Grant), false, &message);
        }
    });
    let floods = |news: &&FleetEvent| {
        **news
            == FleetEvent::Left {
                why: LinkError::Flood,
            }
    };
    assert!(world.device.news.iter().filter(floods).count() >= 1);
}

#[test]
fn a_broker_that_stalls_is_given_up_and_tried_again_with_growing_pauses() {
    let mut world = World::new();
    let mut moments = Vec::new();
    let clock = world.clock.clone();
    world.run(3_000, |poll, network, _| {
        let mut broker = network.broker.borrow_mut();
        broker.stalls = poll > 60;
        if moments.len() < broker.connections {
            moments.push(clock.now());
        }
    });
    let silent = |news: &&FleetEvent| {
        **news
            == FleetEvent::Left {
                why: LinkError::Silence,
            }
    };
    assert!(world.device.news.iter().filter(silent).count() >= 3);
    // It goes on for ever, but never more often than once in half a second.
    for pair in moments.windows(2) {
        assert!(
            pair[1] - pair[0] >= Duration::from_millis(500),
            "{moments:?}"
        );
    }
    assert!(clock.now() - Instant::ZERO > Duration::from_secs(60));
}
