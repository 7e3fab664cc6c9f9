//! What ends a session from outside of it, and what its client is told then.

use super::Session;
use super::facts::endings::told;
use super::facts::places::has_transaction;
use crate::control::Signal;
use crate::ending::Ending;
use crate::error::ClientError;

impl Session {
    /// Does what others want of the session, between commands or while one runs: nearly always
    /// nothing.
    #[inline]
    pub(super) fn obey(&mut self, running: bool) -> Result<(), Ending> {
        let is_wanted = self.control.has_mail() || self.control.signal() != Signal::None;
        if is_wanted { self.obey_signal(running) } else { Ok(()) }
    }

    /// What a signal means.
    #[cold]
    fn obey_signal(&mut self, running: bool) -> Result<(), Ending> {
        if self.control.has_mail() {
            self.be_killed(running)?;
        }
        let in_transaction = has_transaction(&self.state, &self.links);
        match self.control.signal() {
            Signal::None => Ok(()),
            Signal::Drain if running || in_transaction => Ok(()),
            // With sequence id 1 it is what the client reads as the answer to its next command.
            Signal::Drain => Err(told(&self.worker, &self.control, &self.state, &ClientError::Shutdown, 1)),
            Signal::Kill if running => Ok(()),
            Signal::Kill => {
                Err(told(&self.worker, &self.control, &self.state, &ClientError::ConnectionKilled, 1))
            }
            Signal::Stop if !running => {
                Err(told(&self.worker, &self.control, &self.state, &ClientError::Shutdown, 1))
            }
            Signal::Timeout if !running && self.control.tells_timeout() => {
                Err(told(&self.worker, &self.control, &self.state, &ClientError::IdleTooLong, 1))
            }
            Signal::Stop | Signal::Timeout => Err(Ending::Silent),
        }
    }
}
