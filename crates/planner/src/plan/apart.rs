//! Whether each shard can execute a query for itself: no group, duplicate or window has rows of
//! several shards, and no value is one shard's.
//!
//! The keys of a sharded table that the block sees are among the columns that make groups.

mod derived;

use sql::Shape;
use sql::parse::{Kind, NodeId, Step};
use sql::shape::{Effects, function_effects};

use super::merging::Query;
use super::origin::{self, Origin};
use super::refusal::Cause;
use super::{Refusal, Request, bind, columns};

/// Words that leave out duplicates; the last one is MariaDB's.
const DISTINCT: [&[u8]; 3] = [b"DISTINCT", b"DISTINCTROW", b"UNIQUE"];

/// Functions whose value is one server's, or one session's there.
const OF_A_SERVER: [&str; 12] = [
    "CONNECTION_ID",
    "DATABASE",
    "FOUND_ROWS",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "NAME_CONST",
    "RAND",
    "ROWNUM",
    "ROW_COUNT",
    "SCHEMA",
    "SLEEP",
    "UUID_SHORT",
];

/// Whether a function is built in, changes nothing, and is not one of a server.
fn is_known(name: &[u8]) -> bool {
    const PLAIN: Effects = Effects::VOLATILE.union(Effects::READS_SESSION);
    let is_of_server = OF_A_SERVER.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
    let name = std::str::from_utf8(name).map(str::to_ascii_lowercase);
    let effects = name.ok().and_then(|name| function_effects(&name, false));
    !is_of_server && effects.is_some_and(|effects| PLAIN.contains(effects))
}

/// The word DISTINCT of a query block, if it is there.
fn distinct(request: &Request<'_>, block: NodeId) -> Option<NodeId> {
    let tree = request.tree;
    tree.children(block).find(|id| {
        let word = tree.span(*id).of(request.sql);
        tree.kind(*id) == Kind::Option && DISTINCT.iter().any(|name| word.eq_ignore_ascii_case(name))
    })
}

impl Query<'_, '_> {
    /// Every table has to be on the servers of the shards, and each row needs a row of a sharded
    /// table that the block sees: else each shard would answer for all.
    pub(super) fn check_tables(&self) -> Result<(), Refusal> {
        if !derived::has_shards(self.request, self.uses, self.block) {
            return Err(Cause::NotColocated.at(self.request.tree.span(self.block)));
        }
        match self.uses.all().iter().find(|table| table.table.is_none()) {
            Some(table) => Err(Cause::ServersDiffer.at(table.reference.name)),
            None => Ok(()),
        }
    }

    /// Refuses clauses that concern all rows together, and subqueries that do: those stand in no
    /// relation to the shard that executes them.
    pub(super) fn check_clauses(&self) -> Result<(), Refusal> {
        let tree = self.request.tree;
        let own = tree.children(self.whole).chain(tree.children(self.block));
        for id in own {
            let is_refused = match tree.kind(id) {
                Kind::Into | Kind::Procedure | Kind::Qualify | Kind::Opaque => true,
                // FETCH FIRST ROW has no number.
                Kind::Limit { ties } => ties || tree.child(id, Kind::Count).is_none(),
                // MariaDB sorts groups, if the direction is written.
                Kind::GroupBy { rollup } => {
                    rollup || tree.child(id, Kind::Ordering { descending: true }).is_some()
                }
                Kind::Option => {
                    tree.span(id).of(self.request.sql).eq_ignore_ascii_case(b"SQL_CALC_FOUND_ROWS")
                }
                _ => false,
            };
            if is_refused {
                return Err(Cause::Clause.at(tree.span(id)));
            }
        }
        Ok(())
    }

    /// Refuses what has another value at each shard, or leaves something behind: only plain reads
    /// of functions that all servers have.
    pub(super) fn check_functions(&self) -> Result<(), Refusal> {
        let (tree, sql) = (self.request.tree, self.request.sql);
        for step in tree.walk(self.whole) {
            let Step::Enter(id) = step else { continue };
            let bytes = tree.span(id).of(sql);
            let is_refused = match tree.kind(id) {
                Kind::Locking => return Err(Cause::Locks.at(tree.span(id))),
                Kind::Match | Kind::UserVariable | Kind::Sequence => true,
                Kind::Hint => bytes.to_ascii_lowercase().windows(16).any(|part| part == b"sql_select_limit"),
                Kind::Function => !is_known(bytes),
                _ => false,
            };
            if is_refused {
                return Err(Cause::Function.at(tree.span(id)));
            }
        }
        // What the tree does not say.
        let is_plain = Shape::of(sql, self.request.modes).is_plain_read();
        if is_plain { Ok(()) } else { Err(Cause::Function.at(tree.span(self.whole))) }
    }

    /// Refuses groups, duplicates and windows that may have rows of several shards.
    pub(super) fn check_groups(&self) -> Result<(), Refusal> {
        let tree = self.request.tree;
        let groups = tree.child(self.block, Kind::GroupBy { rollup: false });
        if let Some(id) = groups {
            let among = self.columns_of(id);
            if !bind::has_key(self.request, self.uses, self.block, &among) {
                return Err(Cause::Group.at(tree.span(id)));
            }
        }
        if let Some(id) = self.distinct() {
            let among = tree.child(self.block, Kind::Items).map_or_else(Vec::new, |id| self.columns_of(id));
            if groups.is_some() || !bind::has_key(self.request, self.uses, self.block, &among) {
                return Err(Cause::Distinct.at(tree.span(id)));
            }
        }
        let having = tree.child(self.block, Kind::Having).filter(|_| groups.is_none());
        having.map_or(Ok(()), |id| Err(Cause::Aggregate.at(tree.span(id))))?;
        self.check_calls(groups.is_some())
    }

    /// The word DISTINCT of the block, if it is there.
    fn distinct(&self) -> Option<NodeId> {
        distinct(self.request, self.block)
    }

    pub(super) fn is_distinct(&self) -> bool {
        self.distinct().is_some()
    }

    /// Refuses aggregates without groups, and windows over rows of several shards.
    fn check_calls(&self, has_groups: bool) -> Result<(), Refusal> {
        let tree = self.request.tree;
        for step in tree.walk(self.whole) {
            let Step::Enter(id) = step else { continue };
            let is_own = columns::block_of(tree, id) == Some(self.block);
            match tree.kind(id) {
                Kind::WindowCall if is_own => {
                    let partition = tree
                        .child(id, Kind::Over)
                        .and_then(|over| tree.child(over, Kind::PartitionBy))
                        .map_or_else(Vec::new, |id| self.columns_of(id));
                    if !bind::has_key(self.request, self.uses, self.block, &partition) {
                        return Err(Cause::Window.at(tree.span(id)));
                    }
                }
                Kind::Aggregate if is_own && !has_groups && !self.is_windowed(id) => {
                    return Err(Cause::Aggregate.at(tree.span(id)));
                }
                // Of columns of a block around, it is that block's.
                Kind::Aggregate if !is_own && !self.is_of_its_block(id) => {
                    return Err(Cause::Aggregate.at(tree.span(id)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether all columns of an aggregate are of tables of the block that it stands in.
    fn is_of_its_block(&self, id: NodeId) -> bool {
        let tree = self.request.tree;
        let block = columns::block_of(tree, id);
        tree.walk(id).all(|step| match step {
            _ if !self.uses.budget.take(1) => false,
            Step::Enter(inner) if tree.kind(inner) == Kind::Column => {
                let column = columns::of(self.request, self.uses, inner);
                let table = column.and_then(|column| self.uses.get(column.table));
                table.is_some_and(|table| Some(table.reference.block) == block)
            }
            _ => true,
        })
    }

    fn is_windowed(&self, id: NodeId) -> bool {
        self.request.tree.parent(id).is_some_and(|around| self.request.tree.kind(around) == Kind::WindowCall)
    }

    /// The plain columns among the children of a clause, or of their items.
    pub(super) fn columns_of(&self, clause: NodeId) -> Vec<Origin> {
        origin::all(self.request, self.uses, clause)
    }
}
