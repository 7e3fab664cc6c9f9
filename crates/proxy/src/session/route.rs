//! Where the next command goes: decided before it is sent.

use std::sync::Arc;

use route::AccessMode;
use route::limits::JUDGED_BYTES_MAX;
use sql::StatementKind;
use sql::shape::Effects;
use tokio::time::Instant;
use wire::command::{Attribute, Kind, Query, StmtExecute, statement_id};
use wire::frame::{HEADER_LEN, Header, MAX_PAYLOAD};
use wire::{Capabilities, Codec as _};

use super::Session;
use super::backlog::len_of_cut;
use super::decided::{Decided, Next};
use super::execute::keeps_definitions;
use super::state::prepared::{NO_MODES, Prepared, Preparing};
use super::state::{Past, SessionState};
use super::trace::Trace;
use crate::limits::PREPARED_BYTES_MAX;
use crate::routing::Circumstances;
use crate::state::{Mark, Pin};
use crate::statement::kill::PreparedKill;
use crate::users::Options;
use crate::worker::Worker;
use session::change::Change;
use session::link::Loss;
use session::state::own_connection::told_here;
use upstream::Backend;

/// The attribute of a statement that says which side of a replication pair it wants.
const ACCESS_MODE: &[u8] = b"access_mode";

/// What may depend on `LAST_INSERT_ID()`, or tell by it whether it has changed.
pub(super) const NEEDS_LAST_ID: Effects =
    Effects::LAST_INSERT_ID.union(Effects::WRITES).union(Effects::FUNCTION).union(Effects::UNKNOWN);

impl Session {
    /// What is to be done with the command that `input` begins with, if that is to send it to the
    /// backend in use. If not, it is kept in [`decided`](super::InFlight::decided); nothing is if
    /// more of the command has to be there first.
    pub(super) fn points_here(&mut self, kind: Kind, input: &[u8]) -> Option<Decided> {
        let decided = if let Some(decided) = self.flight.as_mut().and_then(|flight| flight.decided.take()) {
            decided
        } else {
            self.state.trace(Trace::clear);
            self.decide(kind, input)?
        };
        if self.is_here(&decided) && self.is_simple(kind, input, &decided) {
            return Some(decided);
        }
        self.flight().decided = Some(decided);
        None
    }

    /// What is to be done with the command that `rest` begins with, if it may be sent before the
    /// one in front of it is answered.
    pub(super) fn goes_along(&mut self, kind: Kind, rest: &[u8]) -> Option<Decided> {
        if self.state.trace.is_some() {
            // One after the other: there is one trace.
            return None;
        }
        let is_judged = matches!(kind, Kind::Query | Kind::StmtPrepare) || names_statement(kind);
        if is_judged && !(self.has_one_way() && self.links.away.others.is_empty()) {
            return None;
        }
        let decided = self.decide(kind, rest)?;
        // What changes the session has to be seen to succeed: the answers in front of its own say
        // nothing of that.
        let changes = decided.change.as_ref().is_some_and(|change| !change.is_quiet())
            || matches!(kind, Kind::InitDb | Kind::SetOption | Kind::ProcessInfo | Kind::ResetConnection)
            || self.state.prepared_change(self.links.state(), kind, rest).is_some();
        // What the statement before it was may be known only to the proxy, and `GET DIAGNOSTICS`
        // does not replace it.
        let waits = changes || decided.asks_for_last() && self.state.last.ran.may_only_look();
        (!waits && self.is_here(&decided) && self.is_simple(kind, rest, &decided)).then_some(decided)
    }

    /// Whether all statements of the session go to one hostgroup, but for hints.
    pub(super) fn has_one_way(&self) -> bool {
        let hostgroup = self.state.account.default_hostgroup;
        self.worker.routing.borrow().routes().are_trivial_for(hostgroup)
    }

    /// The same, and nothing is to be sent there first.
    fn is_here(&self, decided: &Decided) -> bool {
        self.is_at(decided) && !self.links.has_setup() && !self.state.begins_later()
    }

    /// Whether the backend in use is where it goes, and knows what the client has set.
    pub(super) fn is_at(&self, decided: &Decided) -> bool {
        let state = &self.state;
        decided.target() == Some(state.here)
            && self
                .links
                .in_use
                .as_ref()
                .is_some_and(|backend| !backend.server().is_off() && !self.leaves(backend))
            && self.links.applied() == state.version()
    }

    /// Whether the session leaves a server because it lags more than it may, or because others are
    /// at another one.
    pub(super) fn leaves(&self, backend: &Backend) -> bool {
        (backend.server().is_late() || self.is_left_behind(backend))
            && self.links.loss(&self.state) == Loss::Nothing
    }

    /// Whether the command is all that has to be sent.
    #[inline]
    fn is_simple(&self, kind: Kind, input: &[u8], decided: &Decided) -> bool {
        self.comes_alone(kind, input, decided)
            && match (&self.state.prepared, kind) {
                (Some(registry), Kind::StmtPrepare) => !registry.has_other_homes(self.links.state()),
                _ if names_statement(kind) => {
                    self.links.is_known_here(&self.worker.upstream.kept, &self.state, kind, input)
                }
                _ => true,
            }
    }

    /// Whether the execution that `input` begins with is all that has to be sent to the backend in
    /// use, once its statement is there.
    pub(super) fn needs_only_its_statement(&self, input: &[u8]) -> bool {
        self.flight.decided.as_ref().is_some_and(|decided| {
            decided.renamed.is_none()
                && self.is_here(decided)
                && self.comes_alone(Kind::StmtExecute, input, decided)
        })
    }

    /// Whether nothing is to be done before the command, but for bringing its prepared statement.
    #[inline]
    fn comes_alone(&self, kind: Kind, input: &[u8], decided: &Decided) -> bool {
        if decided.is_cached() {
            return false;
        }
        if kind == Kind::StmtPrepare && self.worker.len_to_complete(input).is_some() {
            return false;
        }
        let ordered = decided.orders.as_ref().is_some_and(|orders| orders.come_first());
        let effects = decided.plan.effects;
        let asks = self.links.needs_last_result(&self.state, decided)
            || effects.intersects(NEEDS_LAST_ID) && !self.links.has_last_id(&self.state);
        !(ordered
            || asks
            || decided.next == Next::Commit
            || self.may_lack_writes(decided)
            || self.has_to_wait(kind)
            || self.links.has_to_prepare(&self.worker.upstream.kept, &self.state, (kind, input), decided))
    }

    /// Whether there is as much of the command as the decision takes.
    pub(super) fn is_enough(kind: Kind, input: &[u8]) -> bool {
        let Some(len) = input.first_chunk().map(|bytes| Header::parse(*bytes).len as usize) else {
            return false;
        };
        let needed = match kind {
            // Executions, too: types may have to be added. What is too large for that is left as it
            // is.
            Kind::Query | Kind::StmtPrepare | Kind::StmtExecute => len.min(JUDGED_BYTES_MAX),
            _ => 0,
        };
        input.len() >= HEADER_LEN + needed
    }

    /// Decides where a command goes; nothing if more of it has to be there first.
    pub(super) fn decide(&mut self, kind: Kind, input: &[u8]) -> Option<Decided> {
        if !Self::is_enough(kind, input) {
            return None;
        }
        let header = input.first_chunk().map(|bytes| Header::parse(*bytes))?;
        let behind = input.get(HEADER_LEN..)?;
        let payload = behind.get(..header.len as usize).unwrap_or(behind);
        let is_whole =
            payload.len() == header.len as usize && payload.len() <= JUDGED_BYTES_MAX && !header.continues();
        let decided = match kind {
            Kind::Query => {
                let text = self.statement(payload);
                self.look_behind(self.judge(text, is_whole, self.asked(payload), false), text, false)
            }
            Kind::StmtPrepare => {
                self.judge(payload.get(1..).unwrap_or_default(), is_whole, None, false).never_cached()
            }
            _ if names_statement(kind) => self.decide_prepared(kind, payload),
            _ => {
                // What any server that the session has can answer.
                let is_anyones = matches!(
                    kind,
                    Kind::Ping
                        | Kind::Statistics
                        | Kind::InitDb
                        | Kind::FieldList
                        | Kind::SetOption
                        | Kind::ResetConnection
                        | Kind::ProcessInfo
                );
                let SessionState { here, account, .. } = &*self.state;
                let usual =
                    if is_anyones && self.links.in_use.is_some() { *here } else { account.hostgroup() };
                // Where a transaction is open, the status flags tell the client so.
                let session = self.links.session(&self.state);
                Decided::plainly_to(session.transaction.unwrap_or(usual))
            }
        };
        Some(self.with_application(kind, payload, decided))
    }

    /// What is decided about a statement.
    pub(super) fn judge(
        &self,
        text: &[u8],
        is_whole: bool,
        asked: Option<AccessMode>,
        execute: bool,
    ) -> Decided {
        let session = self.links.session(&self.state);
        let at = self.circumstances(&session, asked, execute);
        self.state.trace(|trace| trace.explained(self.explain(text, is_whole, &at)));
        let judged = self.worker.routing.borrow_mut().judge(text, is_whole, &at);
        let mut decided = self.state.decide(judged, text, self.links.lock().is_some());
        if decided.plan.kind == StatementKind::Show && !decided.is_rewritten {
            let (cipher, version) = self.io.sock.tls_names().unwrap_or_default();
            if let Some(told) = told_here(text, cipher, version) {
                decided.rewrite(told);
            }
        }
        decided
    }

    /// What a decision depends on besides the statement.
    pub(super) fn circumstances<'a>(
        &'a self,
        session: &'a route::Session,
        asked: Option<AccessMode>,
        execute: bool,
    ) -> Circumstances<'a> {
        Circumstances {
            caller: &self.state.caller,
            client_addr: &self.state.client_addr,
            account: *self.state.account,
            hints: self.identity.account.user.has(Options::HINTS),
            session,
            flag_in: self.state.flag_in,
            reading: self.state.reading(),
            asked,
            execute,
            mirror: None,
            is_traced: self.worker.is_tracing(),
            random: self.worker.dice.roll(),
        }
    }

    /// The side that an attribute of the statement asks for.
    #[inline]
    pub(super) fn asked(&self, payload: &[u8]) -> Option<AccessMode> {
        if !self.capabilities().contains(Capabilities::QUERY_ATTRIBUTES) || payload.get(1) == Some(&0) {
            return None;
        }
        let query = Query::decode(payload, self.capabilities()).ok()?;
        asked_by(query.attributes.iter())
    }

    /// The same for an execution of a prepared statement with so many parameters, none of which was
    /// sent as long data.
    #[inline]
    pub(super) fn asked_of_execution(&self, payload: &[u8], params: u16) -> Option<AccessMode> {
        if !self.capabilities().contains(Capabilities::QUERY_ATTRIBUTES) {
            return None;
        }
        let execute = StmtExecute::decode(payload, self.capabilities()).ok()?;
        asked_by(execute.attributes(params, self.capabilities()))
    }

    /// Takes note of a command that is being sent to the backend.
    pub(super) fn note_sent(&mut self, kind: Kind, payload: &[u8], is_whole: bool, decided: &mut Decided) {
        if matches!(kind, Kind::Query | Kind::StmtExecute | Kind::StmtBulkExecute) {
            self.state.last.ran.note(decided.plan, !self.links.pipelined.is_empty());
            self.note_write(kind, payload, decided);
            self.note_causal(decided);
        }
        if let Some(multiplex) = decided.orders.as_ref().and_then(|orders| orders.verdict.multiplex)
            && let Some(link) = self.links.state_mut()
        {
            link.note_multiplex(multiplex, decided.change.as_deref_mut());
        }
        if let Some(unseen) = decided.change.as_mut().and_then(|change| change.unseen.take()) {
            let calls = unseen.at(Instant::now().into_std());
            self.links.note_left(&mut self.state, vec![Mark::begin(Pin::Function)], calls);
        }
        match kind {
            Kind::Query => match decided.change.take() {
                // The replies in front of its own say nothing of it: what it leaves counts at once.
                Some(change) if !self.links.pipelined.is_empty() => {
                    self.links.note_left(&mut self.state, change.marks, None);
                }
                Some(change) => self.propose(change),
                None => {}
            },
            Kind::InitDb => self.propose(Change::of_schema(payload.get(1..).unwrap_or_default()).into()),
            Kind::SetOption => self.propose(Change::of_option(payload).into()),
            // At MySQL it leaves warnings that its reply does not count.
            Kind::FieldList => self.propose(Change::pinned(Pin::Warnings).into()),
            Kind::ResetConnection => self.propose(Change::of_reset().into()),
            Kind::ProcessInfo => self.propose(Change::of_process_info().into()),
            Kind::RegisterReplica => {
                self.state.past |= Past::REPLICA;
                self.propose(Change::pinned(Pin::Replica).into());
            }
            Kind::StmtPrepare => {
                let mut preparing = self.preparing(payload.get(1..).unwrap_or_default(), decided);
                if !is_whole || payload.len() >= MAX_PAYLOAD {
                    // Prepared anew, what is here of it would be another statement.
                    preparing.forget_text();
                }
                self.state.prepared.get_or_insert_default().expect(preparing);
                if keeps_definitions(self.capabilities()) {
                    self.flight().taps.keep_definitions();
                }
            }
            _ if names_statement(kind) => {
                if kind == Kind::StmtExecute && keeps_definitions(self.capabilities()) {
                    self.hear_execution(payload, decided);
                }
                self.note_prepared(kind, payload);
            }
            _ => {}
        }
        self.begin_listing(kind, payload);
    }

    /// An execution is being sent for a client that keeps columns. What its answer tells of them
    /// matters if the query cache may give the next one.
    fn hear_execution(&mut self, payload: &[u8], decided: &Decided) {
        let is_cached = decided.orders.as_ref().is_some_and(|orders| orders.cached.is_some());
        let link = self.links.state();
        let Some(all) = &mut self.state.prepared else { return };
        if !is_cached {
            // Most tell columns with the first execution, if ever.
            let is_unheard = || {
                let known = statement_id(payload).and_then(|id| all.client_id_of(id, link));
                known.and_then(|id| all.get(id)).is_some_and(Prepared::is_unheard)
            };
            if !self.worker.shared.cache.watches_writes() || !is_unheard() {
                return;
            }
        }
        if self.links.pipelined.is_empty() {
            // The answer to the one before may not have come to its end.
            all.take_told();
        }
        self.flight().taps.keep_definitions();
    }

    /// A command that changes this if it succeeds is on its way.
    pub(super) fn propose(&mut self, mut change: Box<Change>) {
        if let Some(calls) = &mut change.calls {
            calls.begin(Instant::now().into_std());
        }
        // The one before has not been answered. That it is in vain to stay does no harm.
        if let Some(before) = self.flight().proposed.replace(change) {
            self.links.note_left(&mut self.state, before.marks, None);
        }
    }

    /// What is kept of a statement that is prepared.
    pub(super) fn preparing(&mut self, text: &[u8], decided: &mut Decided) -> Preparing {
        let kill = PreparedKill::of(text);
        if kill.is_some() {
            self.state.past |= Past::PREPARED_KILL;
        }
        let moves = !self.has_one_way() || self.worker.logs() || self.shares(decided.hostgroup());
        let (digest, mut change) = (decided.digest(), decided.change.take());
        if let Some(change) = change.as_mut().filter(|_| keeps_definitions(self.capabilities())) {
            change.without_definitions();
        }
        if let Some(link) = self.links.state_mut() {
            link.note_prepared(change.as_deref());
        }
        let shown = |digest| {
            let new = || self.worker.digest_text(digest, text, decided);
            self.worker.counts.digests.text(digest).unwrap_or_else(new)
        };
        let digest_text = digest.map(shown).unwrap_or_default();
        let (modes, meaning) = self.state.meaning_at(self.links.at(decided.hostgroup())).unzip();
        let text = self.worker.texts.keep(text);
        let entry = text.as_ref().and_then(|text| {
            let Worker { ledger, texts, .. } = &*self.worker;
            ledger.entry(&self.state.caller, text, digest.unwrap_or(0), texts)
        });
        Preparing {
            text,
            entry,
            moves,
            digest,
            is_rewritten: decided.is_rewritten,
            plan: decided.plan,
            modes: modes.unwrap_or(NO_MODES),
            meaning,
            digest_text,
            change: change.map(|change| *change),
            kill,
            caller: Arc::clone(&self.state.caller),
            screened: decided.screened,
        }
    }
}

impl Worker {
    /// The length of a statement that is to be prepared, comes in pieces, and is kept as a whole:
    /// without the last ones it could not be prepared anew.
    pub(super) fn len_to_complete(&self, input: &[u8]) -> Option<usize> {
        let max = self.settings().variables.max_allowed_packet as usize;
        len_of_cut(input).filter(|len| *len <= max.min(PREPARED_BYTES_MAX))
    }
}

/// The side that one of these attributes asks for.
fn asked_by<'a>(mut attributes: impl Iterator<Item = Attribute<'a>>) -> Option<AccessMode> {
    let attribute = attributes.find(|attribute| attribute.name == ACCESS_MODE)?;
    // Texts have their length in front, in one byte if they are short.
    match attribute.value?.get(1..)? {
        b"read_write" => Some(AccessMode::ReadWrite),
        b"read_only" => Some(AccessMode::ReadOnly),
        _ => None,
    }
}

/// Whether a command begins with the number of a prepared statement.
pub(super) const fn names_statement(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::StmtExecute
            | Kind::StmtBulkExecute
            | Kind::SendLongData
            | Kind::StmtFetch
            | Kind::StmtReset
            | Kind::StmtClose
    )
}
