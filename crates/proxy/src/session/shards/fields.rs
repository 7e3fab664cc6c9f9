//! `COM_FIELD_LIST` of sharded tables: the columns of a table, with their defaults.

use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::state::SessionState;
use planner::seen::{Names, node};
use runtime::worker::Worker;
use scatter::logical;
use shard::Node;
use wire::command::FieldList;
use wire::frame::{Packet, Packets, put_message};
use wire::packet::{Column, Err as ErrPacket};
use wire::{Capabilities, Codec as _, frame};

use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::names_at;
use crate::session::shards::inner::{ask, ask_packet, inner_in};

/// A statement that leaves nothing.
const NOTHING: &[u8] = b"DO 0";

/// Lists columns, as this payload of a `COM_FIELD_LIST` says: a node of its table answers.
pub(super) async fn list_fields(entry: &BookEntry, leg: &mut Leg, asked: &[u8]) -> Result<Done, Halt> {
    let Some((node, payload)) = listed_at(&entry.worker, &leg.state, asked) else {
        return Ok(Done::Home);
    };
    // The command has no name of a schema: this inner session is in that of the node.
    let mut inner = inner_in(entry, &leg.state, node.hostgroup, &node.schema);
    let reply = ask_packet(&mut inner, frame::command(&payload)).await?;
    // Warnings that it may have left would keep the connection from others.
    ask(&mut inner, NOTHING).await?;
    let reply = fields(&reply, &names_at(&entry.worker, node.hostgroup), leg.state.identity.capabilities);
    Ok(Done::Told(reply))
}

/// The node that answers a command with this payload, and its payload there; none if its table is
/// not sharded.
fn listed_at(worker: &Worker, state: &SessionState, asked: &[u8]) -> Option<(Node, Vec<u8>)> {
    let caps = state.identity.capabilities;
    let asked = FieldList::decode(asked, caps).ok()?;
    let settings = worker.settings();
    let layout = settings.shards.as_ref()?;
    let text = std::str::from_utf8;
    let table = layout.table(text(state.caller.schema()).ok()?, text(asked.table).ok()?)?;
    let node = node(layout, table)?;
    let payload = FieldList { table: node.table.as_bytes(), ..asked }.encode(caps);
    Some((node.clone(), payload))
}

/// The reply of a node with the names that clients know.
fn fields(reply: &[u8], names: &Names, caps: Capabilities) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    for Packet { payload, .. } in Packets::new(reply) {
        let told = match payload.first() {
            Some(&ErrPacket::HEADER) => ErrPacket::decode(payload, Capabilities::PROTOCOL_41).map(|error| {
                let message = names.logical_text(error.message);
                ErrPacket { message: &message, ..error }.encode(Capabilities::PROTOCOL_41)
            }),
            // A definition begins with the length of `def`.
            Some(0x03) => Column::decode(payload, caps).map(|column| logical(&column, names).encode(caps)),
            _ => Ok(payload.to_vec()),
        };
        seq = put_message(&mut out, seq, &told.unwrap_or_else(|_| payload.to_vec()));
    }
    out
}
