//! One sector of a partition, as a flash of its own.

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use super::Partition;

/// A sector, at addresses from 0.
pub(super) struct Sector<'f, F> {
    pub(super) flash: &'f mut F,
    pub(super) start: u32,
}

impl<F: Partition> ErrorType for Sector<'_, F> {
    type Error = F::Error;
}

impl<F: Partition> ReadNorFlash for Sector<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(self.start + offset, bytes).await?;
        // The last word marks a queue's page as closed. Ours never are: whatever is there is
        // damage, and no reason to give the sector up.
        let end = F::ERASE_SIZE - F::READ_SIZE;
        bytes
            .iter_mut()
            .skip(end.saturating_sub(offset as usize))
            .for_each(|byte| *byte = 0xff);
        Ok(())
    }

    fn capacity(&self) -> usize {
        F::ERASE_SIZE
    }
}

impl<F: Partition> NorFlash for Sector<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.flash.erase(self.start + from, self.start + to).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.flash.write(self.start + offset, bytes).await
    }
}
