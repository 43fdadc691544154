//! The options of whoever may be told that a page has changed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use dunlin::image::Image;

use crate::collect::tokens::Tokens;
use crate::error::Error;
use crate::output::file::Named;
use crate::output::say;
use crate::push::Pushes;

/// Who may say that pages have changed.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// Listen there for others who say that a page has changed: /indexnow and /websub/SENDER
    #[arg(
        long,
        value_name = "ADDR",
        requires = "push_senders",
        conflicts_with = "fleet"
    )]
    push: Option<SocketAddr>,
    /// Who may: on each line a sender's name and its key, of 16 characters or more
    #[arg(long, value_name = "FILE", requires = "push")]
    push_senders: Option<PathBuf>,
}

impl PushArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = Named<'_>> {
        let senders = self.push_senders.iter();
        senders.map(|path| ("--push-senders", path.as_path()))
    }

    /// Starts to listen, if asked to.
    ///
    /// # Errors
    /// The file cannot be read, or the address not be listened on.
    pub fn start(&self, image: &Image<'_>) -> Result<Option<Arc<Pushes>>, Error> {
        let (Some(address), Some(senders)) = (self.push, &self.push_senders) else {
            return Ok(None);
        };
        let pushes = Arc::new(Pushes::new(image, Tokens::read(senders)?));
        let address = pushes.listen(address)?;
        say(format_args!("pushes are heard at http://{address}/"));
        Ok(Some(pushes))
    }
}
