//! Prints the host's rows of the bench table, for `cargo xtask bench`.

use host_tests::bench::ROOMS;

fn main() {
    for room in ROOMS {
        let mut rows = Vec::new();
        room(&mut rows);
        rows.iter().for_each(|row| println!("{row}"));
    }
}
