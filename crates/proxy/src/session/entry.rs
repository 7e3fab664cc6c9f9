//! Where a session runs.

use std::rc::Rc;

use super::flight::Flights;
use crate::control::Control;
use crate::worker::Worker;

/// Where a session runs: its worker, and what others see of the session and want of it.
#[derive(Debug, Clone)]
pub(super) struct BookEntry {
    pub(super) worker: Rc<Worker>,
    pub(super) control: Rc<Control>,
    /// Where its flights come from.
    pub(super) flights: Rc<Flights>,
}
