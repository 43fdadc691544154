//! The options of whoever tells news: to whom.

use std::path::PathBuf;

use crate::board::net::{HostConnect, HostResolve};
use crate::error::Error;
use crate::output::file::Named;
use crate::post::{Post, PostUrl};
use crate::told::Told;
use crate::told::atom::FeedFile;
use crate::told::exec::Exec;
use crate::told::outbox::Outbox;
use crate::told::telling::Telling;
use crate::told::webhook::{Template, Webhook};

/// Who is told of changes and of bad news.
#[derive(Debug, clap::Args)]
pub struct ToldArgs {
    /// Run this for each change and each piece of bad news, which is JSON on its stdin; no shell
    /// reads it (repeatable)
    #[arg(long, value_name = "CMD", value_parser = Exec::parse)]
    exec: Vec<Exec>,
    /// Post each change and each piece of bad news there, as JSON (repeatable)
    #[arg(long, value_name = "URL", value_parser = PostUrl::parse)]
    webhook: Vec<PostUrl>,
    /// What to post instead of all fields: JSON with {text}, {url}, {event}, {name}, {host},
    /// {reason} and {time} where their values go
    #[arg(long, value_name = "JSON", requires = "webhook", value_parser = Template::parse)]
    webhook_body: Option<Template>,
    /// Keep the last changes and bad news in this file, as an Atom feed
    #[arg(long, value_name = "FILE")]
    feed: Option<PathBuf>,
}

impl ToldArgs {
    /// Whether anybody is to be told: a program, a server, or readers of a feed.
    pub fn is_asked(&self) -> bool {
        !self.exec.is_empty() || !self.webhook.is_empty() || self.feed.is_some()
    }

    /// Is there a feed?
    pub fn has_feed(&self) -> bool {
        self.feed.is_some()
    }

    /// The files that are written.
    pub fn files(&self) -> impl Iterator<Item = Named<'_>> {
        self.feed.iter().map(|path| ("--feed", path.as_path()))
    }

    /// Starts telling.
    ///
    /// # Errors
    /// The feed's file cannot be written.
    pub fn start(
        &self,
        connect: &HostConnect,
        resolve: &HostResolve,
        now: u64,
    ) -> Result<Told, Error> {
        let feed = self.feed.as_deref();
        let feed = feed.map(|path| FeedFile::new(path, now)).transpose()?;
        let commands = self.exec.iter().map(|exec| Outbox::to(exec.clone()));
        let hooks = self.webhook.iter().map(|url| {
            let connect = connect.clone();
            let resolve = resolve.clone();
            let body = self.webhook_body.clone();
            Outbox::to(Webhook::new(Post::new(url.clone(), connect, resolve), body))
        });
        Ok(Told::new(
            Telling::to(commands.chain(hooks).collect()),
            feed,
        ))
    }
}
