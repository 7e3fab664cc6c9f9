//! What a client does next.

use std::time::Duration;

use super::catalogue::{execution, of_rows, rows_of};
use super::command::Command;
use super::dialect::Dialect;
use super::execution::Execution;
use super::gaps::without_gaps;
use super::model::Session;
use super::sharded_texts::{sharded_commands, text_of_both};
use super::texts::{pinning_text, text};
use super::world::World;

/// Longest time that a client thinks, in milliseconds.
const THINKING_MS: u64 = 40;

/// Longest time for which the writer is not reached, in milliseconds.
const OUTAGE_MS: u64 = 4000;

/// One thing that a client does.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Commands that are sent before the first answer is read.
    Commands(Vec<Command>),
    /// An execution with a cursor, of which so many times rows are asked for.
    Cursor {
        execution: Execution,
        fetches: u32,
    },
    /// The handle of a statement is given up.
    Close(String),
    Enter(String),
    Reset,
    /// Logs in anew over the same connection.
    ChangeUser,
    /// The writer is not reached for this long.
    Outage(Duration),
    Pause(Duration),
    /// The proxy gets another configuration.
    Reload,
    /// The proxy begins to drain.
    Drain,
    /// What this client does is to be killed, or the client itself.
    Kill {
        client: u64,
        only_query: bool,
    },
    /// Sends this many bytes of a query, at most all of them, and leaves.
    Vanish {
        text: String,
        len: usize,
    },
}

/// The next step of client `me` in a session with this number, who has inserted `written` rows and
/// whose session is like `twin`.
pub(super) fn next(world: &World, (me, session): (u64, u32), written: &mut u64, twin: &Session) -> Step {
    let step = any(world, (me, session), written, twin);
    if world.scopes.shards.is_some() { without_gaps(step, twin) } else { step }
}

/// The same with what seeds with shards leave out.
fn any(world: &World, (me, session): (u64, u32), written: &mut u64, twin: &Session) -> Step {
    let dice = &world.dice;
    if world.happens(world.faults.kills) {
        return Step::Kill { client: dice.below(world.clients), only_query: !dice.one_in(3) };
    }
    if world.happens(world.faults.vanishing) {
        let is_sharded = world.scopes.shards.is_some() && dice.one_in(2);
        let text = if is_sharded { text_of_both(me, written) } else { text(world, me, written, twin) };
        let len = if dice.one_in(2) { usize::MAX } else { dice.place(30) };
        return Step::Vanish { text, len };
    }
    if world.scopes.has_drain && !world.is_draining.get() && dice.one_in(60) {
        return Step::Drain;
    }
    if world.happens(world.reloads) {
        return Step::Reload;
    }
    let scopes = &world.scopes;
    // Only reads of sessions in the same state go out as a batch.
    if scopes.is_crowded && !dice.one_in(12) {
        return Step::Commands(vec![plain_read(world, me)]);
    }
    if scopes.has_pipelines && dice.one_in(3) {
        return Step::Commands(pipeline(world, me, written, twin));
    }
    if scopes.shards.is_some() && dice.one_in(2) {
        return Step::Commands(sharded_commands(world, me, written, twin));
    }
    if scopes.has_pins && dice.one_in(3) {
        return pinning(world, (me, session), twin);
    }
    if scopes.has_pipelines && dice.one_in(20) {
        let fetches = u32::from(dice.one_in(2)) * 4 + u32::from(dice.one_in(2));
        return Step::Cursor { execution: of_rows(world, me), fetches };
    }
    match dice.below(20) {
        0 => Step::Commands(vec![Command::Ping]),
        1 => Step::Pause(dice.pause(THINKING_MS)),
        2 => Step::Enter(world.some_schema()),
        3 if dice.one_in(2) => Step::Reset,
        4..=6 => Step::Commands(vec![Command::Execute(execution(world, me, written))]),
        7 => Step::Close(execution(world, me, written).text),
        // Who sends on while no peer reads waits for ever where connections hold little.
        8 if may_send_on(world, twin) => {
            let texts = (0..2 + dice.below(2)).map(|_| Command::Text(text(world, me, written, twin)));
            Step::Commands(texts.collect())
        }
        _ => Step::Commands(vec![Command::Text(text(world, me, written, twin))]),
    }
}

/// A step that leaves something at a connection, or asks for it.
fn pinning(world: &World, (me, session): (u64, u32), twin: &Session) -> Step {
    let dice = &world.dice;
    let faults = world.faults;
    match dice.below(24) {
        0 => Step::ChangeUser,
        1 if faults.unreachable > 0 => Step::Outage(dice.pause(OUTAGE_MS)),
        // What is asked of the last statement is not known behind one that was lost.
        2..=5 if twin.last().has_counts() && !faults.loses_connections() && faults.kills == 0 => {
            let of_rows =
                if twin.last().row_count < 0 { "SELECT FOUND_ROWS()" } else { "SELECT ROW_COUNT()" };
            let text = if dice.one_in(2) { of_rows } else { "SELECT ROW_COUNT()" };
            Step::Commands(vec![Command::Text(text.to_owned())])
        }
        _ => Step::Commands(vec![Command::Text(pinning_text(world, (me, session), twin))]),
    }
}

/// A read that depends on nothing in its session.
fn plain_read(world: &World, me: u64) -> Command {
    let tag = world.dice.below(1_000_000);
    match world.dice.below(5) {
        0 => Command::Text(format!("SELECT 'c{me}-{tag}'")),
        // One with warnings is sent once more, alone.
        1 => {
            let letter = if world.dice.one_in(20) { "x" } else { "" };
            Command::Text(format!("SELECT CAST('{letter}{tag}' AS SIGNED)"))
        }
        4 => Command::Execute(rows_of(world.whose_rows(me))),
        _ => Command::Text(format!("SELECT id FROM t WHERE owner = {}", world.whose_rows(me))),
    }
}

/// Whether a client may send commands before it has read the answers to those before.
pub(super) fn may_send_on(world: &World, twin: &Session) -> bool {
    world.capacity >= 1024 && !twin.last().has_conditions()
}

/// Commands of several kinds.
fn pipeline(world: &World, me: u64, written: &mut u64, twin: &Session) -> Vec<Command> {
    let dice = &world.dice;
    let len = if may_send_on(world, twin) { 1 + dice.below(5) } else { 1 };
    let mut all = Vec::new();
    for _ in 0..len {
        let execution = execution(world, me, written);
        match dice.below(10) {
            0 => all.push(Command::Ping),
            1 => all.push(Command::ResetStatement(execution.text)),
            2 if len > 1 && world.scopes.dialect == Dialect::MariaDb => {
                all.push(Command::Prepare(execution.text.clone()));
                all.push(Command::ExecuteLast(execution));
            }
            3..=5 => all.push(Command::Text(text(world, me, written, twin))),
            6 if !execution.text.starts_with("INSERT") => {
                all.push(Command::Execute(execution.clone()));
                all.push(Command::Execute(execution));
            }
            _ => all.push(Command::Execute(execution)),
        }
    }
    all
}
