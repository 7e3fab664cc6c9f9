//! A definition that several nodes get, one after the other: recorded before the first is asked.

use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::facts::orders::killed_here;
use legs::facts::replies::write_to_client;
use legs::io::Io;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::role::Place;
use observe::running::Measured;
use planner::plan::Branch;
use runtime::ddl;
use runtime::ddl::{Record, Running, State, Step, fingerprint};
use runtime::gates::TableName;
use runtime::inspection::read;
use runtime::scattered::Scattered;
use scatter::{Kind as Replied, Relay, Scatter as Replies};
use shard::Table;
use wire::{Capabilities, Codec as _, packet};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::definitions::ask_at;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{plain_reply, refused_scatter, source_of_branch};
use crate::session::shards::inner::{error_of, take_inner};
use crate::state::SCHEMA;

/// Errors behind which a server may go on with the statement: the connection to it is lost.
const IN_DOUBT: [u16; 4] = [1053, 1927, 2013, 9009];

/// Has each node execute a definition, which nothing stands in the way of. One that fails at
/// the first node has changed nothing; one that fails at another node has stopped.
pub(super) async fn run_definition(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    scattered: Scattered,
    tables: Vec<TableName>,
) -> Result<Done, Halt> {
    let branches = scattered.branches;
    refused_scatter(&entry.worker, leg, command, &branches)?;
    if let Some(id) = entry.worker.shared.ddl.stopped_of(&tables) {
        return Err(stopped(id).into());
    }
    let record = record_of(entry, leg, command, &branches, tables).await?;
    let running = entry.worker.shared.ddl.begin(record).await;
    let running =
        running.map_err(|why| ClientError::not_sharded("a definition of a table of several nodes", &why))?;
    let seq = skip_command(entry, io, leg).await?;
    entry.begin_running(Measured::plain(command.kind), &command.text);
    let mut replies = Vec::new();
    let (mut is_refused, mut is_over) = (false, true);
    for (number, branch) in branches.iter().enumerate() {
        running.note(number, State::Asked, "").await;
        let reply = if killed_here(&entry.control, leg.state.identity.capabilities, true)? {
            // No server has heard of it.
            ClientError::Interrupted.to_packet(1, leg.state.identity.capabilities)
        } else {
            let text = branch.text.as_deref().unwrap_or(&command.text);
            ask_at(entry, leg, branch.hostgroup, text).await?
        };
        let error = error_of(&reply);
        replies.push(reply);
        if let Some(error) = error {
            is_refused = true;
            running.note(number, State::Failed, &ddl::told(&error)).await;
            is_over = number == 0 && !is_in_doubt(entry, leg, &error, &running).await?;
            break;
        }
        running.note(number, State::Done, "").await;
    }
    if is_over {
        running.end().await;
    } else {
        drop(running);
    }
    give_definition(entry, io, leg, seq, (&branches, &replies), is_refused).await?;
    Ok(Done::Over)
}

/// Whether the first node may have executed a definition that was answered with an error.
async fn is_in_doubt(
    entry: &BookEntry,
    leg: &mut Leg,
    error: &[u8],
    running: &Running,
) -> Result<bool, Ending> {
    let code = packet::Err::decode(error, Capabilities::PROTOCOL_41).map_or(0, |error| error.code);
    let steps = running.record().map(|record| record.steps).unwrap_or_default();
    let Some(first) = steps.first() else { return Ok(false) };
    Ok(IN_DOUBT.contains(&code)
        || fingerprint_of(entry, leg, first.hostgroup, &first.node).await? != first.before)
}

/// What is recorded of a definition.
async fn record_of(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
    branches: &[Branch],
    tables: Vec<TableName>,
) -> Result<Record, Ending> {
    let settings = entry.worker.settings();
    let table = tables.first().zip(settings.shards.as_deref());
    let table = table.and_then(|((schema, name), layout)| layout.table(schema, name));
    let mut steps = Vec::with_capacity(branches.len());
    for (branch, node) in branches.iter().zip(table.map_or(&[][..], Table::nodes)) {
        let inner = take_inner(entry, leg, branch.hostgroup);
        let current = inner.leg.state.caller.schema().to_vec().into();
        leg.links.put_inner(inner);
        let node = [node.schema.clone(), node.table.clone()];
        let before = fingerprint_of(entry, leg, branch.hostgroup, &node).await?;
        let text = branch.text.as_deref().unwrap_or(&command.text).to_vec().into();
        let (state, error) = (State::Waiting, String::new());
        steps.push(Step { hostgroup: branch.hostgroup, node, current, text, before, state, error });
    }
    let set = leg.state.settings().filter(|(key, _)| *key != SCHEMA);
    Ok(Record {
        id: 0,
        user: leg.state.identity.account.user.name.to_vec().into(),
        collation: leg.state.identity.collation,
        settings: set.map(|(_, text)| text.to_vec().into()).collect(),
        statement: command.text.clone().into(),
        tables,
        steps,
    })
}

/// The fingerprint of a physical table; none if the server does not show one.
async fn fingerprint_of(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    node: &[String; 2],
) -> Result<Option<u64>, Ending> {
    let [schema, table] = node;
    let text = planner::define::table_statement(schema, table);
    let reply = ask_at(entry, leg, hostgroup, text.as_bytes()).await?;
    Ok(fingerprint(read(&reply).ok().flatten().as_ref()))
}

/// Gives the client one reply out of those of nodes.
async fn give_definition(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    seq: u8,
    (branches, replies): (&[Branch], &[Vec<u8>]),
    is_refused: bool,
) -> Result<(), Ending> {
    let source =
        |(session, branch): (usize, &Branch)| source_of_branch(&entry.worker, branch.hostgroup, session);
    let sources: Vec<_> = branches.iter().take(replies.len()).enumerate().map(source).collect();
    let mut merged = Replies::new(plain_reply(&entry.worker, &leg.state, Replied::Result, seq), sources);
    for (number, reply) in replies.iter().enumerate() {
        merged.feed(number, reply);
        merged.close(number);
    }
    let mut packets = Vec::new();
    merged.drain(&mut packets);
    write_to_client(entry, io, &mut leg.state, &packets).await?;
    entry.end_running(&leg.links);
    let last = replies.len().checked_sub(1).and_then(|last| branches.get(last));
    leg.links.note_scattered(
        &mut leg.state,
        &Relay::new(merged),
        last.map_or(0, |branch| branch.hostgroup),
        branches.len(),
    );
    if is_refused && let Some(branch) = last {
        // Diagnostics are those of the node that has refused it.
        leg.links.away.role.shards().last = Place::Shard(branch.hostgroup);
    }
    Ok(())
}

/// The refusal of a statement on a table whose definition has stopped.
pub(super) fn stopped(id: u64) -> ClientError {
    ClientError::not_sharded(
        "a statement on a table whose nodes differ",
        &format!(
            "definition {id} has not come to its end at all nodes: POINTSMAN RESUME DDL {id} at the admin port \
             goes on with it, POINTSMAN FORGET DDL {id} leaves the nodes as they are"
        ),
    )
}
