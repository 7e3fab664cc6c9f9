//! Where a session runs.

use std::rc::Rc;

use runtime::control::Control;
use runtime::worker::Worker;

use crate::flight::Flights;

/// Where a session runs: its worker, and what others see of the session and want of it.
#[derive(Debug, Clone)]
pub struct BookEntry {
    /// Its worker.
    pub worker: Rc<Worker>,
    /// What others see of it and want of it.
    pub control: Rc<Control>,
    /// Where its flights come from.
    pub flights: Rc<Flights>,
}
