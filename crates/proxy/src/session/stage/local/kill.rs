//! KILL, from both sides: a session that wants another one killed, and a session that is to be
//! killed.

use std::pin::pin;

use front::login::ok;
use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::facts::endings::told;
use legs::facts::orders::while_waiting;
use legs::facts::replies::{reply, reply_error};
use legs::facts::shown::measure_own;
use legs::io::Io;
use legs::leg::Leg;
use legs::state::SessionState;
use reply::errors::INTERRUPTED;
use runtime::control::Control;
use runtime::limits::KILL_ANSWER_MAX;
use runtime::mail::Verdict;
use session::link::LinkState;
use wire::command::Kind;
use wire::reply::End;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::statement::Kill;
use crate::statement::kill::What;

impl Cx<'_> {
    /// Runs a KILL of this client, whose command is in the backlog.
    pub(crate) async fn run_kill(&mut self, kill: Kill) -> Result<(), Ending> {
        let seq = skip_command(self.entry, self.io, self.leg).await?;
        if kill.id == u64::from(self.leg.state.identity.connection_id) {
            return kill_self(self.entry, self.io, self.leg, kill.what, seq).await;
        }
        match kill_other(self.entry, self.io, &self.leg.state, kill).await? {
            Verdict::Done => {
                let ok = ok(self.leg.state.identity.capabilities, self.leg.state.status);
                reply(self.entry, self.io, &mut self.leg.state, seq, &ok).await
            }
            Verdict::Unknown => {
                reply_error(
                    self.entry,
                    self.io,
                    &mut self.leg.state,
                    seq,
                    &ClientError::UnknownThread { id: kill.id },
                )
                .await
            }
            Verdict::Failed(error) => {
                reply_error(self.entry, self.io, &mut self.leg.state, seq, &error).await
            }
            Verdict::Refused(payload) => reply(self.entry, self.io, &mut self.leg.state, seq, &payload).await,
        }
    }

    /// The same for one that is counted, and shown meanwhile.
    pub(crate) async fn kill_here(&mut self, kind: Kind, kill: Kill) -> Result<(), Ending> {
        let measured = measure_own(self.entry, self.io, &self.leg.state, &self.leg.flight, kind);
        self.entry.begin_running(measured, &[]);
        self.run_kill(kill).await?;
        self.entry.answered_here(&self.leg.links, 0);
        Ok(())
    }
}

/// The statement that runs is the KILL itself.
async fn kill_self(entry: &BookEntry, io: &mut Io, leg: &mut Leg, what: What, seq: u8) -> Result<(), Ending> {
    match what {
        What::Query => {
            reply_error(entry, io, &mut leg.state, seq, &ClientError::Interrupted).await?;
            leg.links.keep_own_error(&mut leg.state, &ClientError::Interrupted);
            Ok(())
        }
        // What they say themselves.
        What::Connection if entry.worker.shared.says_mariadb().await => {
            Err(told(entry, &leg.state, &ClientError::ConnectionKilled, seq))
        }
        What::Connection => Err(told(entry, &leg.state, &ClientError::Interrupted, seq)),
    }
}

/// Sends a KILL to the session that it names, and waits for what comes of it. A client that
/// leaves meanwhile does not take it back.
pub(crate) async fn kill_other(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    kill: Kill,
) -> Result<Verdict, Ending> {
    let shared = &entry.worker.shared;
    let Some(answer) = shared.directory.kill(kill, &state.identity) else {
        return Ok(Verdict::Unknown);
    };
    let answer = pin!(tokio::time::timeout(KILL_ANSWER_MAX, answer));
    // Two sessions may kill each other.
    let answer = while_waiting(&entry.control, &mut io.client, state.identity.capabilities, answer).await?;
    Ok(match answer {
        Some(Ok(Ok(verdict))) => verdict,
        // The session has ended, and with it what was to be killed.
        Some(Ok(Err(_))) => Verdict::Done,
        Some(Err(_)) => Verdict::Failed(ClientError::KillUnanswered { id: kill.id, waited: KILL_ANSWER_MAX }),
        None => Verdict::Failed(ClientError::Interrupted),
    })
}

/// Takes note of KILLs that were sent to the server of `link`, for a statement that has `ended` so:
/// one that has not interrupted it may hit the next one.
pub(crate) fn note_shots(control: &Control, link: Option<&mut LinkState>, ended: Option<End>) {
    let hits = u32::from(matches!(ended, Some(End::Err { code: INTERRUPTED })));
    if control.shots.replace(0) > hits
        && let Some(link) = link
    {
        link.may_be_hit = true;
    }
}
