//! What is measured: workloads, ways to send statements, numbers of clients.

use std::fmt;

use crate::target::Kind;

/// Numbers of clients of the whole benchmark.
const CLIENTS: [u32; 3] = [1, 16, 128];
/// Number of clients with TLS.
const TLS_CLIENTS: u32 = 16;
/// How often per round a cell is run that a limit is judged by: more samples for the figures that
/// count.
const JUDGED_PASSES: u32 = 2;

/// One of sysbench's scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One row by primary key per event.
    PointSelect,
    /// A transaction of 14 reads per event.
    ReadOnly,
    /// A transaction of 14 reads and 4 writes per event.
    ReadWrite,
    /// A change of one row by primary key per event.
    Update,
}

impl Workload {
    const ALL: [Self; 3] = [Self::PointSelect, Self::ReadOnly, Self::ReadWrite];

    /// The name of sysbench's script.
    pub(crate) const fn script(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadWrite => "oltp_read_write",
            Self::Update => "oltp_update_non_index",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PointSelect => "point select",
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::Update => "update",
        })
    }
}

/// One line of the benchmark: every target is measured with it in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// What the clients do.
    pub(crate) workload: Workload,
    /// Whether they prepare their statements first, or send text.
    pub(crate) prepared: bool,
    /// How many there are.
    pub(crate) clients: u32,
    /// Whether they use TLS.
    pub(crate) tls: bool,
}

impl Cell {
    /// The cell of this many clients that the project's limits are about.
    pub(crate) const fn judged(clients: u32) -> Self {
        Self { workload: Workload::PointSelect, prepared: false, clients, tls: false }
    }

    /// The same with TLS, which is judged by the one without.
    pub(crate) const fn judged_tls() -> Self {
        Self { tls: true, ..Self::judged(TLS_CLIENTS) }
    }

    /// How often each target is measured with it in one round.
    pub(crate) fn passes(self) -> u32 {
        if self == Self::judged(self.clients) || self.tls { JUDGED_PASSES } else { 1 }
    }

    /// What is measured with it. Only Pointsman has TLS of its own.
    pub(crate) const fn kinds(self) -> &'static [Kind] {
        if self.tls { &[Kind::Pointsman] } else { &Kind::ALL }
    }

    /// What its figures are compared with: those of the floor, and with TLS those of Pointsman
    /// without.
    pub(crate) const fn base(self) -> (Self, Kind) {
        if self.tls { (Self { tls: false, ..self }, Kind::Pointsman) } else { (self, Kind::Floor) }
    }

    /// How statements are sent: the word of tables and files.
    pub(crate) const fn statements(self) -> &'static str {
        match (self.prepared, self.tls) {
            (false, false) => "text",
            (true, false) => "prepared",
            (false, true) => "text over TLS",
            (true, true) => "prepared over TLS",
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.clients == 1 { "" } else { "s" };
        write!(f, "{}, {}, {} client{plural}", self.workload, self.statements(), self.clients)
    }
}

/// Every workload, as text and prepared, with every number of clients; and once over TLS.
pub(crate) fn full() -> Vec<Cell> {
    let mut cells = Vec::new();
    for workload in Workload::ALL {
        for prepared in [false, true] {
            for clients in CLIENTS {
                let cell = Cell { workload, prepared, clients, tls: false };
                cells.push(cell);
                // Right behind the one that it is compared with.
                if cell == Cell::judged(TLS_CLIENTS) {
                    cells.push(Cell::judged_tls());
                }
            }
        }
    }
    cells
}

/// What the limits are about, and a look at everything else with 16 clients.
pub(crate) fn quick() -> Vec<Cell> {
    full().into_iter().filter(|&cell| cell.clients == 16 || cell == Cell::judged(cell.clients)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_plans_have_what_the_limits_are_about() {
        for plan in [full(), quick()] {
            assert!(CLIENTS.iter().all(|&clients| plan.contains(&Cell::judged(clients))), "{plan:?}");
            assert!(plan.contains(&Cell::judged_tls()), "{plan:?}");
        }
        assert_eq!((full().len(), quick().len()), (19, 9));
    }
}
