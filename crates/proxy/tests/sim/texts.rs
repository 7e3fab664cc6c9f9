//! Statements that clients say as text.

use wire::StatusFlags;

use super::model::Session;
use super::world::World;

/// A statement of client `me`, who has inserted `written` rows and whose session is like `twin`.
pub(super) fn text(world: &World, me: u64, written: &mut u64, twin: &Session) -> String {
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
