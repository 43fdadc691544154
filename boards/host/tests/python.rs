//! What is printed for machines, read by pandas and a validator of JSON Schemas, in the virtual
//! environment that `cargo xtask test` makes.

use std::path::Path;
use std::process::Command;

#[test]
fn pandas_and_schemas_agree_with_what_is_printed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/python/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: `cargo xtask test --step tools` makes it",
        python.display()
    );
    let output = Command::new(python)
        .arg(here.join("tests/python/results.py"))
        .arg(env!("CARGO_BIN_EXE_dunlin"))
        .arg(here.join("schemas"))
        .output()
        .expect("Python starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
