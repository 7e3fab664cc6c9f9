//! What the query cache has to know of a statement: its key, its tables, what it writes.

use std::rc::Rc;

use cache::{
    Key, KeyBuilder, Life, Name, NotStored, PROOF_PASSED_ON_MS, Reading as Reads, Refusal, Said, Scope,
    Validity,
};
use command::Command;
use config::{CacheMode, CacheScope};
use legs::cache::fresh::source_of;
use legs::cache::peek::peek_at;
use legs::cache::said::{about, cache_account, digest_tells_names, sees_own_writes};
use legs::cache::tables::sight_of;
use legs::entry::BookEntry;
use legs::facts::asking::packet_of;
use legs::facts::places::unseen_behind;
use legs::leg::Leg;
use legs::links::Links;
use legs::state::SessionState;
use route::{Cached, Peek, Source, may_quote_names};
use runtime::cached::asked::{Asked, Who, row};
use runtime::decided::Decided;
use runtime::routing::{Judged, Reading};
use runtime::worker::Worker;
use session::cached::trimmed;
use session::tier::Tier;
use session::unjudged::Unseen;
use sql::Modes;
use sql::shape::{Effects, SCHEMAS_OF_SERVERS};
use wire::command::{ExecuteParams, Kind};
use wire::frame::put_message;

use crate::session::facts::cache::tables_of;
use crate::state::Pin;

/// What is looked for, or why nothing is.
pub(crate) fn cache_key(
    entry: &BookEntry,
    leg: &Leg,
    command: Command<'_>,
    decided: &Decided,
) -> Result<Asked, Refusal> {
    let orders = decided.orders.as_deref();
    let how = orders.and_then(|orders| orders.cached).ok_or(Refusal::NotRead)?;
    let Some(target) = decided.route.target() else { return Err(Refusal::NotRead) };
    if !command.is_whole() {
        return Err(Refusal::NotRead);
    }
    refused_by_session(leg).map_or(Ok(()), Err)?;
    if !leg.state.identity.takes_cached() {
        return Err(Refusal::Untold);
    }
    if decided.plan.effects.intersects(Effects::UNKNOWN) || matches!(decided.unseen(), Some(Unseen::Known)) {
        // Behind its tables, if not in its text.
        return Err(Refusal::UnknownFunction);
    }
    if is_of_server(leg.state.caller.schema()) {
        return Err(Refusal::AboutServer);
    }
    let (worker, policy) = (&*entry.worker, &how.policy);
    let cache = &*worker.shared.cache;
    let epoch = cache.proven.epoch();
    let (settings, was_reset) = (leg.state.shared_settings(), leg.state.was_reset());
    let (class, user) =
        worker.cached.class(cache, settings, &leg.state.caller, &leg.state.identity, was_reset)?;
    // Reader and writer have the same data.
    let hostgroup = if target.is_split { leg.state.account.default_hostgroup } else { target.hostgroup };
    let asked_at = if policy.mode.sees_own_writes() {
        sees_own_writes(&entry.worker, hostgroup)?;
        cache.watch_tables();
        hostgroup
    } else {
        target.hostgroup
    };
    let source = source_of(&entry.worker, policy, hostgroup)?;
    let (account, text) = (cache_account(&entry.worker, &leg.state, Some(user)), leg.state.text_of(command));
    let who = Who { account, class, hostgroups: [hostgroup, asked_at] };
    let said = said(entry, leg, &who, (text, decided), &how, epoch);
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
    let passed_on_ms = if leg.state.identity.tier == Tier::Told { PROOF_PASSED_ON_MS } else { 0 };
    Ok(Asked {
        row: row(policy, decided),
        key: with_text(&leg.state, key, command, decided)?.finish(),
        life: Life { ttl_ms: policy.ttl_ms, soft_ttl_ms: policy.soft_ttl_ms, stale_ms: policy.stale_ms },
        how,
        source,
        hostgroup,
        is_proven: said.is_proven(&cache.proven, worker.uptime_ms() + passed_on_ms),
        epoch,
        said,
    })
}

/// What the cache would do with `text`, of which this was found out. Counts nothing, and asks
/// for no definitions. The values of an execution are not known here.
pub(crate) fn peek(entry: &BookEntry, leg: &Leg, text: &[u8], judged: Judged, execute: bool) -> Peek {
    if execute {
        return Peek::Unseen;
    }
    let mut decided = leg.state.decide(judged, text, leg.links.lock().is_some());
    let unseen = unseen_behind(entry, &leg.state, &decided, text);
    let is_unjudged = matches!(unseen, Some(Unseen::Unknown(_)));
    if let Some(unseen) = unseen {
        decided.change.get_or_insert_default().unseen = Some(unseen);
    }
    let mut command = Vec::new();
    put_message(&mut command, 0, &packet_of(&leg.state, text));
    let Some(command) = Command::first(&command, leg.state.identity.capabilities) else {
        return Peek::Unseen;
    };
    let asked = entry.without_questions(|| cache_key(entry, leg, command, &decided));
    match asked {
        Err(refusal) => Peek::Refused(refusal),
        Ok(asked) => match peek_at(&entry.worker, &asked) {
            Peek::Miss(_) if is_unjudged => Peek::NotStored(NotStored::Unjudged),
            peek => peek,
        },
    }
}

/// What is said about a statement with this text in this epoch of proofs.
pub(crate) fn said(
    entry: &BookEntry,
    leg: &Leg,
    who: &Who,
    (text, decided): (&[u8], &Decided),
    how: &Cached,
    epoch: u64,
) -> Rc<Said> {
    let (worker, cache) = (&*entry.worker, &*entry.worker.shared.cache);
    let about = about(&entry.worker, &leg.state, who, text, decided, how);
    let now = (epoch, worker.uptime_ms());
    if let Some(about) = &about
        && let Some(said) = worker.cached.memo.borrow().get(about, now, &cache.versions)
    {
        return Rc::clone(said);
    }
    // Before definitions are looked at: one that changes meanwhile makes this too old.
    let moment = cache.versions.moment(&Scope::of_definitions());
    let reading = reading(entry, &leg.state, &leg.links, who.account, who.hostgroups[1], text, decided);
    let until_ms = reading.as_ref().map_or(u64::MAX, |reading| reading.until_ms);
    let said = Rc::new(find_out(&entry.worker, &leg.state, who, text, decided, how, reading));
    let is_certain = said.refusal != Some(Refusal::NotLearnt);
    if let Some((about, moment)) = about.zip(moment).filter(|_| is_certain) {
        let validity = Validity { epoch, moment, until_ms };
        worker.cached.memo.borrow_mut().put(about, validity, Rc::clone(&said));
    }
    said
}

/// What an answer from this hostgroup depends on for this account, if it is judged by
/// definitions.
pub(crate) fn reading(
    entry: &BookEntry,
    state: &SessionState,
    links: &Links,
    account: Key,
    hostgroup: u32,
    text: &[u8],
    decided: &Decided,
) -> Option<Reads> {
    if !entry.worker.settings().judge_tables {
        return None;
    }
    let tables = tables_of(&entry.worker, text, decided);
    let cache = &entry.worker.shared.cache;
    let reads = state.with_schemas(&tables.reads);
    let mut reading =
        cache.catalog.reading(sight_of(&entry.worker, account, hostgroup), &cache.versions, reads);
    reading.is_open |= !links.names_all(state, text, &tables);
    entry.want(hostgroup, std::mem::take(&mut reading.to_ask));
    Some(reading)
}

/// The key with the text that is sent, and the values with their types if it is prepared.
pub(crate) fn with_text(
    state: &SessionState,
    key: KeyBuilder,
    command: Command<'_>,
    decided: &Decided,
) -> Result<KeyBuilder, Refusal> {
    let caps = command.caps;
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
    let prepared = state.named(command);
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

/// Why a session gets no answers now, besides what a [route](route::route) depends on.
pub(crate) fn refused_by_session(leg: &Leg) -> Option<Refusal> {
    let because = |pins: &[Pin], refusal| leg.links.has_pins(pins).then_some(refusal);
    because(&[Pin::Warnings], Refusal::Warnings)
        .or(leg.state.has_released_error().then_some(Refusal::Warnings))
        .or_else(|| because(&[Pin::Waited], Refusal::MustSee))
        .or_else(|| because(&[Pin::Function, Pin::Schema, Pin::Setting], Refusal::UnknownSession))
}

/// Whether this is a schema of the servers themselves, which show each account something else.
pub(crate) fn is_of_server(schema: &[u8]) -> bool {
    SCHEMAS_OF_SERVERS.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(schema))
}

/// The type of parameters that are times, `MYSQL_TYPE_TIME`.
pub(crate) const TIME: u16 = 0x0B;

pub(crate) fn find_out(
    worker: &Worker,
    state: &SessionState,
    who: &Who,
    text: &[u8],
    decided: &Decided,
    how: &Cached,
    reading: Option<Reads>,
) -> Said {
    let (cache, policy) = (&*worker.shared.cache, &how.policy);
    if let Err(refusal) = judge(reading.as_ref(), policy.mode) {
        return Said::refused(refusal);
    }
    if reading.as_ref().is_some_and(|reading| state.takes_today(reading, text, decided)) {
        return Said::refused(Refusal::Volatile);
    }
    // A view may depend on the account.
    let may_share = reading.is_some() && policy.scope == CacheScope::Proven && !may_quote_names(text);
    let proof = telling_digest(worker, state, decided).filter(|_| may_share).map(|digest| {
        let proof = cache.keys.builder().key(who.account).key(who.class);
        proof.number(who.hostgroups[0].into()).number(digest).finish()
    });
    let mut scope = scope_of(worker, state, text, decided, how, reading);
    if proof.is_some() {
        // An account that proves the digest after a change may not have read what was before.
        scope.add_definitions();
    }
    Said::new(scope, proof)
}

/// The digest of a statement, if it tells all that privileges are checked for.
pub(crate) fn telling_digest(worker: &Worker, state: &SessionState, decided: &Decided) -> Option<u64> {
    let routing = worker.routing.borrow();
    let digest = routing.routes().sound(decided.digest(), decided.screened.clear);
    digest.filter(|_| digest_tells_names(worker, state, decided))
}

/// What the answer is invalidated by.
pub(crate) fn scope_of(
    worker: &Worker,
    state: &SessionState,
    text: &[u8],
    decided: &Decided,
    how: &Cached,
    reading: Option<Reads>,
) -> Scope {
    let mut scope = Scope::new();
    scope.add(Name::User(state.caller.user()).hash());
    if let Some(Source::Rule(id)) = how.policy.source {
        scope.add(Name::Rule(id).hash());
    }
    if let Some(digest) = decided.digest() {
        scope.add(Name::Digest(digest).hash());
    }
    for table in &tables_of(worker, text, decided).reads {
        let schema = table.schema.as_deref().map_or(state.caller.schema(), str::as_bytes);
        scope.add(Name::Table(schema, table.name.as_bytes()).hash());
    }
    if how.policy.mode.sees_own_writes() {
        match reading {
            Some(reading) if !reading.is_open => scope.add_writes_to(&reading.tables),
            _ => scope.add_any_write(),
        }
    }
    scope
}

/// Why what was learnt of the tables of a statement keeps its answer from being cached.
pub(crate) fn judge(reading: Option<&Reads>, mode: CacheMode) -> Result<(), Refusal> {
    let Some(reading) = reading else { return Ok(()) };
    match reading.refusal {
        Some(refusal) => Err(refusal),
        None if mode.sees_own_writes() && reading.has_other_engines => Err(Refusal::Engine),
        None => Ok(()),
    }
}
