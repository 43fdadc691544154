//! The ring beside a list of frames that has no end.

use log_ring::Ring;

/// Frames as a reader sees them: what stands before each zero.
fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    assert_eq!(frames.pop(), Some(&[][..]), "the last frame has no end");
    frames
}

fn read_all<const N: usize>(ring: &mut Ring<N>) -> Vec<u8> {
    let mut out = vec![0; 2 * N + 1];
    let count = ring.pop(&mut out);
    assert!(ring.is_empty());
    out.truncate(count);
    out
}

#[test]
fn what_fits_comes_out_as_it_went_in() {
    let mut ring = Ring::<8>::NEW;
    let mut out = [0; 3];
    for round in 1..50_u8 {
        ring.push(&[round, round, 0]);
        assert_eq!(ring.pop(&mut out), 3);
        assert_eq!(out, [round, round, 0]);
    }
    assert_eq!(ring.pop(&mut out), 0);
}

#[test]
fn the_newest_whole_frames_stay() {
    let mut ring = Ring::<10>::NEW;
    for frame in 1..=9_u8 {
        ring.push(&[frame, frame, 0]);
    }
    assert_eq!(frames(&read_all(&mut ring)), [[7, 7], [8, 8], [9, 9]]);
}

#[test]
fn a_reader_in_the_middle_loses_a_frame_and_is_in_step_again() {
    let mut ring = Ring::<9>::NEW;
    ring.push(&[1, 1, 0]);
    let mut begun = [0; 1];
    ring.pop(&mut begun);
    for frame in 2..=5_u8 {
        ring.push(&[frame, frame, 0]);
    }
    let mut seen = begun.to_vec();
    seen.extend(read_all(&mut ring));
    let seen = frames(&seen);
    assert_eq!(seen.last(), Some(&&[5, 5][..]));
    let whole = seen
        .iter()
        .filter(|frame| frame.len() == 2 && frame[0] == frame[1])
        .count();
    assert!(
        whole + 1 >= seen.len(),
        "more than one frame is damaged: {seen:?}"
    );
}

#[test]
fn nothing_is_too_long() {
    let mut ring = Ring::<4>::NEW;
    ring.push(&[7; 100]);
    ring.push(&[0, 8, 0]);
    let seen = read_all(&mut ring);
    assert!(seen.len() <= 4 && seen.ends_with(&[8, 0]), "{seen:?}");
    let mut none = Ring::<0>::NEW;
    none.push(&[1, 0]);
    assert!(none.is_empty());
}
