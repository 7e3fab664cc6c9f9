//! The firewall at work: executions of what was prepared, statements that the proxy answers itself,
//! and what is counted and logged.
//!
//! All others are judged with where they go ([`Routing::judge`](crate::routing::Routing::judge)).

use command::Command;
use route::{Asked, Route, Ruling};
use tokio::time::Instant;
use wire::command::Kind;

use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::session::cx::Cx;
use crate::session::decided::{Decided, Reply};
use crate::session::facts::routing::{decide_prepared, judge};
use crate::session::reply::refuse_here;
use crate::session::state::SessionState;
use crate::session::state::prepared::Preparing;
use crate::worker::Worker;

impl Cx<'_> {
    /// Has the firewall judge the statement in the backlog, or the execution of one, which is
    /// whole, and which the proxy deals with itself. True if the client was told that it may not
    /// send it.
    pub(in crate::session) async fn refuse_own(&mut self, kind: Kind) -> Result<bool, Ending> {
        let is_judged = matches!(kind, Kind::Query | Kind::StmtExecute);
        if !is_judged || self.entry.worker.routing.borrow().routes().firewall.is_none() {
            return Ok(false);
        }
        let command = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let Some(copied) = command.map(|command| command.copied()) else { return Ok(false) };
        let command = copied.command();
        let decided = match kind {
            Kind::Query => {
                judge(self.entry, &self.leg.state, &self.leg.links, (command.text(), true), None, false)
            }
            _ => decide_prepared(self.entry, &self.leg.state, &self.leg.links, command),
        };
        self.entry.worker.note_ruling(&self.leg.state, command, &decided);
        if let Route::Local(reply) = &decided.route
            && let Reply::Error(error) = &**reply
            && decided.screened.ruling == Ruling::Refused
        {
            return refuse_here(self.entry, self.io, self.leg, kind, error).await.map(|()| true);
        }
        Ok(false)
    }
}

impl Worker {
    #[cold]
    fn note_unlisted(&self, state: &SessionState, command: Command<'_>, decided: &Decided) {
        let (counter, messages, what) = match decided.screened.ruling {
            Ruling::Refused => (Counter::FirewallRefused, &self.logged.refused, "has refused"),
            _ => (Counter::FirewallDetected, &self.logged.detected, "would refuse"),
        };
        self.counts.note(counter);
        let Some(hidden) = messages.admit(Instant::now()) else { return };
        let statement = self.shown_in_log(state, command, decided);
        let digest = format_args!("0x{:016X}", decided.digest().unwrap_or(0));
        let caller = &state.caller;
        let (user, schema) = (caller.user().escape_ascii(), caller.schema().escape_ascii());
        let client = &state.client_addr;
        let (flag, clear) = (decided.screened.flag, decided.screened.clear);
        tracing::warn!(
            %digest, statement, %user, %client, %schema, flag, clear, hidden,
            "the firewall {what} a statement"
        );
    }

    /// What was decided about a command for a prepared statement, unless that is executed and the
    /// firewall is against it. It is asked about the statement as it was when it was prepared: that
    /// is what a server executes. Of one that is not known it knows nothing.
    pub(in crate::session) fn screen_execution(
        &self,
        state: &SessionState,
        kind: Kind,
        what: Option<&Preparing>,
        mut decided: Decided,
    ) -> Decided {
        let routing = self.routing.borrow();
        let Some(firewall) = &routing.routes().firewall else { return decided };
        if !matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
            return decided;
        }
        let caller = what.map_or(&state.caller, |what| &what.caller);
        let digest = what.filter(|what| what.screened.clear).and_then(|what| what.digest);
        let flag = what.map_or(state.flag_in, |what| what.screened.flag);
        decided.screened.ruling = firewall.rule(caller, &state.client_addr, Asked { digest, flag });
        if decided.screened.ruling == Ruling::Refused && decided.target().is_some() {
            decided.refuse(ClientError::ByRule(firewall.message().into()));
        }
        decided
    }

    /// Whether statements are looked at: by the firewall, unless its mode for the client is `OFF`,
    /// or, where there is none, for injected SQL.
    pub(in crate::session) fn is_watched(&self, state: &SessionState) -> bool {
        let routing = self.routing.borrow();
        let (user, address) = (state.caller.user(), &state.client_addr);
        let routes = routing.routes();
        routes
            .firewall
            .as_ref()
            .map_or(routes.injections.is_some(), |firewall| firewall.watches(user, address))
    }

    /// Counts what the firewall is against, and logs it now and then.
    #[inline]
    pub(in crate::session) fn note_ruling(
        &self,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) {
        if decided.screened.ruling != Ruling::Passes {
            self.note_unlisted(state, command, decided);
        }
    }

    /// The digest's text of a statement, as the log has it: nothing of its values.
    pub(in crate::session) fn shown_in_log(
        &self,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) -> String {
        let text = state.text_of(command);
        let shown =
            decided.digest().map(|digest| self.digest_text(digest, text, decided)).unwrap_or_default();
        let shown = shown.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(&shown);
        // It is made of the client's text, which must not look like lines of the log.
        String::from_utf8_lossy(shown).replace(char::is_control, " ")
    }
}
