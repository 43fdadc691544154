//! Nobody tells anything: what stands for `providers` without feature `hints`, and costs nothing.

use core::marker::PhantomData;

use super::tick::Tick;
use crate::learn::Visit;
use crate::learn::hints::{Provider, Signals};

/// An empty table: no host tells anything.
#[derive(Clone, Debug)]
pub(super) struct Providers<I>(PhantomData<I>);

impl<I> Providers<I> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }

    pub(super) fn record(&self, _host: I, _signals: u32) -> Option<Provider> {
        None
    }

    pub(super) fn learn(&mut self, _host: I, _signals: u32, _visit: &Visit, _rate: f32) {}

    pub(super) fn tells(&self, _host: I) -> bool {
        false
    }

    pub(super) fn ask(&mut self, _host: I, _told: f32, _silent: f32) {}

    pub(super) fn settle(&mut self, _host: I, asked: f32) -> f32 {
        asked
    }

    pub(super) fn end_round(
        &mut self,
        _demand: f32,
        _supply: f32,
        _fetches: u32,
        _now: Tick,
        _per_day: Option<f32>,
    ) {
    }

    pub(super) fn asked(&self, foreseen: f32) -> f32 {
        foreseen
    }

    pub(super) fn spend(&mut self, _host: I, _now: Tick) -> Option<Tick> {
        None
    }

    pub(super) fn move_ticks(&mut self, _by: u32) {}
}

/// Is never called: no host has a record here.
pub(super) fn signals(provider: &Provider, rate: f32) -> Signals<f32> {
    provider.signals(rate)
}
