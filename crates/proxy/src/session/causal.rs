//! Reads that must see acknowledged writes (`pointsman-causal_reads`), and transactions that a hint
//! or a rule names. The reader of the connection is asked whether it has them, unless that is
//! known. A reader that lacks them is waited for, and then the writer does the read.
//!
//! The question goes over the connection that the read gets, in front of it. So it is about the
//! very server that runs the read. Most reads are sent with it
//! ([`causal_ahead`](super::causal_ahead)).

use command::Command;
use config::CausalReads;
use gtid::Gtid;
use route::{Verdict, Writes};
use session::causal::own::{Own, Proof};
use session::causal::question::Reply;
use session::causal::tokens::Scope;
use wire::command::Kind;

use super::Session;
use super::awaited::{Awaited, Known};
use super::decided::{Decided, Next};
use super::kill::killed_here;
use super::links::Links;
use super::state::SessionState;
use super::stop::Stop;
use crate::causal::{is_writer_of, machine};
use crate::counts::Counter;
use crate::error::ClientError;
use crate::fresh::{Fresh, named};
use crate::worker::Worker;

/// The attribute of a statement that names its application, as the hint of that name does.
const CAUSAL_SCOPE: &[u8] = b"causal_scope";

/// Bytes of the longest name there: what fits behind a length of one byte.
const ATTRIBUTE_BYTES_MAX: usize = 250;

impl Session {
    /// Whether the connection in use may lack writes that the command must see, so that its server
    /// has to be asked first.
    #[inline]
    pub(super) fn may_lack_writes(&self, decided: &Decided) -> bool {
        self.state.gtids.as_ref().is_some_and(|gtids| gtids.own.is_some()) && self.lacks_proof(decided)
    }

    fn lacks_proof(&self, decided: &Decided) -> bool {
        let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
        let own = self.state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
        if verdict.is_some_and(|verdict| verdict.causal_scope.is_some())
            || own.is_some_and(Own::names_application)
        {
            // Its scope, and that of its write, is another one than that of the statement before.
            return true;
        }
        let scope = self.causal_scope_of(verdict);
        // Another connection than the one in use has proven nothing.
        let backend = self.links.in_use.as_ref().filter(|_| self.is_at(decided));
        let opened = backend.map(|backend| backend.connection().opened().into_std());
        let Some(writer) = self.writer_for(decided).filter(|_| scope != CausalReads::Off) else {
            return false;
        };
        let is_proven = |opened| own.is_none_or(|own| own.is_proven(scope, writer, opened));
        // What others have found out is enough: the statement need not be set up for that.
        let is_known = || self.known(&self.awaited_for(verdict, writer)) == Known::Has;
        !opened.is_some_and(|opened| is_proven(opened) || is_known())
    }

    /// Whose writes a statement must see.
    fn causal_scope_of(&self, verdict: Option<&Verdict>) -> CausalReads {
        let said = verdict.and_then(|verdict| verdict.causal_reads);
        said.unwrap_or_else(|| self.state.identity.causal_reads())
    }

    /// The hostgroup of the writers that may do a command as well, if it goes to a reader.
    fn writer_for(&self, decided: &Decided) -> Option<u32> {
        let hostgroup = decided.target()?;
        let writer = self.worker.routing.borrow().routes().pairs.writer(hostgroup);
        writer.filter(|_| {
            !self.links.stays(&self.state, decided) && !self.worker.settings().is_writer(hostgroup)
        })
    }

    /// Whether the command may have to see writes that its server lacks.
    pub(super) fn awaits_writes(&self, decided: &Decided) -> bool {
        let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
        self.may_lack_writes(decided)
            || verdict.is_some_and(|verdict| self.worker.asked_gtid(&self.state, verdict).is_some())
    }

    /// A statement is being sent to a server that has what the statement must see.
    #[inline]
    pub(super) fn note_causal(&mut self, decided: &Decided) {
        if self.state.gtids.as_ref().is_some_and(|gtids| gtids.own.is_some()) {
            self.note_application(decided);
            let scope = self.causal_scope_of(decided.orders.as_ref().map(|orders| &orders.verdict));
            if scope != CausalReads::Off && self.writer_for(decided).is_some() {
                self.worker.counts.note(Counter::CausalReads);
            }
        }
    }

    /// The statement belongs to the application that a hint names.
    fn note_application(&mut self, decided: &Decided) {
        let goes_on = self.state.in_transaction() || self.links.open_elsewhere().is_some();
        let Some(own) = self.state.gtids.as_mut().and_then(|gtids| gtids.own.as_mut()) else { return };
        let named = decided.orders.as_ref().and_then(|orders| orders.verdict.causal_scope.as_deref());
        let tokens = &self.worker.shared.causal.tokens;
        let named = named.map(|name| tokens.of(Scope::application(name.as_bytes())));
        own.name_application(named, goes_on);
    }

    /// What a statement must see at a reader, for EXPLAIN ROUTE.
    pub(super) fn explain_writes(&self, verdict: &Verdict, hostgroup: u32) -> Option<Writes> {
        let writer = self.worker.routing.borrow().routes().pairs.writer(hostgroup)?;
        let Awaited { tokens, scope, .. } = self.awaited_for(Some(verdict), writer);
        if tokens.is_empty() {
            return None;
        }
        let shared = &self.worker.shared;
        let servers = shared.upstream.pool.explain(hostgroup, shared.uptime());
        let servers = servers.into_iter().map(|one| one.server);
        let applied = &shared.causal.applied;
        let known = servers.filter(|server| applied.says(&server.endpoint().endpoint, &tokens));
        Some(Writes {
            gtids: tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            scope: if scope == CausalReads::Off { "statement" } else { scope.word() },
            wait_ms: self.worker.settings().causal.wait.as_millis(),
            known: known.map(|server| server.endpoint().to_string()).collect(),
        })
    }

    /// What the command in the backlog must see, if it goes to a reader.
    pub(super) fn awaited(&self, decided: &Decided) -> Option<Awaited> {
        let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
        Some(self.awaited_for(verdict, self.writer_for(decided)?))
    }

    /// What a statement must see at a reader of these writers.
    pub(super) fn awaited_for(&self, verdict: Option<&Verdict>, writer: u32) -> Awaited {
        let named = verdict.and_then(|verdict| self.worker.asked_gtid(&self.state, verdict));
        let own = self.state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
        let scope = own.map_or(CausalReads::Off, |_| self.causal_scope_of(verdict));
        let version = own.map_or(0, |own| own.version(scope));
        let mut tokens = own.map(|own| own.tokens(scope, writer)).unwrap_or_default();
        tokens.merge(&named.into_iter().collect());
        Awaited { tokens, scope, writer, version }
    }

    /// Gets to a server that has what the command in the backlog must see: what `fresh` says, and
    /// acknowledged writes.
    pub(super) async fn reach_seeing(
        &mut self,
        kind: Kind,
        fresh: Option<Fresh>,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        self.note_application(decided);
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
        let Some(awaited) = self.awaited(decided).filter(|_| reached == decided.hostgroup()) else {
            return Ok(reached);
        };
        if self.known(&awaited) == Known::Has {
            return Ok(reached);
        }
        if self.may_ask_ahead(kind, decided) {
            decided.next = Next::Ask;
            return Ok(reached);
        }
        let wait = self.worker.settings().causal.wait;
        let reply = self.ask_reader(kind, &awaited, wait, decided).await?;
        self.follow_answer(kind, reply, &awaited, decided).await
    }

    /// Gets to a server of the command's hostgroup, or to the writer if that has none that sessions
    /// get at the moment.
    async fn reach_reader(&mut self, decided: &mut Decided) -> Result<u32, Stop> {
        let hostgroup = decided.hostgroup();
        match self.writer_for(decided).filter(|_| !self.is_bound_to(hostgroup)) {
            Some(writer) if self.worker.shared.upstream.pool.is_any(hostgroup, |_| true).is_none() => {
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
        self.worker.counts.note(match reply {
            Reply::Had => Counter::CausalHad,
            Reply::Waited => Counter::CausalWaited,
            Reply::Lacks => Counter::CausalLacked,
        });
        let (hostgroup, writer) = (decided.hostgroup(), awaited.writer);
        if reply != Reply::Lacks {
            return Ok(hostgroup);
        }
        if self.is_bound_to(hostgroup) {
            let limit = self.worker.settings().causal.wait;
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
        if !killed_here(&self.control, self.state.identity.capabilities, true)? {
            return Ok(());
        }
        if self.links.is_awaited() {
            self.clean_up();
            self.lose_backend();
        }
        Err(self.refuse_here(kind, &ClientError::Interrupted).await.into())
    }

    /// What is known of the server of the connection in use. What is found is remembered.
    pub(super) fn known(&self, awaited: &Awaited) -> Known {
        let Some(backend) = &self.links.in_use else { return Known::Unsure };
        let (server, link) = (&backend.server().endpoint().endpoint, backend.connection());
        let (shared, opened) = (&self.worker.shared, link.opened().into_std());
        let applied = &shared.causal.applied;
        let has = awaited.tokens.is_empty()
            || applied.has(&machine(server, link), opened, awaited.tokens.iter())
            || is_writer_of(&shared.upstream, server, awaited.writer);
        if has {
            self.links.remember(&self.state, awaited);
            Known::Has
        } else {
            Known::Unsure
        }
    }
}

impl Worker {
    /// The transaction that a hint or a rule names, if servers are asked for it: where readers of
    /// binary logs tell what servers have, these count, but they do not tell MariaDB's.
    fn asked_gtid(&self, state: &SessionState, verdict: &Verdict) -> Option<Gtid> {
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
