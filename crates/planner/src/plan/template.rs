//! Plans that hold for all statements that differ in plain values only, or for all executions of
//! one: a query of one table goes to the servers of the values that its conditions have for the
//! key.
//!
//! - [`sought`]: these values, and where they are in a statement;
//! - [`spread`]: what each shard gets of a query that several execute.

mod sought;
mod spread;

use shard::{ColumnType, Condition, Layout, Prune, Shard, Test, Value};
use sql::digest::{Facts, Options};
use sql::lexer::Charset;
use sql::parse::{Kind, NodeId, Step};
use sql::{Modes, Outline};

use super::columns::{self, ColumnOf};
use super::uses::Uses;
use super::{Branch, Request, text};
use sought::Sought;
use spread::Spread;

/// The plan of queries with one outline, or of executions of one query.
#[derive(Clone, Debug)]
pub struct Template {
    schema: String,
    table: String,
    /// Type of the key column, by the definition of which the template was made.
    column: ColumnType,
    texts: Texts,
    sought: Sought,
    /// What shards get, if several execute the query.
    spread: Option<Spread>,
}

/// Where a statement goes that a template fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goes {
    /// To one server, as it is.
    One(Branch),
    /// To several shards. All else of their plan is that of the statement that the template was
    /// made of.
    Many(Vec<Branch>),
}

/// Which texts a template fits.
#[derive(Clone, Debug)]
enum Texts {
    /// Those with this outline.
    Outline(Outline),
    /// This one, whose values are parameters.
    One(Box<[u8]>),
}

impl Template {
    /// The template of a statement whose plan has these branches; none if the plan may depend on
    /// more than the values that are sought.
    pub fn of(request: &Request<'_>, branches: &[Branch]) -> Option<Self> {
        let (tree, root) = (request.tree, request.tree.root()?);
        let is_query = tree.children(root).next().is_some_and(|first| tree.kind(first) == Kind::Query);
        let one = if let [one] = branches { Some(one) } else { None };
        let is_as_it_came = one.is_none_or(|one| one.text.is_none() && one.placeholders.is_none());
        if !is_query || !is_as_it_came || tree.is_conditional() || request.asked.shard.is_some() {
            return None;
        }
        if text::has_last_id(request.sql) {
            // It has another value in each session.
            return None;
        }
        let uses = Uses::of(request).ok()?;
        let [only] = uses.all() else { return None };
        let [key] = only.table?.key_columns() else { return None };
        let key = ColumnOf { table: 0, name: key.to_lowercase() };
        let clause = clause_of(request, only.reference.block);
        let mut digest = sql::Digest::default();
        digest.read(request.sql, &Options::default());
        let outline = Outline::of(request.sql, &digest).filter(|_| reads_as_digest(request, digest.facts()));
        let sought = match clause {
            Some(clause) => Sought::of(request, &uses, &key, clause, outline.as_ref())?,
            None => Sought::Anything,
        };
        let texts =
            if sought.is_of_parameters() { Texts::One(request.sql.into()) } else { Texts::Outline(outline?) };
        let spread = if one.is_none() { Some(Spread::of(request, &uses, clause, &texts)?) } else { None };
        if spread.is_none() && matches!(sought, Sought::Anything) {
            return None;
        }
        let column = columns::compares(request, &uses, &key);
        let (schema, table) = (only.schema.clone(), only.name.clone());
        let template = Self { schema, table, column, texts, sought, spread };
        // The planner may know more of the key than what is sought.
        let is_same = match template.goes(request.layout, request.sql, request.parameters)? {
            Goes::One(branch) => *branches == [branch],
            Goes::Many(all) => *branches == all,
        };
        is_same.then_some(template)
    }

    /// Where a statement goes that is executed with these parameters; none if the template says
    /// nothing of it.
    pub fn goes(&self, layout: &Layout, sql: &[u8], parameters: &[Option<Value<'_>>]) -> Option<Goes> {
        let table = layout.table(&self.schema, &self.table)?;
        let (column, placement) = (self.column, table.placement()?);
        let prune = |test: Test<'_>| placement.prune(&[Condition { column, test }]);
        let shards = match self.sought.test(&self.texts, sql, parameters, prune)? {
            Prune::One(shard) => {
                let node = table.nodes().get(usize::try_from(shard).ok()?)?;
                let is_same = node.schema == self.schema && node.table == self.table;
                let branch = Branch { hostgroup: node.hostgroup, ..Branch::default() };
                return is_same.then_some(Goes::One(branch));
            }
            Prune::Some(shards) => shards,
            Prune::All(_) => (0..Shard::try_from(table.nodes().len()).ok()?).collect(),
        };
        self.spread.as_ref()?.branches(&shards, &self.texts, sql).map(Goes::Many)
    }
}

/// Whether strings begin and end in the session's modes as they do for a digest.
fn reads_as_digest(request: &Request<'_>, found: &Facts) -> bool {
    let Modes { ansi_quotes, no_backslash_escapes, charset } = request.modes;
    !(found.quotes && ansi_quotes
        || found.escapes && no_backslash_escapes
        || charset != Charset::Plain && !request.sql.is_ascii())
}

/// The `WHERE` of a block.
fn clause_of(request: &Request<'_>, block: NodeId) -> Option<NodeId> {
    let tree = request.tree;
    let is_of_block = |id: &NodeId| tree.kind(*id) == Kind::Where && tree.block(*id) == Some(block);
    tree.walk(tree.root()?).find_map(|step| match step {
        Step::Enter(id) if is_of_block(&id) => Some(id),
        _ => None,
    })
}
