//! Servers that are switched off (`OFFLINE_HARD`), do not answer any more or leave their hostgroup while the session has
//! connections to them.
//!
//! Connections that are idle and have nothing left behind are closed, and nobody notices: the next statement gets another one.
//! What only that server knows is lost with it, and the client is told.

use pool::{Off, Server};
use wire::reply::ReplyScanner;

use super::Session;
use crate::backend::Target;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;

impl Session {
    /// Between two commands: closes the connections to servers that are off, or ends the session with the reason if it cannot
    /// do without one.
    pub(super) fn leave_servers_off(&mut self) -> Result<(), Ending> {
        // A command that was brought to a server goes there, and hears it as its answer.
        if self.course.decided.is_some() {
            return Ok(());
        }
        self.control.heed_recall();
        let is_off = |other: &super::course::Other| other.backend.server().is_off();
        while let Some(at) = self.course.others.iter().position(is_off) {
            let other = self.course.others.swap_remove(at);
            if !self.course.can_do_without(other.hostgroup, other.status) {
                return Err(self.told_off(other.backend.server(), 1));
            }
            self.forget_prepared(other.hostgroup);
        }
        let Some(backend) = self.backend.as_ref().filter(|backend| backend.server().is_off()) else {
            return Ok(());
        };
        if !self.course.can_do_without(self.course.hostgroup, self.status) {
            return Err(self.told_off(backend.server(), 1));
        }
        self.lose_backend();
        Ok(())
    }

    /// The session ends because it cannot do without this server.
    fn told_off(&self, server: &Server<Target>, seq: u8) -> Ending {
        let off = server.off().unwrap_or(Off::Configured);
        self.told(&ClientError::switched_off(server.endpoint(), off), seq)
    }

    /// While an answer is on its way: ends the session if the server that owes it is off. What runs there is killed.
    pub(super) fn break_off(&mut self, reply: &ReplyScanner) -> Result<(), Ending> {
        let Some(backend) = &self.backend else { return Ok(()) };
        // What runs at a server that has only left its hostgroup may end.
        let Some(off) = backend.server().off().filter(|off| off.breaks_off()) else { return Ok(()) };
        self.worker.counts.note(Counter::OfflineDuringQuery);
        let error = ClientError::switched_off(backend.server().endpoint(), off);
        let ending = self.told_if(reply.is_between_packets(), &error, reply.next_seq());
        self.leave_nothing_running();
        Err(ending)
    }
}
