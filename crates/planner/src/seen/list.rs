//! Lists of tables: `SHOW TABLES`, `SHOW TABLE STATUS`. Where the servers' own list has other
//! tables or names, a query of `information_schema` with the same columns takes its place.

use std::fmt::Write as _;

use shard::{Reason, TableKind};
use sql::digest::Span;
use sql::parse::{Kind, NodeId};

use crate::merge::{Order, Part, Window};
use crate::plan::{Branch, Plan, Request, Scatter, text};

use super::source::{Source, literal, sources};
use super::words::Words;
use super::{Asker, Seen};

/// Columns of `SHOW TABLE STATUS`, and those of `information_schema.TABLES` that they are.
const STATUS: [(&str, &str); 18] = [
    ("Name", "TABLE_NAME"),
    ("Engine", "ENGINE"),
    ("Version", "VERSION"),
    ("Row_format", "ROW_FORMAT"),
    ("Rows", "TABLE_ROWS"),
    ("Avg_row_length", "AVG_ROW_LENGTH"),
    ("Data_length", "DATA_LENGTH"),
    ("Max_data_length", "MAX_DATA_LENGTH"),
    ("Index_length", "INDEX_LENGTH"),
    ("Data_free", "DATA_FREE"),
    ("Auto_increment", "AUTO_INCREMENT"),
    ("Create_time", "CREATE_TIME"),
    ("Update_time", "UPDATE_TIME"),
    ("Check_time", "CHECK_TIME"),
    ("Collation", "TABLE_COLLATION"),
    ("Checksum", "CHECKSUM"),
    ("Create_options", "CREATE_OPTIONS"),
    ("Comment", "TABLE_COMMENT"),
];

/// Those that MariaDB has besides.
const STATUS_OF_MARIADB: [(&str, &str); 2] =
    [("Max_index_length", "MAX_INDEX_LENGTH"), ("Temporary", "TEMPORARY")];

/// A statement that lists tables.
struct Listing<'a> {
    /// Logical schema.
    schema: String,
    is_status: bool,
    is_full: bool,
    /// The pattern, quotes included.
    like: Option<&'a [u8]>,
    /// The condition.
    condition: Option<&'a [u8]>,
}

/// `SHOW TABLES`, `SHOW TABLE STATUS` of a schema with tables of the layout.
pub(super) fn shown(request: &Request<'_>, statement: NodeId, asker: Asker) -> Option<Seen> {
    let listing = Listing::of(request, statement)?;
    if !request.layout.tables().iter().any(|table| table.schema == listing.schema) {
        return None;
    }
    let request = Request { schema: &listing.schema, ..*request };
    let sources = sources(&request, asker, Some(&listing.schema));
    let is_told = |source: &&Source<'_>| source.home.is_some() || !source.shown.is_empty();
    let sources: Vec<_> = sources.iter().filter(is_told).collect();
    let branch = |source: &Source<'_>, has_key: bool| {
        let text = Some(listing.query(source, asker, has_key).into_bytes());
        Branch { hostgroup: source.hostgroup, text, ..Branch::default() }
    };
    let plan = match sources.as_slice() {
        [] => return None,
        [only] if only.shown.is_empty() && only.is_plain() => return None,
        [only] if only.is_plain() && !(listing.is_status && has_sharded(only)) => {
            Plan::One(Branch { hostgroup: only.hostgroup, ..Branch::default() })
        }
        [only] => Plan::One(branch(only, false)),
        several => Plan::Many(Scatter {
            branches: several.iter().map(|source| branch(source, true)).collect(),
            order: Order::new(vec![Part::ASCENDING]),
            window: Window::ALL,
            why: Reason::Covers,
        }),
    };
    Some(Seen::plain(plan))
}

impl<'a> Listing<'a> {
    fn of(request: &Request<'a>, statement: NodeId) -> Option<Self> {
        let mut words = Words::of(request);
        words.eat(&["SHOW"])?;
        words.eat(&["EXTENDED"]);
        let is_full = words.eat(&["FULL"]).is_some();
        let is_status = words.eat(&["TABLES"]).is_none();
        if is_status {
            words.eat(&["TABLE"])?;
            words.eat(&["STATUS"])?;
        }
        let schema = match words.eat(&["FROM", "IN"]) {
            Some(_) => words.name()?,
            None => request.schema.to_owned(),
        };
        let like = match words.eat(&["LIKE"]) {
            Some(_) => Some(words.string()?.of(request.sql)),
            None => None,
        };
        let mut condition = None;
        if words.eat(&["WHERE"]).is_some() {
            let tree = request.tree;
            let clause = tree.child(statement, Kind::Where)?;
            condition = Some(Span { start: words.start(), end: tree.span(clause).end }.of(request.sql));
        } else if !words.is_over() {
            return None;
        }
        (!schema.is_empty()).then_some(Self { schema, is_status, is_full, like, condition })
    }

    /// The column of names, as servers call it.
    fn name_column(&self) -> String {
        let name = if self.is_status { "Name".to_owned() } else { format!("Tables_in_{}", self.schema) };
        text::quoted(&name)
    }

    /// The query that gives the list, with the names as a hidden key or not.
    fn query(&self, source: &Source<'_>, asker: Asker, has_key: bool) -> String {
        let name = self.name_column();
        let bytes = format!("CAST({name} AS BINARY)");
        let mut out = format!("SELECT {}", self.header(&name));
        if has_key {
            let _ = write!(out, ", {bytes} AS `pointsman_key_0`");
        }
        let _ = write!(out, " FROM ({}) AS `tables`", self.inner(source, asker, &name));
        if let Some(like) = self.like {
            let _ = write!(out, " WHERE {bytes} LIKE {}", String::from_utf8_lossy(like));
        }
        if let Some(condition) = self.condition {
            let _ = write!(out, " WHERE {}", String::from_utf8_lossy(condition));
        }
        let _ = write!(out, " ORDER BY {bytes}");
        out
    }

    /// The columns that the client sees.
    fn header(&self, name: &str) -> String {
        if self.is_status {
            return "`tables`.*".to_owned();
        }
        let pattern = self.like.and_then(|like| like.get(1..like.len().saturating_sub(1)));
        let shown = match pattern {
            Some(pattern) => {
                let pattern = String::from_utf8_lossy(pattern);
                text::quoted(&format!("Tables_in_{} ({pattern})", self.schema))
            }
            None => name.to_owned(),
        };
        let kind = if self.is_full { ", `Table_type`" } else { "" };
        format!("{name} AS {shown}{kind}")
    }

    /// The tables of a source with their logical names.
    fn inner(&self, source: &Source<'_>, asker: Asker, name: &str) -> String {
        let (schema, table) = ("TABLE_SCHEMA", "TABLE_NAME");
        let logical = source.table_case(schema, table).unwrap_or_else(|| table.to_owned());
        let columns = if self.is_status {
            let own: &[(&str, &str)] = if asker.dialect.is_mariadb() { &STATUS_OF_MARIADB } else { &[] };
            let column = |(shown, of): &(&str, &str)| match *of {
                "TABLE_NAME" => format!("{logical} AS {name}"),
                "AUTO_INCREMENT" => format!("{} AS `{shown}`", counter(source)),
                _ => format!("{of} AS `{shown}`"),
            };
            STATUS.iter().chain(own).map(column).collect::<Vec<_>>().join(", ")
        } else {
            format!("{logical} AS {name}, TABLE_TYPE AS `Table_type`")
        };
        let mut conditions = Vec::from_iter(source.filter(schema, table));
        if let Some((physical, _)) = source.home {
            conditions.push(own_schema(source, physical));
        }
        format!("SELECT {columns} FROM information_schema.TABLES WHERE {}", conditions.join(" AND "))
    }
}

/// The condition that a home's table is in the schema that is listed: in the home's own, or as the
/// node of a table.
fn own_schema(source: &Source<'_>, physical: &str) -> String {
    let own = format!("TABLE_SCHEMA = {}", literal(physical));
    let elsewhere = source.shown.iter().filter(|(node, _)| node.schema != physical);
    let pairs: Vec<_> =
        elsewhere.map(|(node, _)| format!("({}, {})", literal(&node.schema), literal(&node.table))).collect();
    if pairs.is_empty() {
        return own;
    }
    format!("({own} OR (TABLE_SCHEMA, TABLE_NAME) IN ({}))", pairs.join(", "))
}

fn has_sharded(source: &Source<'_>) -> bool {
    source.shown.iter().any(|(_, table)| matches!(table.kind, TableKind::Sharded { .. }))
}

/// The next id of a table. That of one shard says nothing about a sharded table.
fn counter(source: &Source<'_>) -> String {
    let is_sharded = |table: &shard::Table| matches!(table.kind, TableKind::Sharded { .. });
    let sharded = source.shown.iter().filter(|(_, table)| is_sharded(table));
    let pairs: Vec<_> =
        sharded.map(|(node, _)| format!("({}, {})", literal(&node.schema), literal(&node.table))).collect();
    // The expression has one type, whichever tables there are.
    let is_sharded = match pairs.as_slice() {
        [] => "FALSE".to_owned(),
        pairs => format!("(TABLE_SCHEMA, TABLE_NAME) IN ({})", pairs.join(", ")),
    };
    format!("IF({is_sharded}, NULL, AUTO_INCREMENT)")
}
