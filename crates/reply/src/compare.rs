//! Comparing the answer that a client gets with the one to the mirrored copy of its statement.

use std::cell::Cell;
use std::rc::Rc;

use observe::counts::{Counter, Counts};
use observe::log_limit::LogLimit;
use tokio::time::Instant;
use wire::Capabilities;
use wire::reply::{End, Outcome};

use crate::tally::Tally;

/// One of the two answers of a comparison, which is over when both are there. If one never comes,
/// nothing is compared.
#[derive(Debug)]
pub struct Half {
    other: Rc<Comparison>,
    is_copy: bool,
}

/// What both have in common.
#[derive(Debug)]
struct Comparison {
    /// The statement's.
    digest: Option<u64>,
    /// The answer that came first.
    first: Cell<Option<Sum>>,
}

/// What is compared of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    hostgroup: u32,
    rows: u64,
    checksum: u64,
    /// The number of the error that it ended with; 0 if it is none.
    error: u16,
}

/// The answer that a client gets, while it is read.
#[derive(Debug)]
pub struct Compare {
    tally: Tally,
    half: Half,
    hostgroup: u32,
}

impl Half {
    /// Both halves: the client's, and the copy's.
    pub fn pair(digest: Option<u64>) -> (Self, Self) {
        let other = Rc::new(Comparison { digest, first: Cell::new(None) });
        (Self { other: Rc::clone(&other), is_copy: false }, Self { other, is_copy: true })
    }

    /// This half of the answers is there. Differences are logged within a limit.
    pub fn settle(self, (counts, differences): (&Counts, &LogLimit), sum: Sum) {
        let Some(first) = self.other.first.replace(Some(sum)) else { return };
        let (original, copy) = if self.is_copy { (first, sum) } else { (sum, first) };
        counts.note(Counter::CopiesCompared);
        if original.is_like(copy) {
            return;
        }
        counts.note(Counter::CopiesDifferent);
        if let Some(hidden) = differences.admit(Instant::now()) {
            let digest = self.other.digest.map(|digest| format!("0x{digest:016X}"));
            let digest = digest.as_deref().unwrap_or_default();
            let (original, copy) = (original.to_string(), copy.to_string());
            tracing::warn!(digest, original, copy, hidden, "a mirrored statement was answered differently");
        }
    }
}

impl Sum {
    /// What is compared of an answer from a server of `hostgroup`.
    pub const fn new(hostgroup: u32, outcome: Outcome, checksum: u64) -> Self {
        let error = if let End::Err { code } = outcome.end { code } else { 0 };
        Self { hostgroup, rows: outcome.rows, checksum, error }
    }

    const fn is_like(self, other: Self) -> bool {
        self.rows == other.rows && self.checksum == other.checksum && self.error == other.error
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { hostgroup, rows, checksum, error } = self;
        write!(f, "hostgroup {hostgroup}: {rows} rows, checksum 0x{checksum:016X}")?;
        if *error == 0 { Ok(()) } else { write!(f, ", error {error}") }
    }
}

impl Compare {
    /// The answer of a server of `hostgroup` that the client gets, in the form that these
    /// capabilities give it; it begins with the sequence id `seq`.
    pub fn new(half: Half, hostgroup: u32, capabilities: Capabilities, seq: u8) -> Self {
        Self { tally: Tally::new(capabilities, seq, true), half, hostgroup }
    }

    /// Counts the next segment of the answer. Nothing is left when nothing more can be counted.
    pub(crate) fn segment(
        mut self: Box<Self>,
        report: (&Counts, &LogLimit),
        bytes: &[u8],
    ) -> Option<Box<Self>> {
        let outcome = match self.tally.read(bytes) {
            Ok(None) => return Some(self),
            Ok(Some((outcome, _))) => outcome,
            Err(_) => return None,
        };
        let sum = Sum::new(self.hostgroup, outcome, self.tally.checksum());
        self.half.settle(report, sum);
        None
    }
}
