//! The probe's loop on a network and a clock of our own: every run takes milliseconds and is the
//! same as the one before. What it does on real frames is for the end-to-end tests.

mod additions;
mod broken;
mod collecting;
mod connections;
mod discovering;
mod event_lines;
mod events;
mod hostile;
mod keeping;
mod leases;
mod loop_itself;
mod manners;
mod recorder;
mod redirects;
mod tellers;
mod texts;
mod time_server;
mod world;
