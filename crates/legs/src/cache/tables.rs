//! What the query cache has to know of the tables of a statement: their definitions.
//!
//! They are asked for over the session's connection, behind the reply to a statement that needs
//! them, and hold for all sessions of the account. A statement whose tables are not known yet is
//! sent, and its answer is not stored; a write to such tables counts as one to all.

use cache::{Definition, Key, Learnt, Scope, Sight, question};
use front::ending::Ending;
use route::Tables;
use runtime::worker::Worker;
use session::limits::TABLES_MAX;
use session::state::Pin;
use session::unjudged::CODE;
use sql::shape::Table;
use upstream::{Connection, Defaults, Reply};
use wire::StatusFlags;
use wire::reply::Answer;
use wire::rows::cells;

use crate::cache::said::cache_account;
use crate::entry::BookEntry;
use crate::facts::asking::{ask_besides, ask_rows, forget_warnings, packet_of};
use crate::facts::behind::is_askable;
use crate::leg::Leg;
use crate::links::Links;
use crate::state::SessionState;

impl Leg {
    /// Whether definitions are to be asked for, and nothing is lost with that. `is_last` says that
    /// the client has sent nothing behind its command.
    #[inline]
    pub fn may_learn(&self, entry: &BookEntry, is_last: bool) -> bool {
        let wanted = entry.worker.cached.to_learn.borrow();
        // Mostly no session is to ask for any.
        !wanted.is_empty()
            && is_last
            && wanted.get(&entry.control.id()).is_some_and(|(hostgroup, _)| is_free_to_ask(self, *hostgroup))
    }
}

/// Asks the server whether what it gives sessions at their beginning lets answers be kept, if
/// that is not known of the connection.
async fn learn_defaults(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let now = entry.worker.now();
    let Some(link) = leg.links.connection_mut() else { return Ok(()) };
    if link.defaults.keep_answers(now).is_some() {
        return Ok(());
    }
    let text = Defaults::question(link.is_mariadb());
    let command = (packet_of(&leg.state, text.as_bytes()), Answer::Result);
    let replies = ask_besides(entry, leg, &[command]).await?;
    leg.links.note_ran(&mut leg.state);
    note_errors(&replies, leg.links.connection_mut());
    if let (Some(reply), Some(link)) = (replies.first(), leg.links.connection_mut()) {
        link.defaults.note(reply.only_row(), now);
    }
    Ok(())
}

/// Asks for definitions, and for those that these lead to.
pub async fn learn_tables(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let wanted = entry.worker.cached.to_learn.borrow_mut().remove(&entry.control.id());
    let Some((hostgroup, mut all)) = wanted else { return Ok(()) };
    // Where many sessions need a definition, one of them asks.
    all.retain(|table| !is_learnt(&entry.worker, &leg.state, hostgroup, table));
    let mut asked = 0;
    let now = entry.worker.now();
    let knows = |link: &mut Connection| link.defaults.keep_answers(now).is_some();
    if !all.is_empty() || !leg.links.connection_mut().is_none_or(knows) {
        leg.links.note_ran(&mut leg.state);
        ask_rows(entry, leg).await?;
        learn_defaults(entry, leg).await?;
    }
    while let Some(batch) = all.get(asked..).filter(|batch| !batch.is_empty()) {
        if leg.links.in_use.is_none() {
            return Ok(());
        }
        let more = learn(entry, leg, hostgroup, batch).await?;
        asked = all.len();
        for table in more {
            let is_new = all.len() < TABLES_MAX && is_askable(&table) && !all.contains(&table);
            if is_new && !is_learnt(&entry.worker, &leg.state, hostgroup, &table) {
                all.push(table);
            }
        }
    }
    // Now it is known how many rows the statement before had, and not in front of a question
    // about a later one. MySQL warns of `FOUND_ROWS()`.
    if leg.links.has_own_warnings() { forget_warnings(entry, leg).await } else { Ok(()) }
}

/// Asks for these definitions. Returns the tables that they lead to.
async fn learn(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    batch: &[Table],
) -> Result<Vec<Table>, Ending> {
    let versions = &entry.worker.shared.cache.versions;
    // While a definition is being changed, what a server says is not certain.
    let Some(moment) = versions.moment(&Scope::of_definitions()) else { return Ok(Vec::new()) };
    let texts = batch.iter().map(|table| question(table.schema.as_deref().unwrap_or_default(), &table.name));
    let commands: Vec<_> =
        texts.map(|text| (packet_of(&leg.state, text.as_bytes()), Answer::Result)).collect();
    let replies = ask_besides(entry, leg, &commands).await?;
    leg.links.note_ran(&mut leg.state);
    note_errors(&replies, leg.links.connection_mut());
    let (Sight { whose, now_ms }, mut more) = (sight(&entry.worker, &leg.state, hostgroup), Vec::new());
    for (table, reply) in batch.iter().zip(&replies) {
        let schema = table.schema.as_deref().unwrap_or_default();
        let definition = cells(&reply.bytes).and_then(|rows| Definition::of(schema, &rows));
        let definition = definition.unwrap_or(Definition::unknown());
        more.extend(definition.leads_to().cloned());
        let learnt = Learnt { whose, table: table.clone(), definition, moment };
        entry.worker.shared.cache.learn(learnt, now_ms);
    }
    Ok(more)
}

/// Whether the session's server can be asked something that leaves nothing.
fn is_free_to_ask(leg: &Leg, hostgroup: u32) -> bool {
    hostgroup == leg.state.here
        && leg.state.status.contains(StatusFlags::AUTOCOMMIT)
        && !leg.state.in_transaction()
        && leg.flight.decided.is_none()
        && leg.links.in_use.is_some()
        && leg.links.pipelined.is_empty()
        && (leg.links.is_unpinned() || leg.links.has_only_pins(&CODE))
}

impl BookEntry {
    /// These definitions are to be asked for.
    pub fn want(&self, hostgroup: u32, tables: Vec<Table>) {
        let mut tables = tables.into_iter().filter(is_askable).peekable();
        if tables.peek().is_some() {
            self.worker.cached.want(self.control.id(), hostgroup, tables);
        }
    }
}

/// For whom definitions are known.
pub fn sight(worker: &Worker, state: &SessionState, hostgroup: u32) -> Sight {
    sight_of(worker, cache_account(worker, state, None), hostgroup)
}

fn is_learnt(worker: &Worker, state: &SessionState, hostgroup: u32, table: &Table) -> bool {
    let cache = &worker.shared.cache;
    cache.catalog.knows(sight(worker, state, hostgroup), &cache.versions, table)
}

impl SessionState {
    /// The same tables, with the schemas that they are in.
    pub fn with_schemas(&self, tables: &[Table]) -> Vec<Table> {
        let here = String::from_utf8_lossy(self.caller.schema());
        tables.iter().map(|table| table.clone().within(&here)).collect()
    }
}

impl Links {
    /// Whether these are all tables of a text, with the schemas that they are in.
    pub fn names_all(&self, state: &SessionState, text: &[u8], tables: &Tables) -> bool {
        let reading = state.reading();
        let is_doubtful = reading.no_backslash_escapes && text.contains(&b'\\')
            || reading.two_byte_quotes && !text.is_ascii()
            || self.has_pins(&[Pin::Schema, Pin::Setting]);
        tables.are_all && !is_doubtful
    }
}

/// What is known of an account at the servers of a hostgroup.
pub fn sight_of(worker: &Worker, account: Key, hostgroup: u32) -> Sight {
    let keys = &worker.shared.cache.keys;
    let whose = keys.builder().key(account).number(hostgroup.into()).finish();
    Sight { whose, now_ms: worker.uptime_ms() }
}

/// What the connection's server would tell of these errors is not about the client's statements.
fn note_errors(replies: &[Reply], link: Option<&mut Connection>) {
    if let Some(link) = link.filter(|_| replies.iter().any(|reply| reply.error().is_some())) {
        link.own_warnings = true;
    }
}
