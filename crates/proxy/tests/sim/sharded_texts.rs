//! Statements over the sharded table that clients say and prepare.

use wire::StatusFlags;

use super::author::may_send_on;
use super::command::Command;
use super::execution::{Execution, Param};
use super::model::Session;
use super::sharding::sharded_id;
use super::world::World;

/// A statement or several, some of them a whole transaction, of client `me`, who has inserted
/// `written` rows and whose session is like `twin`.
pub(super) fn sharded_commands(world: &World, me: u64, written: &mut u64, twin: &Session) -> Vec<Command> {
    let dice = &world.dice;
    let text = |text: &str| Command::Text(text.to_owned());
    let is_open = twin.status().contains(StatusFlags::IN_TRANSACTION);
    if may_send_on(world, twin) && dice.one_in(8) {
        let ends = if dice.one_in(4) { "ROLLBACK" } else { "COMMIT" };
        let mut all = vec![text("BEGIN")];
        all.extend((0..=dice.below(3)).map(|_| sharded_command(world, me, written)));
        all.push(text(ends));
        return all;
    }
    match dice.below(12) {
        0 | 1 if is_open => vec![text("COMMIT")],
        2 if is_open => vec![text("ROLLBACK")],
        0..=2 => vec![text("BEGIN")],
        3 if is_open => {
            let savepoint = dice.pick(&["one", "two"]);
            let verb = dice.pick(&["SAVEPOINT", "ROLLBACK TO SAVEPOINT", "RELEASE SAVEPOINT"]);
            vec![Command::Text(format!("{verb} {savepoint}"))]
        }
        4 if may_send_on(world, twin) => {
            (0..2 + dice.below(2)).map(|_| sharded_command(world, me, written)).collect()
        }
        _ => vec![sharded_command(world, me, written)],
    }
}

/// One statement.
fn sharded_command(world: &World, me: u64, written: &mut u64) -> Command {
    let dice = &world.dice;
    match dice.below(9) {
        0..=2 => insert(world, me, written),
        3 => insert_both(world, me, written),
        4 => one_row(world, me, *written),
        _ => several_rows(world, me),
    }
}

fn insert(world: &World, me: u64, written: &mut u64) -> Command {
    let id = new_id(me, written);
    if world.dice.one_in(2) {
        return Command::Text(format!("INSERT INTO s1.o (id, owner) VALUES ({id}, {me})"));
    }
    Command::Execute(execution("INSERT INTO s1.o (id, owner) VALUES (?, ?)", &[id, me]))
}

/// A statement as text that inserts two rows.
pub(super) fn text_of_both(me: u64, written: &mut u64) -> String {
    let (id, other) = (new_id(me, written), new_id(me, written));
    format!("INSERT INTO s1.o (id, owner) VALUES ({id}, {me}), ({other}, {me})")
}

/// Two rows, which are at both shards. The second one may be there already.
fn insert_both(world: &World, me: u64, written: &mut u64) -> Command {
    let dice = &world.dice;
    let (id, own) = (new_id(me, written), world.acknowledged.sharded_of(me));
    let other = if dice.one_in(3) && !own.is_empty() { *dice.pick(&own) } else { new_id(me, written) };
    if dice.one_in(2) {
        return Command::Text(format!("INSERT INTO s1.o (id, owner) VALUES ({id}, {me}), ({other}, {me})"));
    }
    Command::Execute(execution("INSERT INTO s1.o (id, owner) VALUES (?, ?), (?, ?)", &[id, me, other, me]))
}

/// A row that is there or not.
fn one_row(world: &World, me: u64, written: u64) -> Command {
    let dice = &world.dice;
    let id = sharded_id(whose_rows(world, me), 1 + dice.below(written + 1));
    let columns = dice.pick(&["id", "COUNT(*)"]);
    if dice.one_in(2) {
        return Command::Text(format!("SELECT {columns} FROM s1.o WHERE id = {id}"));
    }
    Command::Execute(execution(&format!("SELECT {columns} FROM s1.o WHERE id = ?"), &[id]))
}

/// Rows of both shards.
fn several_rows(world: &World, me: u64) -> Command {
    let dice = &world.dice;
    let of = whose_rows(world, me);
    if dice.one_in(16) {
        return Command::Text(format!("SELECT COUNT(*) FROM s1.o WHERE owner = {of}"));
    }
    let (columns, groups) = if dice.one_in(4) { ("id, COUNT(*)", " GROUP BY id") } else { ("id", "") };
    let order = *dice.pick(&["", "", " ORDER BY id", " ORDER BY id DESC"]);
    let limit =
        if order.is_empty() || dice.one_in(2) { String::new() } else { format!(" LIMIT {}", dice.below(5)) };
    let text = |of: &str| format!("SELECT {columns} FROM s1.o WHERE owner = {of}{groups}{order}{limit}");
    if dice.one_in(2) {
        return Command::Text(text(&of.to_string()));
    }
    Command::Execute(execution(&text("?"), &[of]))
}

/// The client whose rows are read: most often this one.
fn whose_rows(world: &World, me: u64) -> u64 {
    if world.dice.one_in(4) { world.dice.below(world.clients) } else { me }
}

fn new_id(me: u64, written: &mut u64) -> u64 {
    *written += 1;
    sharded_id(me, *written)
}

fn execution(text: &str, values: &[u64]) -> Execution {
    let params = values.iter().map(|value| Param::Integer(Some(*value))).collect();
    Execution { text: text.to_owned(), params }
}
