//! Reads that must see acknowledged writes (`pointsman-causal_reads`), and transactions that a hint
//! or a rule names. The reader of the connection is asked whether it has them, unless that is
//! known. A reader that lacks them is waited for, and then the writer does the read.
//!
//! The question goes over the connection that the read gets, in front of it. So it is about the
//! very server that runs the read. Most reads are sent with it
//! ([`causal_ahead`](crate::causal_ahead)).

use command::Command;
use observe::counts::Counter;
use runtime::decided::Decided;
use session::causal::question::Reply;
use session::error::ClientError;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::facts::causal::{Awaited, awaited};
use crate::facts::commands::may_ask_ahead;
use crate::facts::leases::{clean_up_behind, lose_backend};
use crate::facts::orders::killed_here;
use crate::leg::Leg;
use crate::state::SessionState;
use crate::stop::Stop;

/// The attribute of a statement that names its application, as the hint of that name does.
const CAUSAL_SCOPE: &[u8] = b"causal_scope";

/// Bytes of the longest name there: what fits behind a length of one byte.
const ATTRIBUTE_BYTES_MAX: usize = 250;

impl Leg {
    /// Has the server of the connection in use, or the writer, show acknowledged writes that the
    /// command in the backlog must see. True for a read that may be sent with the question: it is
    /// [asked](Self::ask_ahead) once the connection is set up for it.
    pub(crate) async fn see_awaited(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<bool, Stop> {
        let Some(awaited) = awaited(&entry.worker, self, decided) else { return Ok(false) };
        if may_ask_ahead(&entry.worker, self, kind, decided) {
            return Ok(true);
        }
        let wait = entry.worker.settings().causal.wait;
        let answer = self.ask_reader(entry, &awaited, wait, None, decided).await?;
        self.follow_answer(entry, answer, &awaited, decided).await?;
        Ok(false)
    }

    /// The server that the command has reached has answered like this, and is asked no more. Gets
    /// to the writer if that server lacks what the command must see.
    pub(crate) async fn follow_answer(
        &mut self,
        entry: &BookEntry,
        reply: Reply,
        awaited: &Awaited,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        self.end_if_killed(entry)?;
        entry.worker.counts.note(match reply {
            Reply::Had => Counter::CausalHad,
            Reply::Waited => Counter::CausalWaited,
            Reply::Lacks => Counter::CausalLacked,
        });
        let (hostgroup, writer) = (decided.hostgroup(), awaited.writer);
        if reply != Reply::Lacks {
            return Ok(());
        }
        if self.session().is_bound_to(hostgroup) {
            let limit = entry.worker.settings().causal.wait;
            let why = "the server to which the session is bound lacks writes that it must see";
            let error = ClientError::no_backend(hostgroup, limit, &why);
            return Err(Stop::refused(error));
        }
        self.leave_to(entry, writer, decided).await?;
        self.replace_lost(entry, awaited, decided).await
    }

    /// Ends the statement if it was killed while its server was asked. Where the read runs at that
    /// server already, the connection is given up.
    pub(crate) fn end_if_killed(&mut self, entry: &BookEntry) -> Result<(), Stop> {
        if !killed_here(&entry.control, self.state.identity.capabilities, true)? {
            return Ok(());
        }
        if self.links.is_awaited() {
            clean_up_behind(entry, self);
            lose_backend(entry, self);
        }
        Err(Stop::refused(ClientError::Interrupted))
    }
}

impl SessionState {
    /// A decided command, with the application that an attribute of the statement names.
    #[inline]
    pub fn with_application(&self, command: Command<'_>, mut decided: Decided) -> Decided {
        if self.own().is_some()
            && let Some(name) = self.named_by_attribute(command)
        {
            decided.name_application(name);
        }
        decided
    }

    /// The application that an attribute of the statement names.
    fn named_by_attribute<'a>(&self, command: Command<'a>) -> Option<&'a str> {
        let params = if command.statement().is_some() { self.named(command)?.params() } else { 0 };
        let name =
            command.attribute(CAUSAL_SCOPE, params).filter(|name| name.len() <= ATTRIBUTE_BYTES_MAX)?;
        std::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }
}
