//! What is looked for in the query cache for a command: the key of its answer, and what makes the
//! answer too old.

use cache::{Key, KeyBuilder, Life, PROOF_PASSED_ON_MS, Refusal};
use command::Command;
use config::{CacheScope, ProxyProtocol};
use session::cached::trimmed;
use session::tier::Tier;
use session::unjudged::Unseen;
use sql::Modes;
use sql::shape::{Effects, SCHEMAS_OF_SERVERS};
use wire::command::{ExecuteParams, Kind};

use super::Session;
use super::cached_asked::{Asked, Who, row};
use super::decided::Decided;
use super::links::Links;
use super::state::SessionState;
use crate::cached::account_of;
use crate::routing::Reading;
use crate::state::Pin;
use crate::worker::Worker;

/// The type of parameters that are times, `MYSQL_TYPE_TIME`.
const TIME: u16 = 0x0B;

impl Session {
    /// What is looked for, or why nothing is.
    pub(super) fn cache_key(&self, command: Command<'_>, decided: &Decided) -> Result<Asked, Refusal> {
        let orders = decided.orders.as_deref();
        let how = orders.and_then(|orders| orders.cached).ok_or(Refusal::NotRead)?;
        let Some(target) = decided.route.target() else { return Err(Refusal::NotRead) };
        if !command.is_whole() {
            return Err(Refusal::NotRead);
        }
        refused_by_session(&self.links, &self.state).map_or(Ok(()), Err)?;
        if !self.state.identity.takes_cached() {
            return Err(Refusal::Untold);
        }
        if decided.plan.effects.intersects(Effects::UNKNOWN)
            || matches!(decided.unseen(), Some(Unseen::Known))
        {
            // Behind its tables, if not in its text.
            return Err(Refusal::UnknownFunction);
        }
        if is_of_server(self.state.caller.schema()) {
            return Err(Refusal::AboutServer);
        }
        let (worker, state, policy) = (&*self.entry.worker, &*self.state, &how.policy);
        let cache = &*worker.shared.cache;
        let epoch = cache.proven.epoch();
        let (settings, was_reset) = (state.shared_settings(), state.was_reset());
        let (class, user) =
            worker.cached.class(cache, settings, &state.caller, &self.state.identity, was_reset)?;
        // Reader and writer have the same data.
        let hostgroup = if target.is_split { state.account.default_hostgroup } else { target.hostgroup };
        let asked_at = if policy.mode.sees_own_writes() {
            self.entry.worker.sees_own_writes(hostgroup)?;
            cache.watch_tables();
            hostgroup
        } else {
            target.hostgroup
        };
        let source = self.entry.worker.source_of(policy, hostgroup)?;
        let (account, text) =
            (self.entry.worker.cache_account(&self.state, Some(user)), state.text_of(command));
        let who = Who { account, class, hostgroups: [hostgroup, asked_at] };
        let said = self.said(&who, (text, decided), &how, epoch);
        said.refusal.map_or(Ok(()), Err)?;
        let mut key = cache.keys.builder().key(class).number(hostgroup.into());
        if said.proof.is_none() && policy.scope != CacheScope::Shared {
            key = key.key(account);
        }
        if let Some(source) = &source {
            // What the log of one server tells says nothing of answers of another one.
            key = key.part(source.name().as_bytes());
        }
        // In the same scope under the same rule only: a rule may make less of an answer.
        let key = key.number(policy.scope as u64).number(policy.mode as u64);
        // A proxy in front takes the answer for a proof as well.
        let passed_on_ms = if self.state.identity.tier == Tier::Told { PROOF_PASSED_ON_MS } else { 0 };
        Ok(Asked {
            row: row(policy, decided),
            key: with_text(&self.state, key, command, decided)?.finish(),
            life: Life { ttl_ms: policy.ttl_ms, soft_ttl_ms: policy.soft_ttl_ms, stale_ms: policy.stale_ms },
            how,
            source,
            hostgroup,
            is_proven: said.is_proven(&cache.proven, worker.uptime_ms() + passed_on_ms),
            epoch,
            said,
        })
    }
}

/// The key with the text that is sent, and the values with their types if it is prepared.
fn with_text(
    state: &SessionState,
    key: KeyBuilder,
    command: Command<'_>,
    decided: &Decided,
) -> Result<KeyBuilder, Refusal> {
    let (state, caps) = (state, command.caps);
    let Reading { no_backslash_escapes, two_byte_quotes } = state.reading();
    let modes = Modes { no_backslash_escapes, ..Modes::default() };
    let plain = |text| if two_byte_quotes { text } else { trimmed(text, modes) };
    if command.kind == Kind::Query {
        if command.has_attributes() {
            return Err(Refusal::Attributes);
        }
        let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
        return Ok(key.number(0).part(plain(rewritten.unwrap_or_else(|| command.text()))));
    }
    let execution = command.execution().ok_or(Refusal::NotRead)?;
    let prepared = state.prepared.as_ref().and_then(|all| all.get(execution.statement_id));
    let prepared = prepared.filter(|one| !one.is_at_home() && !one.has_parts() && !command.opens_cursor());
    let prepared = prepared.ok_or(Refusal::Cursor)?;
    let text = prepared.what.text.as_deref().ok_or(Refusal::NotRead)?;
    if prepared.what.modes != state.modes() {
        return Err(Refusal::UnknownSession);
    }
    let count = prepared.params();
    let params = execution.params(count, caps).map_err(|_| Refusal::NotRead)?;
    if params.count > count.into() {
        return Err(Refusal::Attributes);
    }
    let own = params.types_without_attributes(count, caps);
    let types = own.or(prepared.types().map(|(types, _)| types));
    let types = types.or((count == 0).then_some(&[])).ok_or(Refusal::NotRead)?;
    if ExecuteParams::type_codes(types, count, caps).any(|code| code & 0x7FFF == TIME) {
        // Where it meets a date it becomes one of today.
        return Err(Refusal::Volatile);
    }
    let key = key.number(1).part(plain(text)).part(params.nulls).part(types).part(params.values);
    if !state.identity.keeps_definitions() {
        return Ok(key);
    }
    // Of such an execution the server leaves out columns that the client knows.
    Ok(key.number(prepared.definitions().ok_or(Refusal::KeepsColumns)?))
}

impl Worker {
    /// The account that the session has at servers. `user` is that of its user alone, if it is
    /// known.
    pub(super) fn cache_account(&self, state: &SessionState, user: Option<Key>) -> Key {
        let (worker, state) = (self, state);
        let settings = worker.settings();
        // A server that gets the client's address may know the user as several accounts.
        let is_by_address =
            settings.config().server_options.iter().any(|one| one.proxy_protocol != ProxyProtocol::Off);
        let address = if is_by_address { state.client_addr.as_bytes() } else { &[] };
        user.filter(|_| !is_by_address)
            .unwrap_or_else(|| account_of(&worker.shared.cache, &state.caller, address))
    }
}

impl Worker {
    /// Fails if an answer from this hostgroup may be older than a write that a client of this proxy
    /// knows to have succeeded.
    pub(super) fn sees_own_writes(&self, hostgroup: u32) -> Result<(), Refusal> {
        let shared = &self.shared;
        let is_reader = self.settings().config().pairs().any(|(_, reader)| reader == hostgroup);
        if is_reader || shared.upstream.pool.has_choice(hostgroup, shared.uptime()) {
            return Err(Refusal::Replica);
        }
        if shared.cache.is_bypassed() { Err(Refusal::FastForward) } else { Ok(()) }
    }
}

/// Why a session gets no answers now, besides what a [route](route::route) depends on.
fn refused_by_session(links: &Links, state: &SessionState) -> Option<Refusal> {
    let because = |pins: &[Pin], refusal| links.has_pins(pins).then_some(refusal);
    because(&[Pin::Warnings], Refusal::Warnings)
        .or(state.has_released_error().then_some(Refusal::Warnings))
        .or_else(|| because(&[Pin::Waited], Refusal::MustSee))
        .or_else(|| because(&[Pin::Function, Pin::Schema, Pin::Setting], Refusal::UnknownSession))
}

/// Whether this is a schema of the servers themselves, which show each account something else.
fn is_of_server(schema: &[u8]) -> bool {
    SCHEMAS_OF_SERVERS.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(schema))
}
