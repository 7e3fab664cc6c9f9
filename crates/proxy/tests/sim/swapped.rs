//! Answers of another session, which every client has to notice.

use super::encode::HIDDEN_KEY;
use super::model::Answer;
use super::sharding::number_of;
use super::statement::Statement;
use super::world::World;

impl World {
    /// Whether a server gives another session's answer to a statement. A statement about what the
    /// server does not have fails the seed. What the proxy asks of tables is no client's answer.
    pub(super) fn swaps(&self, server: &str, statement: &Statement) -> bool {
        let is_here = match (statement, number_of(server)) {
            (Statement::Sharded(sharded), Some(shard)) => sharded.is_of(shard),
            (Statement::Sharded(_), None) => false,
            (Statement::Rows(_), shard) => shard.is_none(),
            (Statement::Insert(_), _) => server.starts_with("writer"),
            _ => true,
        };
        if !is_here {
            self.fail(format!("{server} gets what it does not have: {statement:?}"));
        }
        let faults = self.faults;
        let is_sharded = matches!(statement, Statement::Sharded(_));
        *statement != Statement::Nothing
            && (self.happens(faults.swapped) || is_sharded && self.happens(faults.swapped_at_shards))
    }
}

/// Another session's answer with these columns. Keys of merged rows have to be numbers.
pub(super) fn swapped(columns: Vec<String>) -> Answer {
    let cell = |column: &String| if column.starts_with(HIDDEN_KEY) { "1" } else { "somebody else's" };
    let row = columns.iter().map(|column| Some(cell(column).to_owned())).collect();
    Answer::Rows { columns, rows: vec![row] }
}
