//! What is printed for machines, read by pandas and a validator of JSON Schemas, in the virtual
//! environment that `cargo xtask test` makes.

mod program;

use std::path::Path;

use dunlin::update::SecretKey;

#[test]
fn pandas_and_schemas_agree_with_what_is_printed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let key = Path::new(env!("CARGO_TARGET_TMPDIR")).join("results-list.sec");
    let secret = SecretKey::new(&[5; 32], *b"a number");
    std::fs::write(&key, secret.file(&[5; 32], "secret")).expect("a key");
    let output = program::python("results.py")
        .arg(env!("CARGO_BIN_EXE_dunlin"))
        .arg(here.join("schemas"))
        .arg(here.join("../../host-tests/data/monitor"))
        .arg(key)
        .output()
        .expect("Python starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
