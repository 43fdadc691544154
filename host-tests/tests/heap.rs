//! The indexed heap against a sorted model, on random operations.

use std::collections::BTreeMap;

use dunlin::heap::{Entry, Heap, Id, PushError};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Push(u16, u32),
    Pop,
    Update(u16, u32),
    Remove(u16),
    Clear,
}

/// Few distinct keys, so that ties are common; ids a little beyond the range, so that refusals are.
fn operation(ids: u16) -> impl Strategy<Value = Operation> {
    let id = 0..ids + 2;
    prop_oneof![
        6 => (id.clone(), 0..20_u32).prop_map(|(id, key)| Operation::Push(id, key)),
        3 => Just(Operation::Pop),
        4 => (id.clone(), 0..20_u32).prop_map(|(id, key)| Operation::Update(id, key)),
        3 => id.prop_map(Operation::Remove),
        1 => Just(Operation::Clear),
    ]
}

fn follows_the_model<I: Id>(capacity: usize, ids: u16, operations: &[Operation]) {
    let id = |raw: u16| I::from_index(usize::from(raw)).expect("small ids fit");
    let mut heap = Heap::with_storage(
        vec![Entry::<u32, I>::UNUSED; capacity],
        vec![I::NONE; usize::from(ids)],
    );
    let mut model: BTreeMap<I, u32> = BTreeMap::new();
    for operation in operations {
        match *operation {
            Operation::Push(raw, key) => {
                let entry = Entry { key, id: id(raw) };
                let expected = if raw >= ids {
                    Err(PushError::OutOfRange(entry))
                } else if model.contains_key(&entry.id) {
                    Err(PushError::Duplicate(entry))
                } else if model.len() == capacity {
                    Err(PushError::Full(entry))
                } else {
                    model.insert(entry.id, key);
                    Ok(())
                };
                assert_eq!(heap.push(entry.id, key), expected);
            }
            Operation::Pop => {
                let least = model.iter().map(|(&id, &key)| Entry { key, id }).min();
                assert_eq!(heap.pop(), least);
                least.and_then(|entry| model.remove(&entry.id));
            }
            Operation::Update(raw, key) => {
                let old = model
                    .get_mut(&id(raw))
                    .map(|known| std::mem::replace(known, key));
                assert_eq!(heap.update(id(raw), key), old);
            }
            Operation::Remove(raw) => assert_eq!(heap.remove(id(raw)), model.remove(&id(raw))),
            Operation::Clear => {
                heap.clear();
                model.clear();
            }
        }
        assert_eq!(
            heap.peek().copied(),
            model.iter().map(|(&id, &key)| Entry { key, id }).min()
        );
        assert_eq!(heap.len(), model.len());
        for raw in 0..ids + 2 {
            assert_eq!(heap.key(id(raw)), model.get(&id(raw)).copied());
        }
    }
}

proptest! {
    #[test]
    fn sixteen_bit_ids(capacity in 0..24_usize, ids in 1..32_u16,
        operations in proptest::collection::vec(operation(32), 0..300)) {
        follows_the_model::<u16>(capacity, ids, &operations);
    }

    #[test]
    fn thirty_two_bit_ids(capacity in 0..24_usize, ids in 1..32_u16,
        operations in proptest::collection::vec(operation(32), 0..300)) {
        follows_the_model::<u32>(capacity, ids, &operations);
    }
}
