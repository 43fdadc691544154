//! A signed update, from the owner's desk to the device that takes it or says why not.
//!
//! `cargo run --example update --features std,update`

use dunlin::update::{
    Device, Manifest, Offer, PayloadKind, PublicKey, Refusal, SecretKey, digest_of,
};

/// A device that runs build 1.
const DEVICE: Device<'static> = Device {
    kind: PayloadKind::Firmware,
    board: "qemu-mps2",
    build: 1,
    sequence: 1,
    counter: 0,
    room: 320 * 1024,
    store: 3,
    image: 3,
    tried: None,
    on_trial: false,
};

fn main() -> Result<(), Refusal> {
    // On the desk: `cargo xtask keygen` draws keys, this one is for show.
    let key = SecretKey::new(&[7; 32], *b"a number");
    let payload = b"the new firmware";
    let manifest = Manifest {
        kind: PayloadKind::Firmware,
        board: "qemu-mps2",
        build: 2,
        sequence: 2,
        counter: 0,
        length: payload.len() as u32,
        digest: digest_of(payload),
        store: 1,
        image: 1,
        url: "firmware.bin",
    };
    let file = key.sign(&manifest.text(), "verify with firmware.pub");
    println!("{file}");

    // On the device, which knows the public key:
    let message = PublicKey::open(&[key.public()], file.as_bytes())?;
    let offer = DEVICE.accept(&Manifest::parse(message)?);
    println!("for this device: {offer:?}");
    assert_eq!(offer, Ok(Offer::New));

    // Somebody on the way would like another firmware to be taken.
    let forged = file.replace("firmware.bin", "f0rmware.bin");
    let why = PublicKey::open(&[key.public()], forged.as_bytes());
    println!("forged: {why:?}");
    assert_eq!(why, Err(Refusal::Signature));
    Ok(())
}
