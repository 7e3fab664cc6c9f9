//! KILLs that are not one statement with a number in it: the session's id is the parameter of a
//! prepared statement or in a user variable, or other statements stand behind the KILL.
//!
//! Each becomes a plain one, as text in the backlog. So the server never gets the id of a session,
//! and where the id is the server's own, the server gets what it would have got.

use command::Command;
use legs::correction::correction;
use legs::entry::BookEntry;
use legs::facts::asking::{NoReply, ask_text, packet_of};
use legs::facts::kills::kill_by_parameter;
use legs::io::Io;
use legs::reply::refuse_here;
use legs::state::SessionState;
use runtime::mail::Verdict;
use wire::command::Kind;
use wire::frame;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::own::refuse_unserved;
use crate::session::stage::local::kill::kill_other;
use crate::statement::kill::Target;
use crate::statement::{Kill, kill};

impl Cx<'_> {
    /// Asks the session's server for the user variable that the KILL in the backlog names, and
    /// carries it out. What names no session of the proxy is for the server.
    pub(crate) async fn kill_by_variable(&mut self, kind: Kind) -> Result<(), Ending> {
        let session = self.leg.session();
        let hostgroup = session.transaction.unwrap_or(self.leg.state.account.hostgroup());
        if let Err(stop) = self.go_for_command(hostgroup).await {
            return refuse_unserved(self.entry, self.io, self.leg, stop.unreached()?).await;
        }
        let text = self.io.text_in_backlog(&self.leg.state).map(<[u8]>::to_vec).unwrap_or_default();
        let Some(form) = kill::parse(&text) else { return Ok(()) };
        let Target::Variable(name) = form.target else { return Ok(()) };
        self.leg.links.hide_last_result(&mut self.leg.state);
        let reply = match ask_text(self.entry, self.leg, &[b"SELECT @", name].concat()).await {
            Ok(reply) => reply,
            Err(NoReply::Over(ending)) => return Err(ending),
            Err(NoReply::Lost(error)) => {
                return refuse_here(self.entry, self.io, self.leg, kind, &error).await;
            }
        };
        let id = reply
            .only_cells()
            .next()
            .flatten()
            .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
        if let Some(kill) = id.map(|id| form.with(id)).filter(Kill::is_of_a_session) {
            return self.kill_here(kind, kill).await;
        }
        // In parentheses it is not asked about again.
        say_instead(self.io, &self.leg.state, &form.text_by(&[b"(@", name, b")"].concat()));
        Ok(())
    }

    /// Carries out the KILLs that the text in the backlog begins with, each of which names a
    /// session of the proxy. In their places the server gets what has come of them.
    pub(crate) async fn kill_in_front(&mut self) -> Result<(), Ending> {
        let text = self.io.text_in_backlog(&self.leg.state).map(<[u8]>::to_vec).unwrap_or_default();
        let (mut rest, mut instead) = (&text[..], Vec::new());
        loop {
            let (form, behind) = match kill::in_front(rest) {
                Some(found) => found,
                None => match kill::parse(rest) {
                    Some(form) => (form, &[][..]),
                    None => break,
                },
            };
            let Some(kill) = form.of_a_session() else { break };
            if kill.id == u64::from(self.leg.state.identity.connection_id) {
                // It ends here with an error, so nothing behind it runs.
                return self.run_kill(kill).await;
            }
            let outcome = outcome_as_text(self.entry, self.io, &self.leg.state, kill).await?;
            rest = behind;
            instead.extend_from_slice(&outcome);
            if !rest.is_empty() {
                instead.extend_from_slice(b"; ");
            }
        }
        instead.extend_from_slice(rest);
        say_instead(self.io, &self.leg.state, &instead);
        Ok(())
    }
}

/// Puts the KILL that the execution in the backlog stands for in its place, as text.
pub(crate) fn spell_kill(entry: &BookEntry, io: &mut Io, state: &mut SessionState) {
    let Some(command) = io.command(state.identity.capabilities).filter(Command::is_whole) else {
        return;
    };
    let Some((kill, of)) = kill_by_parameter(&entry.worker, state, command) else { return };
    if let Some((all, id)) = state.prepared.as_mut().zip(command.statement()) {
        all.note_kill_by(id, of);
    }
    say_instead(io, state, kill.text().as_bytes());
}

/// Puts a statement in the place of the command in the backlog.
fn say_instead(io: &mut Io, state: &SessionState, text: &[u8]) {
    let len = io.whole_front().map_or(0, <[u8]>::len);
    let command = packet_of(state, text);
    io.splice_front(0..len, &command);
}

/// Carries out a KILL. Returns a statement to which a server answers what is to be answered to
/// the KILL.
async fn outcome_as_text(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    kill: Kill,
) -> Result<Vec<u8>, Ending> {
    let error = match kill_other(entry, io, state, kill).await? {
        Verdict::Done => return Ok(b"DO 0".to_vec()),
        Verdict::Unknown => {
            ClientError::UnknownThread { id: kill.id }.to_packet(1, state.identity.capabilities)
        }
        Verdict::Failed(error) => error.to_packet(1, state.identity.capabilities),
        Verdict::Refused(payload) => frame::answer(&payload),
    };
    // What cannot be told in these words, the server refuses in its own.
    Ok(correction(&error).map_or_else(|| kill.text().into_bytes(), Into::into))
}
