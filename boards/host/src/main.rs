//! The program `dunlin`, which is all in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    dunlin_host::cli::main()
}
