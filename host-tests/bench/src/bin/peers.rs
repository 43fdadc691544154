//! Prints how the scheduler does beside what else one would pick, for `cargo xtask bench --peers`;
//! with `--cost NAME`, nanoseconds a decision and bytes a page of one of them.

use anyhow::{Context, Result};
use dunlin_bench::peers;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == "--cost"
    {
        let (time, bytes) =
            peers::cost(name).with_context(|| format!("no peer is called {name}"))?;
        println!("{time} {bytes}");
        return Ok(());
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    print!("{}", peers::tables(peers::SEEDS, false, &program)?);
    Ok(())
}
