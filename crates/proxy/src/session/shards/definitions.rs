//! Learning what sharded tables are: inner sessions ask for their definitions, as the client's
//! user, when a statement names them.

use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::shards::role::Inner;
use planner::define::{
    Answer, Collations, Known, TableDefinition, check, collation_statement, table_statement,
};
use runtime::inspection::read;
use shard::{Layout, Node, Table};
use wire::rows::cells;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::inner::{ask, error_of, take_inner};
use crate::session::shards::plan::Reading;
use crate::session::shards::reading::is_current;
use crate::session::shards::transaction::lose_transaction;

/// Nodes of a table that are asked for its definition.
const NODES_ASKED_MAX: usize = 64;

/// Learns the definitions of a statement's sharded tables, unless they are known.
pub(super) async fn learn_definitions(
    entry: &BookEntry,
    leg: &mut Leg,
    reading: Reading<'_>,
) -> Result<(), Ending> {
    for (schema, name) in reading.tables(&leg.state) {
        let now = entry.worker.shared.uptime();
        let Some(table) = reading.layout.table(&schema, &name) else { continue };
        if entry.worker.shards.tables().wants(&schema, &name, now) {
            learn_definition(entry, leg, reading.layout, table).await?;
        }
    }
    Ok(())
}

/// Learns the definition of a table. Nodes that were as they should be are asked again only if
/// the first one is not as it was.
async fn learn_definition(
    entry: &BookEntry,
    leg: &mut Leg,
    layout: &Layout,
    table: &Table,
) -> Result<(), Ending> {
    let mut found = Vec::new();
    for (number, node) in table.nodes().iter().take(NODES_ASKED_MAX).enumerate() {
        let definition = definition_of(entry, leg, node).await?;
        if !is_current(&entry.worker, layout) {
            // What is known belongs to another one.
            return Ok(());
        }
        let now = entry.worker.shared.uptime();
        if number == 0 && entry.worker.shards.renew(&table.schema, &table.name, definition.table(), now) {
            return Ok(());
        }
        found.push(definition);
    }
    let defined: Vec<&TableDefinition> = found.iter().filter_map(Answer::table).collect();
    let findings = check(layout, table, &found);
    entry.worker.shared.findings.log(&table.schema, &table.name, &findings);
    let catalog = &entry.worker.shards;
    let known = Known::of(&defined, &catalog.collations.borrow());
    let now = entry.worker.shared.uptime();
    // Rows that bring their ids need no sequence; others are refused one by one.
    let matters = findings.iter().find(|finding| finding.problem.stops_writes());
    catalog.learn(&table.schema, &table.name, known, matters.map(ToString::to_string), now);
    Ok(())
}

/// What a node says of its table.
async fn definition_of(entry: &BookEntry, leg: &mut Leg, node: &Node) -> Result<Answer, Ending> {
    let reply =
        ask_at(entry, leg, node.hostgroup, table_statement(&node.schema, &node.table).as_bytes()).await?;
    if error_of(&reply).is_some() {
        // No table is no error: the servers do not answer, and there the client hears why.
        return Ok(Answer::Unknown);
    }
    let definition = match read(&reply) {
        Ok(definition) => definition,
        Err(why) => {
            tracing::warn!(schema = node.schema, table = node.table, %why, "a definition is not understood");
            None
        }
    };
    let Some(definition) = definition else { return Ok(Answer::NoTable) };
    loop {
        let unknown = entry.worker.shards.collations.borrow().unknown(&definition);
        if unknown.is_empty() {
            return Ok(Answer::Table(definition));
        }
        let reply = ask_at(entry, leg, node.hostgroup, collation_statement(&unknown).as_bytes()).await?;
        let mut learned = Collations::default();
        let all = cells(&reply).unwrap_or_default();
        let is_read = all.iter().all(|row| learned.read(&definition.version, &unknown, row).is_ok());
        if !is_read || all.len() < unknown.len() {
            tracing::warn!(
                schema = node.schema,
                table = node.table,
                "what a server says of collations is not understood"
            );
            return Ok(Answer::Table(definition));
        }
        entry.worker.shards.collations.borrow_mut().merge(learned);
    }
}

/// Has the inner session of a hostgroup run a statement. The reply, as packets.
pub(super) async fn ask_at(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    text: &[u8],
) -> Result<Vec<u8>, Ending> {
    let inner = take_inner(entry, leg, hostgroup);
    ask_inner(entry, leg, inner, text).await
}

/// The same for this one, which is put back. If its part of the transaction is lost with that,
/// so is the transaction.
pub(super) async fn ask_inner(
    entry: &BookEntry,
    leg: &mut Leg,
    mut inner: Inner,
    text: &[u8],
) -> Result<Vec<u8>, Ending> {
    let was_open = inner.is_in_transaction();
    let reply = ask(&mut inner, text).await?;
    let is_over = was_open && !inner.is_in_transaction();
    leg.links.put_inner(inner);
    if is_over && error_of(&reply).is_some() {
        lose_transaction(entry, leg, ClientError::PartFailed).await?;
    }
    Ok(reply)
}
