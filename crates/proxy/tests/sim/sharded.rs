//! Statements over the sharded table, as clients write them and as shards get them.

use std::collections::BTreeSet;

use super::model::{Answer, Database, Session, owner};
use super::sharding::{is_sharded, shard_of};

/// What the proxy says of an aggregate over several shards.
const REFUSAL: &str = "This version of Pointsman doesn't yet support 'COUNT(*)' over sharded tables: \
                       an aggregate over rows of several shards is not supported";

/// The column of an aggregate.
const COUNT: &str = "COUNT(*)";

/// A statement over the table `s1.o`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sharded {
    /// Rows with these ids.
    Insert(Vec<u64>),
    Read(Read),
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    columns: Vec<String>,
    pub(super) of: Of,
    /// The rows are in order, the largest first or not.
    order: Option<bool>,
    limit: Option<usize>,
}

/// The rows that a query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The one with this id.
    Id(u64),
    /// Those of this owner, at all shards.
    Owner(u64),
}

/// What this text says, if it is such a statement.
pub(super) fn parse(text: &str) -> Option<Sharded> {
    // The proxy writes names in quotes where it writes them anew.
    let text = text.replace("`s1`.`o` AS `o`", "s1.o").replace("`s1`.`o`", "s1.o");
    if let Some(rows) = text.strip_prefix("INSERT INTO s1.o (id, owner) VALUES ") {
        let ids = rows.split("), ").map(|row| row.trim_start_matches('(').split(", ").next()?.parse().ok());
        return ids.collect::<Option<_>>().map(Sharded::Insert);
    }
    let (columns, rest) = text.strip_prefix("SELECT ")?.split_once(" FROM s1.o WHERE ")?;
    let (rest, limit) = split(rest, " LIMIT ");
    let (rest, order) = split(rest, " ORDER BY id");
    let (condition, _) = split(rest, " GROUP BY id");
    let (column, value) = condition.split_once(" = ")?;
    let value = value.parse().ok()?;
    let of = if column == "id" { Of::Id(value) } else { Of::Owner(value) };
    let columns = columns.split(", ").map(named).collect();
    let limit = match limit {
        Some(limit) => Some(limit.parse().ok()?),
        None => None,
    };
    Some(Sharded::Read(Read { columns, of, order: order.map(|words| words == " DESC"), limit }))
}

/// What stands before and behind these words, if they are there.
fn split<'a>(text: &'a str, words: &str) -> (&'a str, Option<&'a str>) {
    text.split_once(words).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

/// The name of a column of a reply.
fn named(item: &str) -> String {
    let name = item.rsplit_once(" AS ").map_or(item, |(_, name)| name);
    name.trim_matches('`').to_owned()
}

impl Sharded {
    /// Names of the columns of its rows.
    pub(super) fn columns(&self) -> Vec<String> {
        match self {
            Self::Insert(_) => Vec::new(),
            Self::Read(read) => read.columns.clone(),
        }
    }

    /// Whether it concerns rows of this shard only.
    pub(super) fn is_of(&self, shard: usize) -> bool {
        match self {
            Self::Insert(ids) => ids.iter().all(|id| is_sharded(*id) && shard_of(*id) == shard),
            // One that may not know where the row is asks both.
            Self::Read(_) => !self.is_refused(),
        }
    }

    /// Whether several shards would have to count together.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Self::Read(Read { columns, of: Of::Owner(_), .. }) if columns == &[COUNT])
    }
}

impl Read {
    /// Whether the answer has its rows in any order.
    pub(super) const fn is_unordered(&self) -> bool {
        self.order.is_none()
    }

    /// Whether it is about this row.
    pub(super) const fn has(&self, id: u64) -> bool {
        is_sharded(id)
            && match self.of {
                Of::Id(one) => one == id,
                Of::Owner(of) => of == owner(id),
            }
    }

    /// Whose rows it reads.
    pub(super) const fn owner(&self) -> u64 {
        match self.of {
            Of::Id(id) => owner(id),
            Of::Owner(of) => of,
        }
    }

    /// The answer where these rows are there.
    pub(super) fn answer(&self, ids: &BTreeSet<u64>) -> Answer {
        let mut ids: Vec<u64> = ids.iter().copied().filter(|id| self.has(*id)).collect();
        if self.order == Some(true) {
            ids.reverse();
        }
        ids.truncate(self.limit.unwrap_or(usize::MAX));
        let rows = if self.columns == [COUNT] {
            vec![vec![Some(ids.len().to_string())]]
        } else {
            ids.into_iter().map(|id| self.row(id)).collect()
        };
        Answer::Rows { columns: self.columns.clone(), rows }
    }

    /// The row of an answer by which a row is told to be there.
    pub(super) fn row(&self, id: u64) -> Vec<Option<String>> {
        let cell = |column: &String| if column == COUNT { "1".to_owned() } else { id.to_string() };
        self.columns.iter().map(|column| Some(cell(column))).collect()
    }
}

impl Session {
    /// Carries out a statement over the sharded table, or over the part of it that a shard has.
    pub(super) fn sharded(&mut self, database: &mut Database, statement: &Sharded) -> Answer {
        if statement.is_refused() {
            return Answer::Error { code: 1235, message: REFUSAL.to_owned() };
        }
        self.open_transaction();
        match statement {
            Sharded::Read(read) => read.answer(&self.visible(database)),
            Sharded::Insert(ids) => {
                let there = self.visible(database);
                if let Some(id) = ids.iter().find(|id| there.contains(id)) {
                    let message = format!("Duplicate entry '{id}' for key 'PRIMARY'");
                    return Answer::Error { code: 1062, message };
                }
                for id in ids {
                    *database.inserted.entry(*id).or_default() += 1;
                }
                self.pending.extend(ids);
                if self.commits_at_once() {
                    self.commit(database);
                }
                Answer::Ok { affected: ids.len() as u64, last_id: 0 }
            }
        }
    }

    fn visible(&self, database: &Database) -> BTreeSet<u64> {
        database.committed.iter().chain(&self.pending).copied().collect()
    }
}
