//! The indexed heap keeps its order and its positions, whatever is done to it.

use dunlin::heap::{ArrayHeap, Entry, PushError};

use crate::bench::Random;
use crate::{Case, cases};

pub const CASES: &[Case] = cases![heap:
    pops_in_order_of_key_then_id, full_hands_the_entry_back, refused_pushes_change_nothing,
    agrees_with_a_linear_model,
];

fn pops_in_order_of_key_then_id() {
    let mut heap: ArrayHeap<u32, u16, 8> = ArrayHeap::new();
    for (id, key) in [(4, 7), (2, 7), (6, 1), (0, 9)] {
        heap.push(id, key).unwrap();
    }
    assert_eq!(heap.pop(), Some(Entry { key: 1, id: 6 }));
    assert_eq!(heap.pop(), Some(Entry { key: 7, id: 2 }));
    assert_eq!(heap.pop(), Some(Entry { key: 7, id: 4 }));
    assert_eq!(heap.pop(), Some(Entry { key: 9, id: 0 }));
    assert_eq!(heap.pop(), None);
}

fn full_hands_the_entry_back() {
    let mut entries = [Entry::UNUSED; 2];
    let mut positions = [0_u16; 8];
    let mut heap = dunlin::heap::SliceHeap::with_storage(&mut entries[..], &mut positions[..]);
    heap.push(5, 1_u32).unwrap();
    heap.push(6, 2).unwrap();
    assert_eq!(
        heap.push(7, 3),
        Err(PushError::Full(Entry { key: 3, id: 7 }))
    );
    heap.pop().unwrap();
    heap.push(7, 3).unwrap();
    assert_eq!(heap.len(), 2);
}

fn refused_pushes_change_nothing() {
    let mut heap: ArrayHeap<u32, u16, 4> = ArrayHeap::new();
    heap.push(1, 10).unwrap();
    assert_eq!(
        heap.push(1, 5),
        Err(PushError::Duplicate(Entry { key: 5, id: 1 }))
    );
    assert_eq!(
        heap.push(4, 5),
        Err(PushError::OutOfRange(Entry { key: 5, id: 4 }))
    );
    assert_eq!(
        heap.push(u16::MAX, 5),
        Err(PushError::OutOfRange(Entry {
            key: 5,
            id: u16::MAX
        }))
    );
    assert_eq!((heap.key(1), heap.len()), (Some(10), 1));
    assert_eq!(
        (heap.remove(3), heap.update(9, 1), heap.contains(u16::MAX)),
        (None, None, false)
    );
}

fn agrees_with_a_linear_model() {
    const IDS: usize = 48;
    let mut heap: ArrayHeap<u32, u16, IDS> = ArrayHeap::new();
    let mut model: [Option<u32>; IDS] = [None; IDS];
    let mut random = Random(2);
    for _ in 0..4_000 {
        let id = random.below(IDS as u32) as u16;
        let key = random.below(100);
        let slot = &mut model[usize::from(id)];
        match random.below(4) {
            0 => assert_eq!(
                heap.push(id, key).is_ok(),
                slot.replace(slot.unwrap_or(key)).is_none()
            ),
            1 => {
                let old = heap.update(id, key);
                assert_eq!(old, *slot);
                *slot = slot.map(|_| key);
            }
            2 => assert_eq!(heap.remove(id), slot.take()),
            _ => {
                let least = (0..IDS as u16)
                    .filter_map(|id| Some((model[usize::from(id)]?, id)))
                    .min();
                assert_eq!(heap.pop().map(|entry| (entry.key, entry.id)), least);
                if let Some((_, id)) = least {
                    model[usize::from(id)] = None;
                }
            }
        }
        assert_eq!(heap.len(), model.iter().flatten().count());
    }
}
