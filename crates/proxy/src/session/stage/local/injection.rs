//! Statements that look like injected SQL: what is counted and logged of them, and the end of the
//! sessions that send them.
//!
//! They are found with where they go ([`Routing::judge`](crate::routing::Routing::judge)).

use command::Command;
use route::Sighting;
use tokio::time::Instant;
use wire::command::Kind;

use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::backlog::skip_command;
use crate::session::cx::Cx;
use crate::session::decided::Decided;
use crate::session::facts::endings::told;
use crate::session::facts::shown::begin_own;
use crate::session::state::SessionState;
use crate::worker::Worker;

impl Cx<'_> {
    /// Tells the client why the statement in the backlog is not sent, and that the session is over.
    pub(in crate::session) async fn refuse_injected(
        &mut self,
        kind: Kind,
        error: &ClientError,
    ) -> Result<(), Ending> {
        begin_own(self.entry, self.io, &mut self.leg.state, &mut self.leg.flight, kind);
        let seq = skip_command(self.entry, self.io, self.leg).await?;
        self.entry.answered_here(&self.leg.links, error.code());
        Err(told(self.entry, &self.leg.state, error, seq))
    }
}

impl Worker {
    #[cold]
    fn note_found(&self, state: &SessionState, command: Command<'_>, decided: &Decided, sighting: Sighting) {
        if let Some(fingerprint) = sighting.fingerprint() {
            let is_listed = matches!(sighting, Sighting::Listed(_));
            self.counts.fingerprints.note(fingerprint, is_listed, decided.digest().unwrap_or(0));
        }
        let (counter, messages, what) = match sighting {
            Sighting::Listed(_) => return self.counts.note(Counter::InjectionsListed),
            Sighting::Detected(_) => {
                (Counter::InjectionsFound, &self.logged.injected, "a statement looks like injected SQL")
            }
            Sighting::Refused(_) => (
                Counter::InjectionsFound,
                &self.logged.injected,
                "a connection is closed: its statement looks like injected SQL",
            ),
            Sighting::Failed => (
                Counter::InjectionsUnknown,
                &self.logged.unjudged,
                "the detector of injected SQL has failed with a statement, which passes",
            ),
        };
        self.counts.note(counter);
        let Some(hidden) = messages.admit(Instant::now()) else { return };
        let fingerprint =
            sighting.fingerprint().map_or_else(String::new, |fingerprint| fingerprint.to_string());
        let statement = self.shown_in_log(state, command, decided);
        let digest = format_args!("0x{:016X}", decided.digest().unwrap_or(0));
        let caller = &state.caller;
        let (user, schema) = (caller.user().escape_ascii(), caller.schema().escape_ascii());
        let client = &state.client_addr;
        tracing::warn!(fingerprint, %digest, statement, %user, %client, %schema, hidden, "{what}");
    }

    /// Counts what was found in a statement, and logs it now and then.
    #[inline]
    pub(in crate::session) fn note_sighting(
        &self,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) {
        if let Some(sighting) = decided.screened.sighting {
            self.note_found(state, command, decided, sighting);
        }
    }
}
