//! Times of statements and of waits for a connection, by hostgroup.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use super::histogram::Histogram;
use crate::limits::HOSTGROUPS_TIMED_MAX;
use crate::rows::HostgroupTimes;

/// What one worker has counted of one hostgroup.
#[derive(Debug, Default)]
struct Counted {
    hostgroup: u32,
    statements: Histogram,
    waits: Histogram,
}

/// What one worker has counted of all hostgroups. Beyond [`HOSTGROUPS_TIMED_MAX`] hostgroups, times
/// of further ones are not counted.
#[derive(Debug, Default)]
pub struct Hostgroups(RefCell<Vec<Counted>>);

impl Hostgroups {
    /// Counts a statement that a server of the hostgroup answered after `time`.
    pub fn note_statement(&self, hostgroup: u32, time: Duration) {
        self.with(hostgroup, |counted| counted.statements.note(time));
    }

    /// Counts a session that waited so long for a connection of the hostgroup.
    pub fn note_wait(&self, hostgroup: u32, time: Duration) {
        self.with(hostgroup, |counted| counted.waits.note(time));
    }

    /// All hostgroups with a statement or a wait, in no order.
    pub fn times(&self) -> Vec<HostgroupTimes> {
        let times = |counted: &Counted| HostgroupTimes {
            hostgroup: counted.hostgroup,
            statements: counted.statements.times(),
            waits: counted.waits.times(),
        };
        self.0.borrow().iter().map(times).collect()
    }

    fn with(&self, hostgroup: u32, note: impl FnOnce(&Counted)) {
        // A proxy has a handful of hostgroups: a list is faster than a hash table.
        let mut all = self.0.borrow_mut();
        if let Some(counted) = all.iter().find(|counted| counted.hostgroup == hostgroup) {
            return note(counted);
        }
        if all.len() < HOSTGROUPS_TIMED_MAX {
            let counted = Counted { hostgroup, ..Counted::default() };
            note(&counted);
            all.push(counted);
        }
    }
}

/// Times by hostgroup, of all workers together, in the order of the hostgroups.
pub fn sum(workers: Vec<Vec<HostgroupTimes>>) -> Vec<HostgroupTimes> {
    let mut sums: BTreeMap<u32, HostgroupTimes> = BTreeMap::new();
    for times in workers.into_iter().flatten() {
        let sum = sums.entry(times.hostgroup).or_default();
        sum.hostgroup = times.hostgroup;
        sum.statements.add(&times.statements);
        sum.waits.add(&times.waits);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hostgroup_has_its_own_times() {
        let hostgroups = Hostgroups::default();
        hostgroups.note_statement(7, Duration::from_micros(90));
        hostgroups.note_statement(9, Duration::from_millis(2));
        hostgroups.note_wait(7, Duration::from_millis(3));
        let times = hostgroups.times();
        let counts: Vec<_> =
            times.iter().map(|all| (all.hostgroup, all.statements.count, all.waits.count)).collect();
        assert_eq!(counts, [(7, 1, 1), (9, 1, 0)]);
        assert_eq!(times[0].waits.total_us, 3_000);
    }

    #[test]
    fn c29_hostgroups_beyond_the_limit_cost_no_memory() {
        let hostgroups = Hostgroups::default();
        for hostgroup in 0..1_000 {
            hostgroups.note_wait(hostgroup, Duration::ZERO);
        }
        assert_eq!(hostgroups.times().len(), HOSTGROUPS_TIMED_MAX);
    }
}
