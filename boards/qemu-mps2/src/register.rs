//! Memory-mapped registers: the one place that dereferences hardware addresses.

/// A 32-bit register of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Register(*mut u32);

// SAFETY: a register is an address; each access is one aligned volatile word, which the core does
// not tear.
unsafe impl Sync for Register {}

impl Register {
    /// The register at `address`.
    ///
    /// # Safety
    /// `address` is an aligned device register of mps2-an386, and neither reading nor writing it
    /// may break memory that Rust code relies on (no DMA set-up, no vector table).
    pub const unsafe fn at(address: usize) -> Self {
        Self(address as *mut u32)
    }

    /// Reads the register once.
    pub fn read(self) -> u32 {
        // SAFETY: `at` promised an aligned register that is safe to read.
        unsafe { self.0.read_volatile() }
    }

    /// Writes the register once.
    pub fn write(self, value: u32) {
        // SAFETY: `at` promised an aligned register that is safe to write.
        unsafe { self.0.write_volatile(value) }
    }
}
