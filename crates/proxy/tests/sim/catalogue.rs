//! Statements that clients prepare, many of them alike.

use super::execution::{Execution, Param};
use super::world::World;

/// A statement, and values for its parameters.
pub(super) fn execution(world: &World, me: u64, written: &mut u64) -> Execution {
    let dice = &world.dice;
    let tag = dice.below(1_000_000);
    let word = || Param::Text((!dice.one_in(5)).then(|| format!("c{me}-{tag}")));
    let (text, params) = match dice.below(9) {
        0 => ("SELECT 'all', @@time_zone".to_owned(), Vec::new()),
        1 => ("SELECT 'all', DATABASE()".to_owned(), Vec::new()),
        2 => (format!("SELECT 'c{me}', @@character_set_client"), Vec::new()),
        3 => (format!("SELECT id FROM t WHERE owner = {}", world.whose_rows(me)), Vec::new()),
        4 => return rows_of(world.whose_rows(me)),
        5 => {
            let number = Param::Integer((!dice.one_in(5)).then_some(tag));
            ("SELECT ?, ?, 'all'".to_owned(), vec![number, word()])
        }
        6 => {
            *written += 1;
            let id = me * 1_000_000 + *written;
            ("INSERT INTO t VALUES (?)".to_owned(), vec![Param::Integer(Some(id))])
        }
        // Types differ from one execution to the next.
        7 if dice.one_in(2) => ("SELECT ?, @@autocommit".to_owned(), vec![Param::Integer(Some(tag))]),
        _ => ("SELECT ?, @@autocommit".to_owned(), vec![word()]),
    };
    Execution { text, params }
}

/// The rows of a client.
pub(super) fn rows_of(of: u64) -> Execution {
    let text = "SELECT id FROM t WHERE owner = ?".to_owned();
    Execution { text, params: vec![Param::Integer(Some(of))] }
}

/// A statement with rows, for a cursor.
pub(super) fn of_rows(world: &World, me: u64) -> Execution {
    if world.dice.one_in(3) {
        return Execution::plain("SELECT 'all', @@time_zone");
    }
    Execution::plain(format!("SELECT id FROM t WHERE owner = {me}"))
}
