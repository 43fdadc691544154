//! Many probes, one collection: what runs on a computer.
//!
//! ```text
//!   broker ◄──► link ◄──► service ──► coordinator ──► planner      how much may each probe fetch?
//!                          http ──┘      │      └───► placing      who gets which hosts?
//!                                      saved ──► collection, roster
//! ```
//!
//! | part | what is in it |
//! |---|---|
//! | [`broker_url`], [`join_args`] | which fleet a probe belongs to |
//! | [`joined`] | this computer as a probe of a fleet |
//! | [`planner`] | who may fetch how much: the planner's decisions, without its network |
//! | [`coordinator`] | the planner's mind: messages of probes in; grants, lists and commands out |
//! | `hearing`, `telling` | what it makes of messages, and what it says |
//! | `placing` | who gets which hosts, and who gives some away |
//! | [`collection`], [`roster`] | the pages with their hosts, and the probes |
//! | `page_table` | pages by the million in a computer's memory |
//! | [`saved`] | what has to be known when a planner starts again |
//! | [`orders`], [`asking`] | what its owner can ask of it, and how |
//! | [`service`], [`link`] | the planner on a broker, and any client of one |
//! | [`http`], [`view`] | lists, orders and figures by HTTP; the fleet as others see it |
//! | [`broker`] | a broker for people who have none |
//! | [`web`] | pages by the thousand million, and what they ask for at a price: for simulations |
//! | [`simulate`] | a fleet in virtual time, on a network that loses messages |

pub mod asking;
pub mod broker;
pub mod broker_url;
pub mod collection;
pub mod coordinator;
mod hearing;
pub mod http;
pub mod join_args;
pub mod joined;
pub mod link;
pub mod orders;
mod page_table;
mod placing;
pub mod planner;
pub mod roster;
pub mod saved;
pub mod service;
pub mod simulate;
mod telling;
pub mod view;
pub mod web;
