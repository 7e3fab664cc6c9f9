//! Commands with connection ids in them or in their replies.

use session::limits::{FIRST_CONNECTION_ID, OWN_STATEMENT_BYTES_MAX};
use wire::Codec as _;
use wire::command::{Kind, ProcessKill, opens_cursor};
use wire::frame::{HEADER_LEN, Header};

use super::Session;
use super::state::Past;
use crate::ending::Ending;
use crate::limits::EXPLAINED_BYTES_MAX;
use crate::statement::{self, Kill, Own};
use crate::taps::listing::Listing;
use upstream::Full;

/// What a command is to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The server's.
    Plain,
    /// Not complete, and maybe one of ours.
    Cut,
    Ours(Own),
}

impl Session {
    /// Looks for connection ids in the command that `input` begins with.
    pub(super) fn look(&self, kind: Kind, input: &[u8]) -> Look {
        let Some(header) = input.first_chunk().map(|bytes| Header::parse(*bytes)) else { return Look::Cut };
        let behind = input.get(HEADER_LEN..).unwrap_or_default();
        let payload = behind.get(..header.len as usize);
        let may_be_ours = match (kind, payload) {
            _ if header.len > self.own_bytes_max(kind, behind) => false,
            (Kind::ProcessKill | Kind::ProcessInfo, _) | (Kind::StmtPrepare, None) => true,
            (Kind::StmtExecute, None) => self.state.past.contains(Past::PREPARED_KILL),
            (Kind::StmtExecute, Some(payload)) => self.prepared_kill(payload).is_some(),
            (Kind::Query, Some(payload)) => statement::may_be_own(self.statement(payload)),
            (Kind::Query, None) => statement::may_become_own(self.statement(behind)),
            (Kind::StmtPrepare, Some(payload)) => statement::naming::has_id(payload),
            _ => false,
        };
        if !may_be_ours {
            return Look::Plain;
        }
        let Some(payload) = payload else { return Look::Cut };
        let ours = match kind {
            Kind::ProcessKill => ProcessKill::decode(payload, self.capabilities())
                .map(|command| Kill::connection(command.connection_id))
                .ok()
                .filter(Kill::is_of_a_session)
                .map(Own::Kill),
            Kind::Query => self.own_statement(self.statement(payload)),
            Kind::StmtExecute => self.prepared_kill(payload),
            Kind::ProcessInfo => Some(Own::Processes { is_full: false }),
            _ => None,
        };
        let ours = ours.filter(|own| !self.needs_no_more(*own));
        let ours = ours.or_else(|| self.names_threads(kind, payload).then_some(Own::Naming));
        ours.map_or(Look::Plain, Look::Ours)
    }

    /// What a statement is to the proxy, in this session.
    fn own_statement(&self, text: &[u8]) -> Option<Own> {
        match statement::judge(text) {
            // Where texts are judged, the server gets the client's, and refuses an id that it does
            // not know.
            Some(Own::KillAndMore) => {
                (self.takes_several_statements() && !self.is_watched()).then_some(Own::KillAndMore)
            }
            Some(Own::KillOwn(kill)) => Some(Own::Kill(self.own_kill(kill))),
            own => own,
        }
    }

    /// A `KILL` of the session itself, with its id.
    pub(super) fn own_kill(&self, kill: Kill) -> Kill {
        Kill { id: self.identity.connection_id.into(), ..kill }
    }

    /// Bytes of the longest command that is looked at, with the beginning of this one.
    fn own_bytes_max(&self, kind: Kind, behind: &[u8]) -> u32 {
        if kind == Kind::Query && statement::begins_like_explain(self.statement(behind)) {
            EXPLAINED_BYTES_MAX
        } else {
            OWN_STATEMENT_BYTES_MAX
        }
    }

    /// Whether a command has a statement that names sessions, in whose place a server needs its own
    /// threads. Without a backend it is not known yet which.
    fn names_threads(&self, kind: Kind, payload: &[u8]) -> bool {
        if self.links.in_use.is_some() {
            return self.with_threads(kind, payload).is_some();
        }
        self.naming(kind, payload).is_some_and(statement::naming::is_one)
    }

    /// The text of a command that may name sessions.
    fn naming<'a>(&self, kind: Kind, payload: &'a [u8]) -> Option<&'a [u8]> {
        match kind {
            Kind::Query => Some(self.statement(payload)),
            Kind::StmtPrepare => payload.get(1..),
            _ => None,
        }
    }

    /// A command with a statement that names sessions, with their threads at the backend's server
    /// in their place; `None` if it names none that has one there.
    fn with_threads(&self, kind: Kind, payload: &[u8]) -> Option<Vec<u8>> {
        let text = self.naming(kind, payload)?;
        let server = &self.links.in_use.as_ref()?.server().endpoint().endpoint;
        // A server that counts that far could be asked for the wrong one.
        let thread = |session| {
            self.worker
                .shared
                .upstream
                .threads
                .thread(server, session)
                .filter(|&thread| thread < FIRST_CONNECTION_ID)
        };
        let translated = statement::naming::translated(text, thread)?;
        let front = payload.get(..payload.len() - text.len())?;
        Some([front, &translated].concat())
    }

    /// Deals with such a command, which is in the backlog.
    pub(super) async fn handle_ids(&mut self, kind: Kind) -> Result<(), Ending> {
        let look = self.look(kind, &self.io.backlog);
        let is_judged = matches!(look, Look::Ours(Own::Kill(_) | Own::KillByVariable));
        if is_judged && self.refuse_own(kind).await? {
            return Ok(());
        }
        match look {
            Look::Ours(Own::Kill(kill)) => self.kill_here(kind, kill).await,
            Look::Ours(Own::KillAndMore) => self.kill_in_front().await,
            Look::Ours(Own::KillByVariable) => self.kill_by_variable(kind).await,
            Look::Ours(Own::KillExecuted) => {
                self.spell_kill();
                Ok(())
            }
            Look::Ours(Own::Ask(ask)) => self.tell(kind, ask).await,
            Look::Ours(Own::Processes { is_full }) => self.ask_for_sessions(kind, is_full).await,
            Look::Cut => self.complete_command(kind).await,
            Look::Ours(Own::Naming) => self.name_threads(kind).await,
            // It has become complete, and is forwarded like any other.
            Look::Plain | Look::Ours(Own::KillOwn(_)) => Ok(()),
        }
    }

    /// Puts threads in the place of sessions into the command in the backlog, which then is like
    /// any other.
    async fn name_threads(&mut self, kind: Kind) -> Result<(), Ending> {
        if self.links.in_use.is_none() {
            let session = self.links.session(&self.state);
            let hostgroup = session.transaction.unwrap_or(self.state.account.hostgroup());
            if let Err(why) = self.go_to(hostgroup, Full::TryAgain).await? {
                return self.refuse_unserved(why).await;
            }
        }
        let payload = self.io.whole_front();
        if let Some((len, named)) = payload.and_then(|all| Some((all.len(), self.with_threads(kind, all)?))) {
            self.io.splice_front(0..len, &named);
        }
        Ok(())
    }

    /// Takes note of a command that is being sent, if it may show ids of threads. Rows that the
    /// client fetches later keep them.
    #[inline]
    pub(super) fn begin_listing(&mut self, kind: Kind, payload: &[u8]) {
        let absent = self.flight.as_mut().and_then(|flight| flight.absent.take());
        let shown = self.flight.proposed.as_ref().and_then(|change| change.ids);
        let Some(ids) = shown.filter(|_| !opens_cursor(payload)) else { return };
        let is_binary = kind == Kind::StmtExecute;
        let listing = Listing::new(self.capabilities(), ids, is_binary);
        self.flight().taps.set_listing(match absent.filter(|_| !is_binary) {
            Some(absent) => listing.with(*absent),
            None => listing,
        });
    }
}
