//! The program `dunlin`.

use std::process::ExitCode;

fn main() -> ExitCode {
    dunlin_host::cli::main()
}
