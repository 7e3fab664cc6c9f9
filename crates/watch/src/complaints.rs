//! What servers have against checks: each is logged once, until it is something else or over.

use std::collections::HashMap;

use config::Endpoint;
use monitor::{Check, Finding};

/// What stands for all reasons why a server cannot be reached.
const OUT_OF_REACH: &str = "it cannot be reached";

/// What each server has against each check. One that lets the monitor in may still not say how far
/// it is behind.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    servers: HashMap<Endpoint, Vec<(Check, String)>>,
}

/// What is to be logged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// There is a new complaint.
    New,
    /// There is none any more.
    Over,
}

impl Complaints {
    /// What is to be logged of a check with this outcome.
    pub(crate) fn note(
        &mut self,
        server: &Endpoint,
        check: Check,
        finding: Finding,
        error: Option<&str>,
    ) -> Option<Remark> {
        match (finding, error) {
            (Finding::Refused, Some(error)) => {
                let known = self.servers.entry(server.clone()).or_default();
                // Several checks may fail for the same reason.
                let is_new = known.iter().all(|(_, other)| other != error);
                known.retain(|(other, _)| *other != check);
                known.push((check, error.to_owned()));
                is_new.then_some(Remark::New)
            }
            (Finding::Well(_), _) => {
                let known = self.servers.get_mut(server)?;
                known.retain(|(other, _)| *other != check);
                if !known.is_empty() {
                    return None;
                }
                self.servers.remove(server);
                Some(Remark::Over)
            }
            _ => None,
        }
    }

    /// What is to be logged of a server that cannot be reached where a replica may be: the servers
    /// that name it go on to do so, and each time it is for another reason perhaps.
    pub(crate) fn note_out_of_reach(&mut self, server: &Endpoint, check: Check) -> Option<Remark> {
        self.note(server, check, Finding::Refused, Some(OUT_OF_REACH))
    }

    /// Forgets what servers have against checks that are not made any more: that this is over would
    /// never be logged.
    pub(crate) fn keep(&mut self, is_made: impl Fn(&Endpoint, Check) -> bool) {
        self.servers.retain(|server, known| {
            known.retain(|(check, _)| is_made(server, *check));
            !known.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use monitor::Told;

    use super::*;

    const WELL: Finding = Finding::Well(Told::Alive);

    fn server() -> Endpoint {
        Endpoint::Tcp { host: "db1".to_owned(), port: 3306 }
    }

    #[test]
    fn a_check_that_goes_well_does_not_end_what_another_one_meets() {
        let mut complaints = Complaints::default();
        let mut note = |check, finding, error| complaints.note(&server(), check, finding, error);
        let denied = Some("error 1227: Access denied");
        assert_eq!(note(Check::Lag, Finding::Refused, denied), Some(Remark::New));
        for _ in 0..3 {
            assert_eq!(note(Check::Ping, WELL, None), None);
            assert_eq!(note(Check::Lag, Finding::Refused, denied), None, "it is known");
        }
        assert_eq!(note(Check::Lag, Finding::TimedOut, Some("timeout")), None);
        assert_eq!(note(Check::Lag, WELL, None), Some(Remark::Over));
        assert_eq!(note(Check::Lag, WELL, None), None);
    }

    #[test]
    fn what_a_check_met_that_is_not_made_any_more_hides_nothing() {
        let mut complaints = Complaints::default();
        let denied = Some("error 1045: Access denied");
        let refuse =
            |complaints: &mut Complaints, check| complaints.note(&server(), check, Finding::Refused, denied);
        assert_eq!(refuse(&mut complaints, Check::Lag), Some(Remark::New));
        assert_eq!(refuse(&mut complaints, Check::Ping), None);
        complaints.keep(|_, check| check != Check::Lag);
        assert_eq!(complaints.note(&server(), Check::Ping, WELL, None), Some(Remark::Over));
        assert_eq!(refuse(&mut complaints, Check::Ping), Some(Remark::New));
        complaints.keep(|_, _| false);
        assert!(complaints.servers.is_empty(), "nothing is kept of servers that are gone");
    }

    #[test]
    fn where_a_replica_may_be_is_out_of_reach_once() {
        let mut complaints = Complaints::default();
        assert_eq!(complaints.note_out_of_reach(&server(), Check::Replicas), Some(Remark::New));
        assert_eq!(complaints.note_out_of_reach(&server(), Check::Replicas), None);
        assert_eq!(complaints.note(&server(), Check::Replicas, WELL, None), Some(Remark::Over));
    }

    #[test]
    fn what_all_checks_meet_is_one_complaint() {
        let mut complaints = Complaints::default();
        let mut note = |check, finding, error| complaints.note(&server(), check, finding, error);
        let wrong = Some("error 1045: Access denied");
        assert_eq!(note(Check::Ping, Finding::Refused, wrong), Some(Remark::New));
        assert_eq!(note(Check::ReadOnly, Finding::Refused, wrong), None);
        assert_eq!(note(Check::Ping, WELL, None), None);
        assert_eq!(note(Check::ReadOnly, Finding::Refused, Some("error 1040")), Some(Remark::New));
        assert_eq!(note(Check::ReadOnly, WELL, None), Some(Remark::Over));
    }
}
