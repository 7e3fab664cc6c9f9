//! What cannot be unless the proxy has a defect. A debug build stops there. A release build counts
//! it, logs where it was, and ends the one session or connection that it is about.

use std::panic::Location;

use crate::backend::Backend;
use crate::counts::{Counter, Counts};
use crate::ending::Ending;

/// A broken invariant, and where it was noticed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken {
    what: &'static str,
    at: &'static Location<'static>,
}

impl Broken {
    /// Stops a debug build; `what` says what is the case and should not be.
    #[track_caller]
    pub(crate) fn new(what: &'static str) -> Self {
        debug_assert!(false, "broken invariant: {what}");
        Self { what, at: Location::caller() }
    }

    /// Counts and logs it.
    pub(crate) fn note(self, counts: &Counts) {
        counts.note(Counter::InvariantsBroken);
        tracing::error!(
            what = self.what,
            at = %self.at,
            "a defect of the proxy; one session or connection ends (please report it with this line)"
        );
    }
}

/// The end of a session that is in a state which cannot be.
#[track_caller]
pub(crate) fn broken(what: &'static str) -> Ending {
    Ending::Broken(Broken::new(what))
}

/// The connection that a command in progress has.
#[track_caller]
pub(crate) fn in_use(connection: Option<&Backend>) -> Result<&Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The same, to be changed.
#[track_caller]
pub(crate) fn in_use_mut(connection: &mut Option<Backend>) -> Result<&mut Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The end of a session of which a command in progress has no connection.
#[track_caller]
pub(crate) fn no_connection() -> Ending {
    broken("a command in progress has no connection")
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
        let _ = broken("nothing is there");
    }
}
