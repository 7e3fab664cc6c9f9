//! The error of a failed statement, kept in the session without its connection.
//!
//! A server tells it again if it is asked over the same connection (`SHOW WARNINGS`), which is why
//! it binds the session. Where the session is idle for a second, or goes on at another hostgroup,
//! the error is kept here instead. A statement that asks about it later gets it told again by
//! `SIGNAL`, over the connection that the session has then. That is exact for a single error; where
//! the server has more to say, the connection stays bound. An error that the client was told in
//! other words than the server's is kept at once, if it can be told again; so is one of the proxy's
//! own.

use front::ending::Ending;
use session::error::ClientError;
use session::state::{Mark, Pin};
use upstream::Reply;
use wire::Capabilities;
use wire::command::Kind;
use wire::reply::Answer;

use crate::entry::BookEntry;
use crate::facts::asking::{ask_besides, ask_text_besides, packet_of};
use crate::facts::sharing::{is_left_to_itself, may_leave_diagnostics};
use crate::io::Io;
use crate::leg::Leg;
use crate::links::Links;
use crate::reply::refuse_here;
use crate::retold::KeptError;
use crate::state::SessionState;

/// What servers are asked for: more than one row is not kept.
const QUESTION: &[u8] = b"SHOW WARNINGS LIMIT 2";

impl SessionState {
    /// A statement has failed; these are the bytes of its answer, if they are nothing but the
    /// error.
    #[cold]
    pub fn note_failed(&mut self, bytes: Option<&[u8]>) {
        let kept = bytes.and_then(KeptError::of);
        if kept.is_some() || self.errors.is_some() {
            self.errors.get_or_insert_default().kept = kept;
        }
    }

    fn kept_error(&self) -> Option<&KeptError> {
        self.errors.as_ref()?.kept.as_ref()
    }

    fn take_kept_error(&mut self) -> Option<KeptError> {
        self.errors.as_mut()?.kept.take()
    }

    /// Whether there is an error that binds the session to no connection.
    pub fn has_released_error(&self) -> bool {
        self.kept_error().is_some_and(|error| error.is_released)
    }

    /// The server has something to say of a later statement.
    pub(crate) fn forget_released_error(&mut self) {
        if self.has_released_error() {
            self.errors = None;
        }
    }

    /// Whether the client is told the last error in other words than the server's.
    pub fn set_retold(&mut self, is_retold: bool) {
        if is_retold || self.errors.is_some() {
            self.errors.get_or_insert_default().is_retold = is_retold;
        }
    }

    /// Whether the reply was an error that is told again; it is noted no more.
    pub fn take_retold(&mut self) -> bool {
        self.errors.as_mut().is_some_and(|errors| std::mem::take(&mut errors.is_retold))
    }
}

/// Answers the command in the backlog with an error of the proxy's own, of which the client may
/// ask as of a server's.
pub async fn refuse_and_keep(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
    error: &ClientError,
) -> Result<(), Ending> {
    refuse_here(entry, io, leg, kind, error).await?;
    leg.links.keep_own_error(&mut leg.state, error);
    Ok(())
}

impl Leg {
    /// Whether the last error alone binds the session, which waits for its client, to its
    /// connection; or, besides, code that its server is asked about once the error is kept.
    /// `is_last` says that the client has sent nothing behind its command.
    pub fn may_keep_error(&self, entry: &BookEntry, is_last: bool) -> bool {
        is_last
            && self.state.kept_error().is_some()
            && (may_leave_diagnostics(entry, self)
                || self.may_judge_behind_error(entry) && is_left_to_itself(entry, self))
    }
}

/// The next statement runs elsewhere and does not ask about the one before. Servers that clear
/// the diagnostics area with each statement have nothing to say of it then.
pub(crate) async fn leave_diagnostics(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let dialect = leg.links.in_use.as_ref().and_then(|backend| backend.connection().dialect());
    if dialect.is_some_and(sql::Dialect::clears_diagnostics) {
        leg.state.errors = None;
        leg.links.release_diagnostics();
        return Ok(());
    }
    if leg.state.kept_error().is_some() { keep_error(entry, leg).await } else { Ok(()) }
}

/// Keeps the last error without the connection, if it is all that the server has to say.
pub async fn keep_error(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    if leg.state.has_released_error() {
        // It is of a later statement than all that is left to say over this connection.
        leg.links.release_diagnostics();
        return Ok(());
    }
    leg.links.note_ran(&mut leg.state);
    let reply = ask_text_besides(entry, leg, QUESTION).await?;
    leg.links.hide_last_result(&mut leg.state);
    let Some(mut error) = leg.state.take_kept_error() else { return Ok(()) };
    if reply.as_ref().is_some_and(Reply::is_empty) {
        // A later statement has taken it away, of which it was not certain that it has tables.
        leg.state.errors = None;
        leg.links.release_diagnostics();
        return Ok(());
    }
    if reply.is_some_and(|reply| error.is_all_in(&reply)) {
        error.is_released = true;
        leg.state.errors.get_or_insert_default().kept = Some(error);
        leg.links.release_diagnostics();
    }
    Ok(())
}

/// Has the backend in use tell the last error again, which it was released from.
pub(crate) async fn tell_error_again(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let Some(mut error) = leg.state.take_kept_error() else { return Ok(()) };
    let (signal, status) = ((packet_of(&leg.state, &error.signal), Answer::Result), leg.state.status);
    let replies = ask_besides(entry, leg, &[signal]).await?;
    leg.links.hide_last_result(&mut leg.state);
    let Some(backend) = leg.links.in_use.as_mut().filter(|_| !replies.is_empty()) else { return Ok(()) };
    let link = backend.connection_mut();
    link.own_warnings = false;
    // An error that is told so ends no transaction.
    (leg.state.status, link.state_mut().status) = (status, status);
    link.state_mut().pins.note(Mark::begin(Pin::Warnings));
    error.is_released = false;
    leg.state.errors.get_or_insert_default().kept = Some(error);
    Ok(())
}

impl Links {
    /// Keeps the last error without the connection: the client was told it in other words than the
    /// server's.
    pub fn release_error(&mut self, state: &mut SessionState) {
        if let Some(error) = state.errors.as_mut().and_then(|errors| errors.kept.as_mut()) {
            error.is_released = true;
            self.release_diagnostics();
        }
    }

    /// Keeps an error of the proxy's own, which the client was told.
    pub fn keep_own_error(&mut self, state: &mut SessionState, error: &ClientError) {
        state.note_error(self.state_mut());
        state.note_failed(Some(&error.to_packet(1, Capabilities::PROTOCOL_41)));
        self.release_error(state);
    }
}

impl Links {
    /// What the server says of the last statement does not bind the session any more.
    fn release_diagnostics(&mut self) {
        if let Some(link) = self.connection_mut() {
            link.state_mut().pins.note(Mark::EndAll(Pin::Warnings));
            link.own_warnings = true;
        }
    }
}
