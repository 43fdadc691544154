//! What a debugger does to a machine, in the few words of GDB's remote protocol that QEMU has to be
//! told. A fault that is put in from outside needs no back door in the firmware.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection};

/// The Thumb instruction that branches to itself.
const FOR_EVER: &str = "fee7";
/// Exceptions come before interrupts in the vector table.
const EXCEPTIONS: usize = 16;

/// Replaces an interrupt's handler by an endless loop: the next time the interrupt comes, the
/// firmware hangs. A reset puts the firmware back as it was.
pub fn hang(socket: &Path, elf: &Path, interrupt: usize) -> Result<()> {
    let handler = handler(elf, interrupt)?;
    let mut qemu = UnixStream::connect(socket).context("cannot reach QEMU's debugger")?;
    qemu.set_read_timeout(Some(Duration::from_secs(10)))?;
    // The machine stands still from the first word to the last.
    say(&mut qemu, &format!("M{handler:x},2:{FOR_EVER}"))?;
    say(&mut qemu, "D")
}

/// Sends a command, and waits until QEMU says that it is done.
fn say(qemu: &mut UnixStream, words: &str) -> Result<()> {
    let sum = words.bytes().fold(0_u8, u8::wrapping_add);
    write!(qemu, "+${words}#{sum:02x}")?;
    let mut heard = String::new();
    let mut byte = [0];
    while !heard.contains("$OK#") {
        qemu.read_exact(&mut byte)
            .with_context(|| format!("QEMU said {heard:?} to {words}"))?;
        heard.push(char::from(byte[0]));
        ensure!(!heard.contains("$E"), "QEMU refused {words}");
    }
    Ok(())
}

/// Where the handler of an interrupt begins.
fn handler(elf: &Path, interrupt: usize) -> Result<u32> {
    let bytes = fs::read(elf)?;
    let file = object::File::parse(&*bytes)?;
    let table = file
        .section_by_name(".vector_table")
        .context("the firmware has no vector table")?;
    let entry = table
        .data()?
        .get(4 * (EXCEPTIONS + interrupt)..)
        .and_then(<[u8]>::first_chunk);
    let entry = u32::from_le_bytes(*entry.context("the vector table is too short")?);
    // The lowest bit says that it is Thumb code.
    Ok(entry & !1)
}
