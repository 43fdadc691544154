//! What the image occupies, as the linker placed it, and how deep the stack has been.

/// How many bytes of the device's memory are in use.
#[derive(Clone, Copy, Debug, defmt::Format)]
pub struct Memory {
    /// Code, constants and the initial values of variables.
    pub flash: u32,
    /// Variables with a place of their own.
    pub ram: u32,
    /// What is left for the stack.
    pub stack: u32,
}

unsafe extern "C" {
    static __vector_table: u32;
    static __sidata: u32;
    static __sdata: u32;
    static __edata: u32;
    static _ram_start: u32;
    static __euninit: u32;
    static _stack_end: u32;
    static _stack_start: u32;
    static __build_id_start: u8;
    static __build_id_end: u8;
}

/// What the painted stack was filled with by cortex-m-rt.
const PAINT: u32 = 0xcccc_cccc;
/// Name size, descriptor size, type, and the name `GNU\0`: what precedes the hash in an ELF note.
const NOTE_HEADER: usize = 16;

/// The image's place in flash and RAM.
pub fn in_use() -> Memory {
    let data = distance(&raw const __sdata, &raw const __edata);
    Memory {
        flash: distance(&raw const __vector_table, &raw const __sidata) + data,
        ram: distance(&raw const _ram_start, &raw const __euninit),
        stack: distance(&raw const _stack_end, &raw const _stack_start),
    }
}

/// The most bytes of stack ever used: from its top down to the lowest word that lost its paint.
pub fn stack_high_water() -> u32 {
    let mut lowest = &raw const _stack_end;
    let top = &raw const _stack_start;
    // SAFETY: every word between the two symbols is RAM that belongs to the stack.
    while lowest < top && unsafe { lowest.read_volatile() } == PAINT {
        lowest = lowest.wrapping_add(1);
    }
    distance(lowest, top)
}

/// The first eight bytes of the hash the linker made of the whole image, big-endian: the same
/// digits as in the ELF's `.note.gnu.build-id`, by which a monitor knows that log and ELF belong
/// together.
pub fn build_id() -> u64 {
    let start = &raw const __build_id_start;
    let length = (&raw const __build_id_end)
        .addr()
        .saturating_sub(start.addr());
    // SAFETY: the linker script puts the note between the two symbols, in flash, which never
    // changes.
    let note = unsafe { core::slice::from_raw_parts(start, length) };
    let hash = note.get(NOTE_HEADER..).and_then(|hash| hash.first_chunk());
    hash.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn distance(from: *const u32, to: *const u32) -> u32 {
    to.addr().saturating_sub(from.addr()) as u32
}
