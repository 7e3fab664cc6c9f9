//! Mirrors: copies of statements for other hostgroups, as rules and hints ask for them.
//!
//! A copy runs as a task of its session's worker, over a connection of the worker's own, logged in
//! as the session's user in the session's schema. No session waits for it: its answer is read and
//! thrown away, and where there are too many copies some are left out. With `compare` its answer
//! and the one that the client gets are counted, and differences are reported.
//!
//! - `submit`: which run, `copy`: running one.

mod copy;
pub mod submit;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use route::{Account, Caller, Mirror};

use crate::log_limit::LogLimit;
use crate::routing::Reading;
use reply::compare::Half;
use session::identity::Identity;

/// The copies of one worker.
#[derive(Debug, Default)]
pub struct Mirrors {
    /// Copies that run.
    running: Cell<u32>,
    waiting: RefCell<Waiting>,
    /// Bounds what is logged of copies that fail.
    failures: LogLimit,
    /// Bounds what is logged of differences.
    pub differences: LogLimit,
}

impl Mirrors {
    /// How many copies run, and how many wait.
    pub fn copies(&self) -> [u64; 2] {
        [self.running.get().into(), self.waiting.borrow().copies.len() as u64]
    }
}

/// Copies that wait for one of those that run to end.
#[derive(Debug, Default)]
struct Waiting {
    copies: VecDeque<Copy>,
    /// Bytes of their statements.
    bytes: usize,
}

/// A copy that is to be run.
#[derive(Debug)]
pub struct Copy {
    /// The statement as its first server gets it.
    pub text: Box<[u8]>,
    /// What the rule or the hint says.
    pub mirror: Mirror,
    /// Who the copy is run for.
    pub identity: Box<Identity>,
    /// The session as its rules see it.
    pub caller: Arc<Caller>,
    /// The client's address, without its port.
    pub client_addr: Box<str>,
    /// What the user's row says about hostgroups.
    pub account: Account,
    /// How the text is to be read.
    pub reading: Reading,
    /// Where to report the answer, if the copy is compared.
    pub compared: Option<Half>,
}
