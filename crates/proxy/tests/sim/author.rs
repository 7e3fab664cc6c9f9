//! What a client does next.

use std::time::Duration;

use wire::StatusFlags;

use super::model::Session;
use super::world::World;

/// Longest time that a client thinks, in milliseconds.
const THINKING_MS: u64 = 40;

/// One thing that a client does.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Statements that are sent before the first answer is read.
    Texts(Vec<String>),
    /// A statement by its handle.
    Prepared(String),
    /// Its handle is given up.
    Close(String),
    Ping,
    Enter(String),
    Reset,
    Pause(Duration),
    /// The proxy gets another configuration.
    Reload,
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

/// The next step of client `me`, who has inserted `written` rows and whose session is like `twin`.
pub(super) fn next(world: &World, me: u64, written: &mut u64, twin: &Session) -> Step {
    let dice = &world.dice;
    if world.happens(world.faults.kills) {
        return Step::Kill { client: dice.below(world.clients), only_query: !dice.one_in(3) };
    }
    if world.happens(world.faults.vanishing) {
        let text = text(world, me, written, twin);
        let len = if dice.one_in(2) { usize::MAX } else { dice.place(30) };
        return Step::Vanish { text, len };
    }
    if world.happens(world.reloads) {
        return Step::Reload;
    }
    match dice.below(20) {
        0 => Step::Ping,
        1 => Step::Pause(dice.pause(THINKING_MS)),
        2 => Step::Enter(format!("s{}", dice.below(3))),
        3 if dice.one_in(2) => Step::Reset,
        4..=6 => Step::Prepared(prepared(world, me)),
        7 => Step::Close(prepared(world, me)),
        // Who sends on while no peer reads waits for ever where connections hold little.
        8 if world.capacity >= 1024 && !twin.has_failed() => {
            Step::Texts((0..2 + dice.below(2)).map(|_| text(world, me, written, twin)).collect())
        }
        _ => Step::Texts(vec![text(world, me, written, twin)]),
    }
}

/// A few statements that clients prepare, some of them alike.
fn prepared(world: &World, me: u64) -> String {
    match world.dice.below(4) {
        0 => "SELECT 'all', @@time_zone".to_owned(),
        1 => "SELECT 'all', DATABASE()".to_owned(),
        2 => format!("SELECT 'c{me}', @@character_set_client"),
        _ => format!("SELECT id FROM t WHERE owner = {me}"),
    }
}

fn text(world: &World, me: u64, written: &mut u64, twin: &Session) -> String {
    let dice = &world.dice;
    if twin.status().contains(StatusFlags::IN_TRANSACTION) && dice.one_in(3) {
        return dice.pick(&["COMMIT", "COMMIT", "ROLLBACK"]).to_string();
    }
    // Behind other statements servers differ in what they still say, and a server that is lost says
    // nothing any more. Of a statement that was killed the model knows no error.
    if twin.has_failed() && world.faults.lost + world.faults.kills == 0 && dice.one_in(2) {
        return "SHOW WARNINGS".to_owned();
    }
    let tag = dice.below(1_000_000);
    match dice.below(24) {
        0 => format!("SET time_zone = '+0{}:00'", dice.below(4)),
        1 => format!("SET NAMES {}", dice.pick(&["utf8mb4", "latin1", "utf8mb3"])),
        2 => format!("SET SESSION sql_safe_updates = {}", dice.below(2)),
        3 => format!("SET @u = {tag}"),
        4 => format!("SELECT @u, 'c{me}-{tag}'"),
        5 => format!("USE s{}", dice.below(3)),
        6 => "BEGIN".to_owned(),
        7 => format!("SET autocommit = {}", u8::from(!dice.one_in(3))),
        8 => "SELECT nothing".to_owned(),
        // With a server, what it generated for one of several statements at once may be lost.
        9 if world.faults.lost == 0 => "SELECT LAST_INSERT_ID()".to_owned(),
        10 | 11 => format!("SELECT id FROM t WHERE owner = {me}"),
        12..=14 => {
            *written += 1;
            format!("INSERT INTO t VALUES ({})", me * 1_000_000 + *written)
        }
        15 => format!("SELECT DATABASE(), 'c{me}-{tag}'"),
        16 => format!("SELECT @@character_set_client, @@character_set_results, 'c{me}-{tag}'"),
        17 => format!("SELECT @@sql_safe_updates, @@autocommit, 'c{me}-{tag}'"),
        18 => format!("SELECT @@time_zone, 'c{me}-{tag}'"),
        _ => format!("SELECT 'c{me}-{tag}'"),
    }
}
