//! Updates from the server to the boot loader, on a model of flash that loses power at every byte.

mod cable;
mod chip;
mod cuts;
mod device;
mod lists;
mod refusals;
mod resuming;
mod server;
