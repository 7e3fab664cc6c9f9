//! The tables that a statement names.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use shard::{Node, Table, TableKind};
use sql::digest::Span;
use sql::parse::{Join, Kind, NodeId, Step, TableReference, Tree};

use super::budget::Budget;
use super::columns::Names;
use super::refusal::Cause;
use super::{Refusal, Request, text};

/// A table that a statement names, once for each time that it is named.
#[derive(Debug)]
pub(super) struct Use<'a> {
    /// Where it is named.
    pub(super) reference: TableReference,
    /// The schema, that of the session if none is written.
    pub(super) schema: String,
    /// The table's name.
    pub(super) name: String,
    /// What its columns are qualified with: the alias, or the name.
    pub(super) shown: String,
    /// What the layout says of it; nothing for a table that it does not name.
    pub(super) table: Option<&'a Table>,
    /// Whether an outer join may give a row without a row of it, once that was asked.
    is_nullable: OnceCell<bool>,
}

impl<'a> Use<'a> {
    /// The node of this table for a shard of which another table, or this one, has `node`: on the
    /// same servers, in the same schema if there is a choice.
    pub(super) fn node_beside(&self, shard: usize, node: &Node) -> Option<&'a Node> {
        let nodes = self.table?.nodes();
        let is_here = |other: &&Node| other.hostgroup == node.hostgroup;
        if self.is_sharded() {
            return nodes.get(shard).filter(is_here);
        }
        let is_near = |other: &&Node| is_here(other) && other.schema == node.schema;
        let own = nodes.iter().find(|other| *other == node);
        own.or_else(|| nodes.iter().find(is_near)).or_else(|| nodes.iter().find(is_here))
    }

    /// Whether an outer join may give a row without a row of this table.
    pub(super) fn is_nullable(&self, tree: &Tree, budget: &Budget) -> bool {
        *self.is_nullable.get_or_init(|| is_nullable(tree, budget, self.reference.id, self.reference.block))
    }

    /// Whether each node has all rows.
    pub(super) fn is_reference(&self) -> bool {
        self.table.is_some_and(|table| matches!(table.kind, TableKind::Reference { .. }))
    }

    /// Whether each row is on one node of several.
    pub(super) fn is_sharded(&self) -> bool {
        self.table.is_some_and(|table| matches!(table.kind, TableKind::Sharded { .. }))
    }
}

/// Whether an outer join of a query block may give a row without a row of this table reference.
pub(super) fn is_nullable(tree: &Tree, budget: &Budget, reference: NodeId, block: NodeId) -> bool {
    let mut inside = reference;
    for around in tree.ancestors(reference).take_while(|around| *around != block) {
        if !budget.take(1) {
            return true;
        }
        if let Kind::Join(join) = tree.kind(around) {
            let is_left = tree.children(around).next() == Some(inside);
            let missing = match join {
                Join::Left | Join::NaturalLeft => !is_left,
                Join::Right | Join::NaturalRight => is_left,
                Join::Inner | Join::Straight | Join::Natural => false,
            };
            if missing {
                return true;
            }
        }
        inside = around;
    }
    false
}

/// Names of the columns of table references, by the depth that was looked into; none if they are
/// not known.
type NamesByDepth = HashMap<(NodeId, usize), Option<Rc<Names>>>;

/// All tables of a statement but its common tables, and what was found out about its names.
#[derive(Debug)]
pub(super) struct Uses<'a> {
    all: Vec<Use<'a>>,
    /// The numbers of those of each query block.
    blocks: HashMap<NodeId, Vec<usize>>,
    /// How many names of tables each query block has, common tables included.
    named: HashMap<NodeId, usize>,
    /// The numbers of those with each node.
    numbers: HashMap<NodeId, usize>,
    /// The table references of each query block, once they were asked for.
    references: OnceCell<HashMap<NodeId, Vec<NodeId>>>,
    /// Names of the columns of table references, by the depth that was looked into.
    pub(super) names: RefCell<NamesByDepth>,
    /// Whether query blocks are [row by row](super::origin::is_row_by_row).
    pub(super) row_by_row: RefCell<HashMap<NodeId, bool>>,
    /// What the plan may cost.
    pub(super) budget: Budget,
}

impl<'a> Uses<'a> {
    /// The tables of this statement.
    pub(super) fn of(request: &Request<'a>) -> Result<Self, Refusal> {
        let mut uses = Self {
            all: Vec::new(),
            blocks: HashMap::new(),
            named: HashMap::new(),
            numbers: HashMap::new(),
            references: OnceCell::new(),
            names: RefCell::default(),
            row_by_row: RefCell::default(),
            budget: Budget::of(request.tree.len()),
        };
        let mut likes = Likes::default();
        for reference in request.tree.tables() {
            *uses.named.entry(reference.block).or_default() += 1;
            let is_utf8 = |span: Span| std::str::from_utf8(span.of(request.sql)).is_ok();
            if !is_utf8(reference.name) || !reference.schema.is_none_or(is_utf8) {
                return Err(Cause::AmbiguousName.at(reference.name));
            }
            let name = text::name(request.sql, reference.name);
            let schema = reference.schema.map(|span| text::name(request.sql, span));
            let is_common = match schema {
                Some(_) => Some(false),
                None => is_common_table(request, &uses.budget, reference.id, &name),
            };
            uses.budget.check(request)?;
            let schema = schema.unwrap_or_else(|| request.schema.to_owned());
            let table = request.layout.table(&schema, &name);
            match (is_common, table) {
                (Some(true), _) => continue,
                (None, Some(_)) => return Err(Cause::AmbiguousName.at(reference.name)),
                _ if is_unsure(request, &mut likes, (&reference, &name), table) => {
                    return Err(Cause::AmbiguousName.at(reference.name));
                }
                _ => {}
            }
            let shown = reference.alias.map_or_else(|| name.clone(), |alias| text::name(request.sql, alias));
            let number = uses.all.len();
            uses.blocks.entry(reference.block).or_default().push(number);
            uses.numbers.insert(reference.id, number);
            uses.all.push(Use { reference, schema, name, shown, table, is_nullable: OnceCell::new() });
        }
        Ok(uses)
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Use<'a>] {
        &self.all
    }

    /// The number of the one that is named here; none for a common table.
    pub(super) fn number_of(&self, name: NodeId) -> Option<usize> {
        self.numbers.get(&name).copied()
    }

    /// How many names of tables a query block has, common tables included.
    pub(super) fn named_in(&self, block: NodeId) -> usize {
        self.named.get(&block).copied().unwrap_or_default()
    }

    /// The table references of a query block.
    pub(super) fn references(&self, tree: &Tree, block: NodeId) -> &[NodeId] {
        let all = self.references.get_or_init(|| {
            let mut all: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
            for step in tree.root().into_iter().flat_map(|root| tree.walk(root)) {
                if let Step::Enter(id) = step
                    && matches!(tree.kind(id), Kind::Table | Kind::Derived { .. } | Kind::JsonTable)
                    && let Some(block) = tree.block(id)
                {
                    all.entry(block).or_default().push(id);
                }
            }
            all
        });
        let found = all.get(&block).map_or(&[][..], Vec::as_slice);
        if self.budget.take(found.len()) { found } else { &[] }
    }

    /// One of them.
    pub(super) fn get(&self, number: usize) -> Option<&Use<'a>> {
        self.all.get(number)
    }

    /// The nodes of all tables [beside](Use::node_beside) one.
    ///
    /// # Errors
    /// If a table has none there.
    pub(super) fn nodes_beside(&self, shard: usize, node: &Node) -> Result<Vec<Option<&'a Node>>, Refusal> {
        let of = |table: &Use<'a>| {
            let found = table.node_beside(shard, node);
            found.map(Some).ok_or(Cause::ServersDiffer.at(table.reference.name))
        };
        self.all.iter().map(of).collect()
    }

    /// The numbers of those whose rows are on several nodes.
    pub(super) fn sharded(&self) -> impl Iterator<Item = usize> + '_ {
        self.all.iter().enumerate().filter(|(_, table)| table.is_sharded()).map(|(number, _)| number)
    }

    /// Those of a query block, but not those of blocks within it, and their numbers.
    pub(super) fn of_block(&self, block: NodeId) -> impl Iterator<Item = (usize, &Use<'a>)> {
        let numbers = self.blocks.get(&block).map_or(&[][..], Vec::as_slice);
        let numbers = if self.budget.take(numbers.len()) { numbers } else { &[] };
        numbers.iter().filter_map(|number| Some((*number, self.all.get(*number)?)))
    }
}

/// Whether the layout has a table of a name but for its case, by the names that were asked for.
#[derive(Default)]
struct Likes(HashMap<String, bool>);

impl Likes {
    fn has(&mut self, request: &Request<'_>, name: &str) -> bool {
        let is_like = || request.layout.tables().iter().any(|other| other.name.eq_ignore_ascii_case(name));
        *self.0.entry(name.to_owned()).or_insert_with(is_like)
    }
}

/// Whether the name is that of a table of the layout but for its case, or the statement names the
/// table's schema elsewhere (`SHOW COLUMNS FROM t FROM s`).
fn is_unsure(
    request: &Request<'_>,
    likes: &mut Likes,
    (reference, name): (&TableReference, &str),
    table: Option<&Table>,
) -> bool {
    let tree = request.tree;
    let around = tree.parent(reference.id).filter(|around| tree.kind(*around) == Kind::Utility);
    let has_other_schema = around.is_some_and(|around| tree.child(around, Kind::Name).is_some());
    (table.is_none() || has_other_schema)
        && likes.has(request, name)
        && (has_other_schema || !is_of_other_schema(request, reference, name))
}

/// Whether the layout has a table of just this name, in another schema only.
fn is_of_other_schema(request: &Request<'_>, reference: &TableReference, name: &str) -> bool {
    let schema = reference.schema.map(|span| text::name(request.sql, span));
    let schema = schema.as_deref().unwrap_or(request.schema);
    let mut like = request.layout.tables().iter().filter(|table| table.name.eq_ignore_ascii_case(name));
    like.all(|table| !table.schema.eq_ignore_ascii_case(schema))
}

/// Whether a name without schema is that of a common table; nothing if that is not certain.
fn is_common_table(request: &Request<'_>, budget: &Budget, id: NodeId, name: &str) -> Option<bool> {
    let tree = request.tree;
    let at = tree.span(id).start;
    let has_name = |part: &NodeId| {
        let span = tree.span(*part);
        span.start <= at && at < span.end
    };
    for around in tree.scopes(id) {
        if !budget.take(1) {
            return None;
        }
        if let Some(with) = tree.child(around, Kind::With { recursive: false }) {
            // A common table sees those in front of it.
            let inside = tree.children(with).find(has_name);
            for table in tree.children(with).take_while(|table| Some(*table) != inside) {
                if let Some(is_same) = is_named(request, budget, table, name) {
                    return is_same.then_some(true);
                }
            }
        }
        // Which of them one sees that is recursive differs between servers.
        let recursive = tree.child(around, Kind::With { recursive: true });
        if let Some(with) = recursive
            && tree.children(with).any(|table| is_named(request, budget, table, name).is_some())
        {
            return if has_name(&with) { None } else { Some(true) };
        }
    }
    Some(false)
}

/// Whether a common table has this name in the same case, on which servers differ; nothing if it
/// has another one.
fn is_named(request: &Request<'_>, budget: &Budget, table: NodeId, name: &str) -> Option<bool> {
    let tree = request.tree;
    if !budget.take(1) {
        return None;
    }
    let own = tree.child(table, Kind::Name).map(|id| text::name(request.sql, tree.span(id)))?;
    own.eq_ignore_ascii_case(name).then(|| own == name)
}
