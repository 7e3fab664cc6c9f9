//! What ends a session from outside of it, and what its client is told then.

use super::Session;
use crate::control::Signal;
use crate::counted::note_own_error;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::sock::garbled;

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
        let in_transaction = self.has_transaction();
        match self.control.signal() {
            Signal::None => Ok(()),
            Signal::Drain if running || in_transaction => Ok(()),
            // With sequence id 1 it is what the client reads as the answer to its next command.
            Signal::Drain => Err(self.told(&ClientError::Shutdown, 1)),
            Signal::Kill if running => Ok(()),
            Signal::Kill => Err(self.told(&ClientError::ConnectionKilled, 1)),
            Signal::Stop if !running => Err(self.told(&ClientError::Shutdown, 1)),
            Signal::Timeout if !running && self.control.tells_timeout() => {
                Err(self.told(&ClientError::IdleTooLong, 1))
            }
            Signal::Stop | Signal::Timeout => Err(Ending::Silent),
        }
    }

    /// The session ends with this error.
    pub(super) fn told(&self, error: &ClientError, seq: u8) -> Ending {
        note_own_error(&self.worker, &self.control, error);
        Ending::tell(error, seq, self.state.identity.capabilities)
    }

    /// Reading from the client has failed. What is not the protocol it is told, in the place of the
    /// answer `seq`.
    pub(super) fn unreadable(&self, error: &std::io::Error, seq: u8) -> Ending {
        match garbled(error) {
            Some(error) => self.interrupted(&ClientError::malformed(error), seq),
            None => Ending::ClientLeft,
        }
    }

    /// The session ends with this error although the client may be in the middle of sending.
    pub(super) fn interrupted(&self, error: &ClientError, seq: u8) -> Ending {
        note_own_error(&self.worker, &self.control, error);
        Ending::interrupt(error, seq, self.state.identity.capabilities)
    }
}
