//! What replicas are known to have applied.
//!
//! What one connection has proven holds for others to the same process of the server, and a process
//! only adds transactions. A server that was restarted, or restored from a backup, is another
//! process, which may have fewer. A connection that was open when a proof was asked for leads to
//! the process that gave it: the process has lived since before the question, and the connection
//! still lives. One that was opened later proves for itself.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use config::Endpoint;
use gtid::{Gtid, Highest};

/// Machines that are known: more than a fleet has. Beyond them, all proofs are dropped, and
/// replicas are asked again.
pub const MACHINES_MAX: usize = 4_096;

/// A server, and the address of the machine at the other end; `None` where it is no TCP connection.
pub type Machine = (Endpoint, Option<IpAddr>);

/// The watermarks of all replicas.
#[derive(Debug, Default)]
pub struct Applied {
    machines: Mutex<HashMap<Machine, Proven>>,
    /// Those that lacked transactions when they were asked last.
    late: Mutex<HashSet<Machine>>,
}

/// What one process has proven.
#[derive(Debug)]
struct Proven {
    /// When the last question was asked that the process has answered.
    asked: Instant,
    highest: Highest,
}

impl Applied {
    fn machines(&self) -> MutexGuard<'_, HashMap<Machine, Proven>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn late(&self) -> MutexGuard<'_, HashSet<Machine>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A machine was asked for transactions: whether it lacked some of them then.
    pub fn note_late(&self, machine: &Machine, is_late: bool) {
        let mut late = self.late();
        if !is_late {
            late.remove(machine);
        } else if !late.contains(machine) {
            if late.len() >= MACHINES_MAX {
                late.clear();
            }
            late.insert(machine.clone());
        }
    }

    /// Whether a machine lacked transactions when it was asked last.
    pub fn is_late(&self, machine: &Machine) -> bool {
        self.late().contains(machine)
    }

    /// Whether the server behind a connection that was opened at `opened` is known to have applied
    /// all of these transactions.
    pub fn has<'a>(
        &self,
        machine: &Machine,
        opened: Instant,
        mut tokens: impl Iterator<Item = &'a Gtid>,
    ) -> bool {
        let machines = self.machines();
        let proven = machines.get(machine).filter(|proven| opened <= proven.asked);
        tokens.all(|token| proven.is_some_and(|proven| proven.highest.reaches(token)))
    }

    /// Whether a machine of this server has proven all of these transactions. Another connection
    /// may have to prove for itself.
    pub fn says(&self, server: &Endpoint, tokens: &Highest) -> bool {
        let has = |proven: &Proven| tokens.iter().all(|token| proven.highest.reaches(token));
        self.machines().iter().any(|((endpoint, _), proven)| endpoint == server && has(proven))
    }

    /// The server behind a connection that was opened at `opened` has answered a question of
    /// `asked` with yes: it has applied these transactions.
    pub fn prove(&self, machine: &Machine, opened: Instant, asked: Instant, tokens: &Highest) {
        let mut machines = self.machines();
        if machines.len() >= MACHINES_MAX && !machines.contains_key(machine) {
            machines.clear();
        }
        match machines.get_mut(machine) {
            Some(proven) if opened <= proven.asked => {
                proven.highest.merge(tokens);
                proven.asked = proven.asked.max(asked);
            }
            _ => {
                machines.insert(machine.clone(), Proven { asked, highest: tokens.clone() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn highest(gtids: &[&str]) -> Highest {
        let mut highest = Highest::default();
        for gtid in gtids {
            highest.raise(gtid.parse().unwrap());
        }
        highest
    }

    fn machine(last: u8) -> Machine {
        (Endpoint::Tcp { host: "replica".to_owned(), port: 3306 }, Some([10, 0, 0, last].into()))
    }

    #[test]
    fn a_proof_holds_for_connections_that_were_open_when_it_was_asked_for() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let (applied, here) = (Applied::default(), machine(1));
        let has = |opened, gtid: &str| applied.has(&here, at(opened), highest(&[gtid]).iter());
        assert!(!has(0, "0-1-1"));
        applied.prove(&here, at(1), at(5), &highest(&["0-1-7"]));
        assert!(applied.says(&here.0, &highest(&["0-1-7"])) && !applied.says(&here.0, &highest(&["0-1-8"])));
        assert!(has(1, "0-1-7") && has(5, "0-1-3") && has(0, "0-1-7"));
        assert!(!has(5, "0-1-8") && !has(5, "1-1-1"));
        assert!(!has(6, "0-1-1"), "it may lead to another process");
        assert!(!applied.has(&machine(2), at(1), highest(&["0-1-1"]).iter()), "another machine");
        // A connection of before proves that the process still lives.
        applied.prove(&here, at(1), at(8), &highest(&["0-1-9"]));
        assert!(has(6, "0-1-9"));
        // One of after may lead to a process that was restored from a backup.
        applied.prove(&here, at(9), at(10), &highest(&["0-1-4"]));
        assert!(has(9, "0-1-4") && !has(1, "0-1-7"));
    }

    #[test]
    fn nothing_is_had_by_all() {
        assert!(Applied::default().has(&machine(1), Instant::now(), [].iter()));
    }

    #[test]
    fn machines_are_bounded() {
        let (applied, now) = (Applied::default(), Instant::now());
        for at in 0..=MACHINES_MAX {
            let endpoint = Endpoint::Tcp { host: at.to_string(), port: 1 };
            let machine = (endpoint, None);
            applied.prove(&machine, now, now, &highest(&["0-1-1"]));
            applied.note_late(&machine, true);
            assert!(applied.is_late(&machine));
            applied.note_late(&machine, at % 2 == 0);
            assert_eq!(applied.is_late(&machine), at % 2 == 0);
        }
        assert!(applied.machines().len() <= MACHINES_MAX && applied.late().len() <= MACHINES_MAX);
    }
}
