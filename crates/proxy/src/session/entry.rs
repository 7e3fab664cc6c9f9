//! Where a session runs.

use std::rc::Rc;

use runtime::control::Control;
use runtime::worker::Worker;

use super::flight::Flights;

/// Where a session runs: its worker, and what others see of the session and want of it.
#[derive(Debug, Clone)]
pub(super) struct BookEntry {
    pub(super) worker: Rc<Worker>,
    pub(super) control: Rc<Control>,
    /// Where its flights come from.
    pub(super) flights: Rc<Flights>,
}
