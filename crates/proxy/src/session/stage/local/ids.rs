//! Commands with connection ids in them or in their replies.

use std::pin::pin;

use command::Command;
use legs::backlog::complete_command;
use legs::client::watched;
use legs::entry::BookEntry;
use legs::facts::commands::{Look, look};
use legs::leg::Leg;
use legs::stop::Stop;
use upstream::Full;
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::cx::Cx;
use crate::session::own::refuse_unserved;
use crate::session::stage::local::kill_forms::spell_kill;
use crate::statement::Own;

impl Cx<'_> {
    /// Deals with such a command, which is in the backlog.
    pub(crate) async fn handle_ids(&mut self, kind: Kind) -> Result<(), Ending> {
        let look = self
            .io
            .command(self.leg.state.identity.capabilities)
            .map_or(Look::Cut, |command| look(&self.entry.worker, self.leg, command));
        let is_judged = matches!(look, Look::Ours(Own::Kill(_) | Own::KillByVariable));
        if is_judged && self.refuse_own(kind).await? {
            return Ok(());
        }
        match look {
            Look::Ours(Own::Kill(kill)) => self.kill_here(kind, kill).await,
            Look::Ours(Own::KillAndMore) => self.kill_in_front().await,
            Look::Ours(Own::KillByVariable) => self.kill_by_variable(kind).await,
            Look::Ours(Own::KillExecuted) => {
                spell_kill(self.entry, self.io, &mut self.leg.state);
                Ok(())
            }
            Look::Ours(Own::Ask(ask)) => self.tell(kind, ask).await,
            Look::Ours(Own::Processes { is_full }) => self.ask_for_sessions(kind, is_full).await,
            Look::Cut => complete_command(self.entry, self.io, self.leg).await,
            Look::Ours(Own::Naming) => self.name_threads().await,
            // It has become complete, and is forwarded like any other.
            Look::Plain | Look::Ours(Own::KillOwn(_)) => Ok(()),
        }
    }

    /// Gets to a connection to this hostgroup for the command in the backlog.
    pub(crate) async fn go_for_command(&mut self, hostgroup: u32) -> Result<(), Stop> {
        self.lend_command();
        let reached = {
            let work = pin!(self.leg.go_to(self.entry, hostgroup, Full::TryAgain));
            watched(&self.entry.control, &mut self.io.client, work).await
        };
        self.take_command_back();
        reached
    }

    /// Puts threads in the place of sessions into the command in the backlog, which then is like
    /// any other.
    async fn name_threads(&mut self) -> Result<(), Ending> {
        if self.leg.links.in_use.is_none() {
            let session = self.leg.session();
            let hostgroup = session.transaction.unwrap_or(self.leg.state.account.hostgroup());
            if let Err(stop) = self.go_for_command(hostgroup).await {
                return refuse_unserved(self.entry, self.io, self.leg, stop.unreached()?).await;
            }
        }
        let command = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let named = command.and_then(|all| {
            Some((all.payload().len(), self.leg.links.with_threads(&self.entry.worker, all)?))
        });
        if let Some((len, named)) = named {
            self.io.splice_front(0..len, &named);
        }
        Ok(())
    }
}

/// Whether the proxy deals with a command itself, or may have to.
pub(crate) fn is_ours(entry: &BookEntry, leg: &Leg, command: Option<Command<'_>>) -> bool {
    command.is_none_or(|command| look(&entry.worker, leg, command) != Look::Plain)
}
