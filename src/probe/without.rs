//! What a probe is without its features: stand-ins that do nothing and take no room, so that the
//! loop reads the same with a feature and without it.

/// Without `discover`, an answer leads nowhere else.
#[cfg(not(feature = "discover"))]
pub(super) mod discovering {
    use core::marker::PhantomData;

    use crate::fetch::Head;
    use crate::probe::slots::Runner;
    use crate::probe::verdicts::Judges;
    use crate::probe::visit::PageVisit;
    use crate::probe::{Board, Probe};
    use crate::scheduler::Outcome;

    /// URLs that are judged besides those of the image: none.
    #[derive(Debug, Default)]
    pub(in crate::probe) struct JudgedTexts;

    impl JudgedTexts {
        pub(in crate::probe) fn of<B>(_: &Probe<'_, B>, _: &PageVisit<'_>, _: u16) -> Self {
            Self
        }

        pub(in crate::probe) fn add_to<'u>(&'u self, _: &mut Judges<'u>) {}

        pub(in crate::probe) fn judge<B>(&self, _: &Probe<'_, B>, _: &Judges<'_>, _: &Head) {}
    }

    /// Nobody reads an answer for its links.
    pub(in crate::probe) struct Reading<'p, 'a, 'v, B>(PhantomData<(&'p Probe<'a, B>, &'v ())>);

    impl<'p, 'a, 'v, B> Reading<'p, 'a, 'v, B> {
        pub(in crate::probe) fn new(_: &'p Probe<'a, B>, _: &'v PageVisit<'a>, _: u16) -> Self {
            Self(PhantomData)
        }

        pub(in crate::probe) fn overhear(&mut self, _: &Head, _: &[u8], _: usize) {}

        pub(in crate::probe) fn finish(&mut self, _: bool) {}
    }

    impl<B: Board> Runner<'_, '_, B> {
        pub(in crate::probe) fn want_links(&self, _: u16) {}

        pub(in crate::probe) fn look_further(&self, _: u16, _: Outcome) {}
    }
}

/// Without `fleet`, a probe is alone and needs no lease.
#[cfg(not(feature = "fleet"))]
pub(super) mod fleet {
    use core::pin::Pin;

    use crate::probe::Board;
    use crate::probe::origin::Origin;
    use crate::probe::slots::Runner;
    use crate::probe::turn::Turn;
    use crate::scheduler::{PageId, SchedulerView};
    use crate::time::Instant;

    /// It lasts for ever.
    #[derive(Debug)]
    pub(in crate::probe) struct Lease;

    impl Lease {
        pub(in crate::probe) const UNNEEDED: Self = Self;

        pub(in crate::probe) fn holds(&self, _: Instant) -> bool {
            true
        }

        pub(in crate::probe) fn until(&self) -> Instant {
            Instant::MAX
        }
    }

    /// Nobody is told of visits.
    #[derive(Debug)]
    pub(in crate::probe) struct Visited;

    impl Visited {
        pub(in crate::probe) const NEW: Self = Self;

        pub(in crate::probe) fn note(
            &mut self,
            _: &SchedulerView<'_>,
            _: PageId,
            _: bool,
            _: Instant,
        ) {
        }
    }

    impl<B: Board> Runner<'_, '_, B> {
        pub(in crate::probe) fn is_outside_fleet(&self, _: &Turn, _: &Origin<'_>) -> bool {
            false
        }

        pub(in crate::probe) fn while_leased<'f, F>(
            &self,
            request: Pin<&'f mut F>,
        ) -> Pin<&'f mut F> {
            request
        }
    }
}

/// Without `hints`, nobody listens to what hosts say about their pages.
#[cfg(not(feature = "hints"))]
pub(super) mod tellers {
    use core::marker::PhantomData;

    use crate::fetch::Head;
    use crate::probe::memory::Knowledge;
    use crate::probe::setup::Setup;
    use crate::probe::slots::Runner;
    use crate::probe::turn::Turn;
    use crate::probe::visit::{Conclusion, PageVisit, VisitAnswer};
    use crate::probe::{Board, Probe};
    use crate::scheduler::{Outcome, SchedulerView};
    use crate::time::Instant;

    pub(in crate::probe) fn recorded(_: &Setup<'_>, _: u16, outcome: Outcome) -> Outcome {
        outcome
    }

    /// An ear that hears nothing.
    pub(in crate::probe) struct Ear<'p, 'a, B>(PhantomData<&'p Probe<'a, B>>);

    impl<B> Ear<'_, '_, B> {
        pub(in crate::probe) fn breath(&self) -> usize {
            usize::MAX
        }

        pub(in crate::probe) fn hear(&mut self, _: &Head, _: &[u8], _: usize) {}

        pub(in crate::probe) fn finish(&mut self, _: &VisitAnswer) {}
    }

    impl<'p, 'a, B: Board> Runner<'p, 'a, B> {
        pub(in crate::probe) fn listen(
            &self,
            _: &Turn,
            _: &PageVisit<'a>,
        ) -> Option<Ear<'p, 'a, B>> {
            Some(Ear(PhantomData))
        }
    }

    pub(in crate::probe) fn heed(
        _: &mut SchedulerView<'_>,
        _: &mut Knowledge<'_>,
        _: &Setup<'_>,
        _: &Turn,
        _: &Conclusion,
        _: Instant,
    ) {
    }
}
