//! Reads that must see acknowledged writes (`pointsman-causal_reads`), and transactions that a hint
//! or a rule names. The reader of the connection is asked whether it has them, unless that is
//! known. A reader that lacks them is waited for, and then the writer does the read.
//!
//! The question goes over the connection that the read gets, in front of it. So it is about the
//! very server that runs the read. Most reads are sent with it
//! ([`causal_ahead`](crate::causal_ahead)).

use command::Command;
use gtid::Gtid;
use observe::counts::Counter;
use route::Verdict;
use runtime::decided::{Decided, Next};
use runtime::fresh::{Fresh, named};
use runtime::worker::Worker;
use session::causal::own::Proof;
use session::causal::question::Reply;
use session::error::ClientError;
use wire::command::Kind;

use crate::awaited::{Awaited, Known};
use crate::entry::BookEntry;
use crate::facts::causal::{awaited, is_bound_to, known, note_application, writer_for};
use crate::facts::commands::may_ask_ahead;
use crate::facts::leases::{clean_up_behind, lose_backend};
use crate::facts::orders::killed_here;
use crate::leg::Leg;
use crate::links::Links;
use crate::state::SessionState;
use crate::stop::Stop;

/// The attribute of a statement that names its application, as the hint of that name does.
const CAUSAL_SCOPE: &[u8] = b"causal_scope";

/// Bytes of the longest name there: what fits behind a length of one byte.
const ATTRIBUTE_BYTES_MAX: usize = 250;

impl Leg {
    /// Gets to a server that has what the command in the backlog must see: what `fresh` says, and
    /// acknowledged writes.
    pub(crate) async fn reach_seeing(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        fresh: Option<Fresh>,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        note_application(&entry.worker, &mut self.state, &self.links, decided);
        match fresh {
            Some(fresh) => self.reach_caught_up(entry, fresh, decided).await?,
            None => self.reach_reader(entry, decided).await?,
        }
        self.see_awaited(entry, kind, decided).await
    }

    /// Has the server that the command in the backlog has got to, or the writer, show what the
    /// command must see. A read that may be sent with the question is set up first.
    pub(crate) async fn see_awaited(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let Some(awaited) = awaited(&entry.worker, &self.state, &self.links, decided) else { return Ok(()) };
        if known(&entry.worker, &self.state, &self.links, &awaited) == Known::Has {
            return Ok(());
        }
        if may_ask_ahead(&entry.worker, self, kind, decided) {
            decided.next = Next::Ask;
            return Ok(());
        }
        let wait = entry.worker.settings().causal.wait;
        let reply = self.ask_reader(entry, &awaited, wait, decided).await?;
        self.follow_answer(entry, reply, &awaited, decided).await
    }

    /// Gets to a server of the command's hostgroup, or to the writer if that has none that sessions
    /// get at the moment.
    async fn reach_reader(&mut self, entry: &BookEntry, decided: &mut Decided) -> Result<(), Stop> {
        let hostgroup = decided.hostgroup();
        match writer_for(&entry.worker, &self.state, &self.links, decided)
            .filter(|_| !is_bound_to(&self.state, &self.links, hostgroup))
        {
            Some(writer) if entry.worker.shared.upstream.pool.is_any(hostgroup, |_| true).is_none() => {
                self.leave_to(entry, writer, decided).await
            }
            _ => self.reach(entry, decided).await,
        }
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
        if is_bound_to(&self.state, &self.links, hostgroup) {
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
            clean_up_behind(entry, &self.state, &mut self.links);
            lose_backend(entry, &mut self.state, &mut self.links);
        }
        Err(Stop::refused(ClientError::Interrupted))
    }
}

/// The transaction that a hint or a rule names, if servers are asked for it: where readers of
/// binary logs tell what servers have, these count, but they do not tell MariaDB's.
pub(crate) fn asked_gtid(worker: &Worker, state: &SessionState, verdict: &Verdict) -> Option<Gtid> {
    let has_readers = worker.settings().causal.has_readers;
    let gtid = named(verdict, |hostgroup| state.last_gtid(hostgroup));
    gtid.filter(|gtid| !has_readers || matches!(gtid, Gtid::MariaDb(_)))
}

impl SessionState {
    /// A decided command, with the application that an attribute of the statement names.
    #[inline]
    pub fn with_application(&self, command: Command<'_>, mut decided: Decided) -> Decided {
        if self.gtids.as_ref().is_some_and(|gtids| gtids.own.is_some())
            && let Some(name) = self.named_by_attribute(command)
        {
            decided.name_application(name);
        }
        decided
    }

    /// The application that an attribute of the statement names.
    fn named_by_attribute<'a>(&self, command: Command<'a>) -> Option<&'a str> {
        let params = match command.statement() {
            Some(id) => self.prepared.as_ref()?.get(id)?.params(),
            None => 0,
        };
        let name =
            command.attribute(CAUSAL_SCOPE, params).filter(|name| name.len() <= ATTRIBUTE_BYTES_MAX)?;
        std::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }
}

impl Links {
    /// The server of the connection in use has the tokens.
    pub(crate) fn remember(&self, state: &SessionState, awaited: &Awaited) {
        let own = state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
        if let (Some(own), Some(backend)) = (own, &self.in_use) {
            let Awaited { scope, writer: cluster, version, .. } = *awaited;
            own.prove(Proof { scope, cluster, version, opened: backend.connection().opened().into_std() });
        }
    }
}
