//! Servers that are switched off (`OFFLINE_HARD`), do not answer any more or leave their hostgroup
//! while the session has connections to them.
//!
//! Connections that are idle and have nothing left behind are closed, and the client does not
//! notice: the next statement gets another one. What only that server knows is lost with it, and
//! the client is told ([`lost`](super::lost)).

use pool::Off;

use super::Session;
use super::facts::endings::{lose_other, told_if};
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use upstream::Backend;

impl Session {
    /// Before a command is sent: closes the connections to servers that are off, or ends the
    /// session with the reason if it cannot do without one.
    pub(super) fn leave_servers_off(&mut self) -> Result<(), Ending> {
        if !self.links.away.role.is_inner() {
            // The inner sessions of a client have one flag.
            self.control.heed_recall();
            self.leave_shards_off()?;
        }
        let is_off = |other: &Backend| other.server().is_off();
        while let Some(at) = self.links.away.others.iter().position(is_off) {
            let other = self.links.away.others.swap_remove(at);
            let gone = Gone::Off(other.server().off().unwrap_or(Off::Configured));
            lose_other(&self.worker, &self.control, &mut self.state, &other, gone)?;
        }
        match self.links.off() {
            Some(off) => self.give_up_backend(self.links.loss(&self.state), Gone::Off(off)),
            None => Ok(()),
        }
    }

    /// While an answer is on its way: ends the session if the server that owes it is off. What runs
    /// there is killed.
    pub(super) fn break_off(&mut self) -> Result<(), Ending> {
        let Some(backend) = &self.links.in_use else { return Ok(()) };
        // What runs at a server that has only left its hostgroup may end.
        let Some(off) = backend.server().off().filter(|off| off.breaks_off()) else { return Ok(()) };
        let reply = backend.connection().progress();
        if !reply.is_begun {
            return Err(Ending::ServerLost(Gone::Off(off)));
        }
        self.worker.counts.note(Counter::OfflineDuringQuery);
        let error = ClientError::server_off(backend.server().endpoint(), off);
        let ending = told_if(&self.worker, &self.control, &self.state, reply, &error);
        self.leave_nothing_running();
        Err(ending)
    }
}
