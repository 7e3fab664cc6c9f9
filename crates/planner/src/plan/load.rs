//! `LOAD DATA LOCAL`: each line of the client's file goes to the shard of its key.
//!
//! Servers get the client's clauses and whole lines, so that they read the same fields. Lines
//! without rows (`IGNORE n LINES`) go to all of them.

mod clauses;

use shard::{ColumnType, Key, Node, Placement, Reason, Shards, Table, Value};
use sql::parse::{Kind, NodeId};

use crate::load::{Field, Format, Line, Splitter};

use super::define::Tokens;
use super::outcome::{Branch, Counts, Ids, Plan};
use super::refusal::Cause;
use super::rewrite::Rewriter;
use super::steady::Rows;
use super::uses::{Use, Uses};
use super::{Refusal, Request};

use clauses::Clauses;

/// A file that is loaded into a table of several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The statement for each shard, in the order of the shards.
    pub branches: Vec<Branch>,
    /// The character set of the file, if the statement names it.
    pub charset: Option<String>,
    /// What separates lines and fields.
    pub format: Format,
    /// How the numbers in the OK packets become one.
    pub counts: Counts,
    /// The fields of a line that servers read.
    columns: usize,
    /// Positions of the fields that decide.
    wanted: Vec<usize>,
    /// Type of each key column; its field is the wanted one with the same number.
    keys: Vec<ColumnType>,
    /// The shard of a row; none if all nodes get all rows.
    placement: Option<Placement>,
    ids: Option<IdsOfFile>,
}

/// Ids that rows bring along.
#[derive(Clone, Debug, PartialEq, Eq)]
struct IdsOfFile {
    /// Which of the wanted fields has them.
    at: usize,
    /// 0 is an id.
    keeps_zero: bool,
    /// Logical schema and name of the table, if it has a sequence.
    sequence: Option<[String; 2]>,
}

/// Which shards get a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// All of them.
    All,
    /// The one with this number.
    Shard(usize),
}

impl Load {
    /// What finds the lines of the file.
    pub fn splitter(&self) -> Splitter {
        Splitter::new(self.format.clone(), self.columns, self.wanted.clone())
    }

    /// Which shards get a line.
    ///
    /// # Errors
    /// If that is not certain, or a server would make an id for its row.
    pub fn receiver(&self, line: &Line<'_>) -> Result<Receiver, Cause> {
        if line.row.is_none() {
            return Ok(Receiver::All);
        }
        if let Some(ids) = &self.ids
            && ids.read(line).is_none()
        {
            return Err(Cause::Ids);
        }
        let Some(placement) = &self.placement else { return Ok(Receiver::All) };
        let pairs = self.keys.iter().zip(line.fields);
        let values: Option<Vec<_>> =
            pairs.map(|(column, field)| Some((*column, value(*column, field)?))).collect();
        let values = values.ok_or(Cause::Row(Reason::Inexact))?;
        let shard = placement.place(&values).map_err(Cause::Row)?;
        usize::try_from(shard).map(Receiver::Shard).map_err(|_| Cause::Row(Reason::NoCondition))
    }

    /// The id that a line brings for a sequence.
    pub fn id(&self, line: &Line<'_>) -> Option<u64> {
        let ids = self.ids.as_ref().filter(|ids| ids.sequence.is_some() && line.row.is_some())?;
        ids.read(line).and_then(|id| u64::try_from(id).ok())
    }

    /// What the sequence of the table is told, whose largest id in the file is this.
    pub fn ids(&self, largest: Option<u64>) -> Option<Ids> {
        let [schema, table] = self.ids.as_ref()?.sequence.clone()?;
        Some(Ids { schema, table, first: None, largest })
    }
}

impl IdsOfFile {
    /// The id of a line; none if the server would make one.
    fn read(&self, line: &Line<'_>) -> Option<i128> {
        const ANY: ColumnType = ColumnType::Integer { min: i64::MIN, max: u64::MAX };
        let value = value(ANY, line.fields.get(self.at)?)?;
        match Key::stored(ANY, value) {
            Ok(Key::Integer(id)) if id != 0 || self.keeps_zero => Some(id),
            _ => None,
        }
    }
}

/// The value of a key column; none if it is not certain what the server stores.
fn value(column: ColumnType, field: &Field) -> Option<Value<'_>> {
    match (field, column) {
        (Field::Missing, _) => None,
        (Field::Null, _) => Some(Value::Null),
        (Field::Text(text), ColumnType::Integer { .. }) => integer(text),
        // Other characters may be stored as other bytes than they have in the file.
        (Field::Text(text), _) => {
            (text.is_ascii() || column == ColumnType::Text).then_some(Value::Text(text))
        }
    }
}

/// The integer that a text is in its one canonical form, which is stored as it is.
fn integer(text: &[u8]) -> Option<Value<'static>> {
    let text = std::str::from_utf8(text).ok()?;
    let signed = text.parse().ok().map(Value::Signed);
    let value = signed.or_else(|| text.parse().ok().map(Value::Unsigned))?;
    let canonical = match value {
        Value::Signed(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        _ => return None,
    };
    (canonical == text).then_some(value)
}

/// Plans the statement, if it loads a file into a table of several nodes.
pub(super) fn plan(
    request: &Request<'_>,
    uses: &Uses<'_>,
    statement: NodeId,
) -> Result<Option<Plan>, Refusal> {
    let tokens = Tokens::of(request);
    let used = uses.get(0).filter(|_| tokens.word(0) == "LOAD" && tokens.word(1) == "DATA");
    let Some((used, table)) = used.and_then(|used| Some((used, used.table?))) else { return Ok(None) };
    let is_single = table.nodes().len() == 1;
    if let Some(query) = request.tree.child(statement, Kind::Query) {
        return Err(Cause::Gather.at(request.tree.span(query)));
    }
    let rows = if table.placement().is_some() { Rows::Apart } else { Rows::Everywhere };
    let clauses = match Clauses::of(request, &tokens, used.reference.id, rows) {
        // One server knows what its clauses mean.
        Err(_) if is_single => return Ok(None),
        clauses => clauses?,
    };
    let branches = branches(request, uses, table)?;
    if is_single && branches.iter().all(|branch| branch.text.is_none()) {
        return Ok(None);
    }
    let load = Target { request, used, table }.load(clauses, branches)?;
    Ok(Some(Plan::Load(Box::new(load))))
}

/// The statement for each node.
fn branches(request: &Request<'_>, uses: &Uses<'_>, table: &Table) -> Result<Vec<Branch>, Refusal> {
    let rewriter = Rewriter::new(request, uses);
    if table.placement().is_some() {
        let all: Shards = (0..u32::try_from(table.nodes().len()).unwrap_or(u32::MAX)).collect();
        return rewriter.many(&all, &[]);
    }
    let branch = |node: &Node| rewriter.branch(node.hostgroup, &uses.nodes_beside(0, node)?, &[]);
    table.nodes().iter().map(branch).collect()
}

/// A table that gets the rows of a file.
struct Target<'r, 'a> {
    request: &'r Request<'a>,
    used: &'r Use<'a>,
    table: &'a Table,
}

impl Target<'_, '_> {
    fn load(&self, clauses: Clauses, branches: Vec<Branch>) -> Result<Load, Refusal> {
        let names = self.fields(&clauses)?;
        let position = |name: &str| {
            let is_it = |field: &Option<String>| field.as_deref().is_some_and(|field| field == name);
            names.iter().position(is_it)
        };
        let missing = |cause: Cause| cause.at(self.used.reference.name);
        let known = self.request.definitions.columns(&self.used.schema, &self.used.name).unwrap_or_default();
        let (mut wanted, mut keys) = (Vec::new(), Vec::new());
        for key in self.table.key_columns() {
            wanted.push(position(&key.to_lowercase()).ok_or(missing(Cause::Row(Reason::NoCondition)))?);
            let info = known.iter().find(|info| info.name.eq_ignore_ascii_case(key));
            keys.push(info.map_or(ColumnType::Unknown, |info| info.compares));
        }
        let changed = clauses
            .assigned
            .iter()
            .find(|name| self.table.key_columns().iter().any(|key| key.eq_ignore_ascii_case(name)));
        if changed.is_some() {
            return Err(missing(Cause::Row(Reason::NoCondition)));
        }
        let ids = match self.id_column() {
            Some((column, sequence)) => {
                let is_changed = clauses.assigned.contains(&column);
                let at = position(&column).filter(|_| !is_changed).ok_or(missing(Cause::Ids))?;
                wanted.push(at);
                Some(IdsOfFile { at: wanted.len() - 1, keeps_zero: self.request.asked.keeps_zero, sequence })
            }
            None => None,
        };
        let placement = self.table.placement().cloned();
        Ok(Load {
            branches,
            charset: clauses.charset,
            format: clauses.format,
            counts: if placement.is_some() { Counts::Sum } else { Counts::Same },
            columns: names.len(),
            wanted,
            keys,
            placement,
            ids,
        })
    }

    /// The columns that fields of a line go to, in lower case; none for those that go to variables.
    fn fields(&self, clauses: &Clauses) -> Result<Vec<Option<String>>, Refusal> {
        if let Some(fields) = &clauses.fields {
            return Ok(fields.clone());
        }
        let known = self.request.definitions.fields(&self.used.schema, &self.used.name);
        let known = known.ok_or(Cause::Row(Reason::ColumnUnknown).at(self.used.reference.name))?;
        Ok(known.iter().map(|info| Some(info.name.to_lowercase())).collect())
    }

    /// The column that gets ids in lower case, and the table of its sequence; none if no server
    /// makes ids.
    fn id_column(&self) -> Option<(String, Option<[String; 2]>)> {
        let (schema, table) = (&self.used.schema, &self.used.name);
        if let Some(sequence) = self.request.layout.sequence(schema, table) {
            return Some((sequence.column.to_lowercase(), Some([schema.clone(), table.clone()])));
        }
        let own = self.request.definitions.auto_increment(schema, table)?;
        Some((own.to_lowercase(), None))
    }
}
