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
    if twin.last().has_conditions()
        && !world.faults.loses_connections()
        && world.faults.kills == 0
        && dice.one_in(2)
    {
        return "SHOW WARNINGS".to_owned();
    }
    let tag = dice.below(1_000_000);
    match dice.below(24) {
        0 => format!("SET time_zone = '+0{}:00'", dice.below(4)),
        1 => format!("SET NAMES {}", dice.pick(&["utf8mb4", "latin1", "utf8mb3"])),
        2 => format!("SET SESSION sql_safe_updates = {}", dice.below(2)),
        3 => format!("SET @u = {tag}"),
        4 => format!("SELECT @u, 'c{me}-{tag}'"),
        5 => format!("USE {}", world.some_schema()),
        6 => "BEGIN".to_owned(),
        7 => format!("SET autocommit = {}", u8::from(!dice.one_in(3))),
        8 => "SELECT nothing".to_owned(),
        // With a server, what it generated for one of several statements at once may be lost.
        9 if !world.faults.loses_connections() => "SELECT LAST_INSERT_ID()".to_owned(),
        10 | 11 => format!("SELECT id FROM t WHERE owner = {}", world.whose_rows(me)),
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

/// A statement that leaves something at its connection, or reads that.
pub(super) fn pinning_text(world: &World, (me, session): (u64, u32), twin: &Session) -> String {
    let dice = &world.dice;
    let tag = dice.below(1_000_000);
    if twin.pins.has_locked_tables() && dice.one_in(3) {
        return "UNLOCK TABLES".to_owned();
    }
    if twin.pins.has_temporary() && dice.one_in(3) {
        let texts = ["SELECT id FROM tmp", "SELECT id FROM tmp", "DROP TEMPORARY TABLE tmp"];
        return match dice.place(4) {
            3 => format!("INSERT INTO tmp VALUES ({tag})"),
            at => texts[at].to_owned(),
        };
    }
    let lock = format!("c{me}-{session}-{}", dice.below(2));
    let savepoint = dice.pick(&["one", "two"]);
    match dice.below(20) {
        0 => "CREATE TEMPORARY TABLE tmp (id BIGINT) ENGINE = MEMORY".to_owned(),
        1 => "SELECT id FROM tmp".to_owned(),
        2 | 3 => format!("SELECT GET_LOCK('{lock}', 0)"),
        4 | 5 => format!("SELECT RELEASE_LOCK('{lock}')"),
        6 => "SELECT RELEASE_ALL_LOCKS()".to_owned(),
        7 => "LOCK TABLES t READ".to_owned(),
        8 => "UNLOCK TABLES".to_owned(),
        9 | 10 => format!("SAVEPOINT {savepoint}"),
        11 | 12 => format!("ROLLBACK TO SAVEPOINT {savepoint}"),
        13 => format!("RELEASE SAVEPOINT {savepoint}"),
        14 => "SET autocommit = 0".to_owned(),
        15 => "SET @v = CONCAT(@u, 'x')".to_owned(),
        16 => "SELECT @v, @u".to_owned(),
        17 => format!("SELECT @v := '{tag}'"),
        18 => "BEGIN".to_owned(),
        _ => format!("SELECT CAST('x{tag}' AS SIGNED)"),
    }
}
