//! Prints the host half of the bench table. Run through `cargo xtask bench`.

use host_tests::bench::{ROOMS, Row};

fn main() {
    // `--rows`: the caller has printed the head of the table already.
    if !std::env::args().any(|argument| argument == "--rows") {
        println!(
            "| room | what | ours | unit | alternative | ratio | limit |\n|---|---|---|---|---|---|---|"
        );
    }
    for room in ROOMS {
        let mut rows = Vec::new();
        room(&mut rows);
        rows.iter().for_each(print);
    }
}

fn print(row: &Row) {
    let Row { room, what, ours, unit, limit, .. } = row;
    let (other, ratio) = match row.other {
        Some((name, figure)) => (format!("{name} {figure:.4}"), format!("{:.2}", figure / ours)),
        None => ("–".into(), "–".into()),
    };
    println!("| {room} | {what} | {ours:.4} | {unit} | {other} | {ratio} | {limit} |");
}
