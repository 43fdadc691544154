//! Prints the host's rows of the bench table, for `cargo xtask bench`; with arguments, those of
//! some rooms.

use dunlin_bench::host::ROOMS;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    for (_, room) in ROOMS.iter().filter(|(name, _)| is_wanted(name)) {
        let mut rows = Vec::new();
        room(&mut rows);
        rows.iter().for_each(|row| println!("{row}"));
    }
}
