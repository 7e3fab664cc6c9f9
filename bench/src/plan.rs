//! What is measured: workloads, ways to send statements, numbers of clients.

use std::fmt;

/// Numbers of clients of the whole benchmark.
const CLIENTS: [u32; 3] = [1, 16, 128];
/// How often per round a cell is run that a limit is judged by: more samples for the figures that count.
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
}

impl Workload {
    const ALL: [Self; 3] = [Self::PointSelect, Self::ReadOnly, Self::ReadWrite];

    /// The name of sysbench's script.
    pub(crate) const fn script(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadWrite => "oltp_read_write",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PointSelect => "point select",
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
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
}

impl Cell {
    /// The cell of this many clients that the project's limits are about.
    pub(crate) const fn judged(clients: u32) -> Self {
        Self { workload: Workload::PointSelect, prepared: false, clients }
    }

    /// How often each target is measured with it in one round.
    pub(crate) fn passes(self) -> u32 {
        if self == Self::judged(self.clients) { JUDGED_PASSES } else { 1 }
    }

    /// How statements are sent: the word of tables and files.
    pub(crate) const fn statements(self) -> &'static str {
        if self.prepared { "prepared" } else { "text" }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.clients == 1 { "" } else { "s" };
        write!(f, "{}, {}, {} client{plural}", self.workload, self.statements(), self.clients)
    }
}

/// Every workload, as text and prepared, with every number of clients.
pub(crate) fn full() -> Vec<Cell> {
    let mut cells = Vec::new();
    for workload in Workload::ALL {
        for prepared in [false, true] {
            cells.extend(CLIENTS.map(|clients| Cell { workload, prepared, clients }));
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
        }
        assert_eq!((full().len(), quick().len()), (18, 8));
    }
}
