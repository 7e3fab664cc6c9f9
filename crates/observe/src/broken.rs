//! Broken invariants: what cannot be unless the proxy has a defect.
//!
//! A debug build stops there. A release build counts and logs it, and ends the one session or
//! connection that it is about.

use std::panic::Location;

use crate::counts::{Counter, Counts};

/// A broken invariant, and where it was noticed.
#[derive(Debug, Clone, Copy)]
pub struct Broken {
    what: &'static str,
    at: &'static Location<'static>,
}

impl Broken {
    /// Stops a debug build; `what` says what is the case and should not be.
    #[track_caller]
    pub fn new(what: &'static str) -> Self {
        debug_assert!(false, "broken invariant: {what}");
        Self { what, at: Location::caller() }
    }

    /// Counts and logs it.
    pub fn note(self, counts: &Counts) {
        counts.note(Counter::InvariantsBroken);
        tracing::error!(
            what = self.what,
            at = %self.at,
            "a defect of the proxy; one session or connection ends (please report it with this line)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::report::Report;

    #[test]
    fn is_counted() {
        let counts = Counts::default();
        Broken { what: "a test", at: Location::caller() }.note(&counts);
        let report = Report::new(&counts, 0, 0);
        assert_eq!(report.of(Counter::InvariantsBroken), 1);
    }

    #[test]
    #[should_panic(expected = "broken invariant: nothing is there")]
    fn stops_a_debug_build() {
        let _ = Broken::new("nothing is there");
    }
}
