//! Reads that must see acknowledged writes (`pointsman-causal_reads`), and transactions that a hint
//! or a rule names. The reader of the connection is asked whether it has them, unless that is
//! known. A reader that lacks them is waited for, and then the writer does the read.
//!
//! The question goes over the connection that the read gets, in front of it. So it is about the
//! very server that runs the read. Most reads are sent with it
//! ([`causal_ahead`](super::causal_ahead)).

use command::Command;
use gtid::Gtid;
use route::Verdict;
use session::causal::own::Proof;
use session::causal::question::Reply;
use wire::command::Kind;

use super::awaited::{Awaited, Known};
use super::cx::Cx;
use super::decided::{Decided, Next};
use super::facts::causal::{awaited, is_bound_to, known, note_application, writer_for};
use super::facts::commands::may_ask_ahead;
use super::facts::leases::{clean_up_behind, lose_backend};
use super::facts::orders::killed_here;
use super::links::Links;
use super::state::SessionState;
use super::stop::Stop;
use crate::counts::Counter;
use crate::error::ClientError;
use crate::fresh::{Fresh, named};
use crate::worker::Worker;

/// The attribute of a statement that names its application, as the hint of that name does.
const CAUSAL_SCOPE: &[u8] = b"causal_scope";

/// Bytes of the longest name there: what fits behind a length of one byte.
const ATTRIBUTE_BYTES_MAX: usize = 250;

impl Cx<'_> {
    /// Gets to a server that has what the command in the backlog must see: what `fresh` says, and
    /// acknowledged writes.
    pub(super) async fn reach_seeing(
        &mut self,
        kind: Kind,
        fresh: Option<Fresh>,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        note_application(&self.entry.worker, &mut self.leg.state, &self.leg.links, decided);
        let reached = match fresh {
            Some(fresh) => self.reach_caught_up(kind, fresh, decided).await?,
            None => self.reach_reader(decided).await?,
        };
        self.see_awaited(kind, decided, reached).await
    }

    /// Has the server that the command in the backlog has `reached`, or the writer, show what the
    /// command must see. A read that may be sent with the question is set up first.
    pub(super) async fn see_awaited(
        &mut self,
        kind: Kind,
        decided: &mut Decided,
        reached: u32,
    ) -> Result<u32, Stop> {
        let Some(awaited) = awaited(&self.entry.worker, &self.leg.state, &self.leg.links, decided)
            .filter(|_| reached == decided.hostgroup())
        else {
            return Ok(reached);
        };
        if known(&self.entry.worker, &self.leg.state, &self.leg.links, &awaited) == Known::Has {
            return Ok(reached);
        }
        if may_ask_ahead(&self.entry.worker, self.io, &self.leg.state, &self.leg.links, kind, decided) {
            decided.next = Next::Ask;
            return Ok(reached);
        }
        let wait = self.entry.worker.settings().causal.wait;
        let reply = self.ask_reader(kind, &awaited, wait, decided).await?;
        self.follow_answer(kind, reply, &awaited, decided).await
    }

    /// Gets to a server of the command's hostgroup, or to the writer if that has none that sessions
    /// get at the moment.
    async fn reach_reader(&mut self, decided: &mut Decided) -> Result<u32, Stop> {
        let hostgroup = decided.hostgroup();
        match writer_for(&self.entry.worker, &self.leg.state, &self.leg.links, decided)
            .filter(|_| !is_bound_to(&self.leg.state, &self.leg.links, hostgroup))
        {
            Some(writer) if self.entry.worker.shared.upstream.pool.is_any(hostgroup, |_| true).is_none() => {
                self.leave_to(writer, decided).await
            }
            _ => self.reach(decided).await,
        }
    }

    /// The server that the command has reached has answered like this, and is asked no more. Gets
    /// to the writer if that server lacks what the command must see.
    pub(super) async fn follow_answer(
        &mut self,
        kind: Kind,
        reply: Reply,
        awaited: &Awaited,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        self.end_if_killed(kind).await?;
        self.entry.worker.counts.note(match reply {
            Reply::Had => Counter::CausalHad,
            Reply::Waited => Counter::CausalWaited,
            Reply::Lacks => Counter::CausalLacked,
        });
        let (hostgroup, writer) = (decided.hostgroup(), awaited.writer);
        if reply != Reply::Lacks {
            return Ok(hostgroup);
        }
        if is_bound_to(&self.leg.state, &self.leg.links, hostgroup) {
            let limit = self.entry.worker.settings().causal.wait;
            let why = "the server to which the session is bound lacks writes that it must see";
            let error = ClientError::no_backend(hostgroup, limit, &why);
            return Err(self.refuse_here(kind, &error).await.into());
        }
        let reached = self.leave_to(writer, decided).await?;
        self.replace_lost(kind, awaited, decided).await?;
        Ok(reached)
    }

    /// Ends the statement if it was killed while its server was asked. Where the read runs at that
    /// server already, the connection is given up.
    pub(super) async fn end_if_killed(&mut self, kind: Kind) -> Result<(), Stop> {
        if !killed_here(&self.entry.control, self.leg.state.identity.capabilities, true)? {
            return Ok(());
        }
        if self.leg.links.is_awaited() {
            clean_up_behind(self.entry, &self.leg.state, &mut self.leg.links);
            lose_backend(self.entry, &mut self.leg.state, &mut self.leg.links);
        }
        Err(self.refuse_here(kind, &ClientError::Interrupted).await.into())
    }
}

impl Worker {
    /// The transaction that a hint or a rule names, if servers are asked for it: where readers of
    /// binary logs tell what servers have, these count, but they do not tell MariaDB's.
    pub(super) fn asked_gtid(&self, state: &SessionState, verdict: &Verdict) -> Option<Gtid> {
        let has_readers = self.settings().causal.has_readers;
        let gtid = named(verdict, |hostgroup| state.last_gtid(hostgroup));
        gtid.filter(|gtid| !has_readers || matches!(gtid, Gtid::MariaDb(_)))
    }
}

impl SessionState {
    /// A decided command, with the application that an attribute of the statement names.
    #[inline]
    pub(super) fn with_application(&self, command: Command<'_>, mut decided: Decided) -> Decided {
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
    pub(super) fn remember(&self, state: &SessionState, awaited: &Awaited) {
        let own = state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
        if let (Some(own), Some(backend)) = (own, &self.in_use) {
            let Awaited { scope, writer: cluster, version, .. } = *awaited;
            own.prove(Proof { scope, cluster, version, opened: backend.connection().opened().into_std() });
        }
    }
}
