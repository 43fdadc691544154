//! What is printed for machines, read by pandas and a validator of JSON Schemas, in the virtual
//! environment that `cargo xtask test` makes.

mod program;

use std::path::Path;

#[test]
fn pandas_and_schemas_agree_with_what_is_printed() {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let output = program::python("results.py")
        .arg(env!("CARGO_BIN_EXE_dunlin"))
        .arg(schemas)
        .output()
        .expect("Python starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
