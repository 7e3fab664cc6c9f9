//! The text of a statement for one shard: names of its physical tables, hidden columns, the limit.
//! All other bytes are those of the client.

use sql::digest::Span;
use sql::parse::{Kind, Overlap, Splices, Step};

use crate::layout::Node;
use crate::prune::Shards;

use super::bind::Places;
use super::merging::Additions;
use super::refusal::Cause;
use super::uses::{Use, Uses};
use super::{Branch, Refusal, Request, text};

/// The statement for the server that has all of it.
pub(super) fn one(request: &Request<'_>, uses: &Uses<'_>, places: &Places<'_>) -> Result<Branch, Refusal> {
    let text = rewritten(request, uses, &places.nodes, &Additions::default())?;
    Ok(Branch { hostgroup: places.hostgroup, text, placeholders: None })
}

/// The statement for each of several shards.
pub(super) fn many(
    request: &Request<'_>,
    uses: &Uses<'_>,
    shards: &Shards,
    additions: &Additions,
) -> Result<Vec<Branch>, Refusal> {
    let branch = |shard: &u32| {
        let shard = usize::try_from(*shard).unwrap_or(usize::MAX);
        let sharded = uses.sharded().next().and_then(|number| uses.get(number)?.table);
        let hostgroup = sharded.and_then(|table| table.nodes().get(shard)).map(|node| node.hostgroup);
        let nodes: Vec<_> = uses.all().iter().map(|table| node_at(table, shard, hostgroup)).collect();
        let mut pairs = uses.all().iter().zip(nodes.iter().copied());
        match pairs.find(|(table, node)| table.table.is_some() && node.is_none()) {
            Some((table, _)) => Err(Cause::ServersDiffer.at(table.reference.name)),
            None => Ok(Branch {
                hostgroup: hostgroup.unwrap_or_default(),
                text: rewritten(request, uses, &nodes, additions)?,
                placeholders: None,
            }),
        }
    };
    shards.as_slice().iter().map(branch).collect()
}

/// The node of a table for this shard, on the server with this hostgroup.
fn node_at<'a>(table: &Use<'a>, shard: usize, hostgroup: Option<u32>) -> Option<&'a Node> {
    let nodes = table.table?.nodes();
    let node = if table.is_sharded() { nodes.get(shard) } else { None };
    let is_here = |node: &&Node| Some(node.hostgroup) == hostgroup;
    node.or_else(|| nodes.iter().find(is_here).filter(|_| !table.is_sharded())).filter(is_here)
}

/// The text with these tables; nothing if it is that of the client.
fn rewritten(
    request: &Request<'_>,
    uses: &Uses<'_>,
    nodes: &[Option<&Node>],
    additions: &Additions,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mut splices = Splices::default();
    let mut renamed = Vec::new();
    for (table, node) in uses.all().iter().zip(nodes) {
        if let Some(node) = node.filter(|node| node.schema != table.schema || node.table != table.name) {
            check_rename(request, uses, table)?;
            rename(request, table, node, &mut splices).map_err(refused)?;
            renamed.push(table);
        }
    }
    drop_schemas(request, &renamed, &mut splices).map_err(refused)?;
    let at = Span { start: additions.at, end: additions.at };
    for hidden in &additions.hidden {
        splices.add(at, format!(", {hidden}")).map_err(refused)?;
    }
    if let Some((span, limit)) = &additions.limit
        && span.of(request.sql) != limit.as_bytes()
    {
        splices.add(*span, limit.as_str()).map_err(refused)?;
    }
    if splices.is_empty() {
        return Ok(None);
    }
    if request.tree.is_conditional() {
        return Err(Cause::Conditional.at(Span { start: 0, end: request.sql.len() }));
    }
    let mut out = Vec::with_capacity(request.sql.len() + 64);
    splices.apply(request.sql, &mut out).map_err(refused)?;
    Ok(Some(out))
}

/// Whether an alias may stand behind the table's name, on all servers.
fn takes_alias(request: &Request<'_>, table: &Use<'_>) -> bool {
    let tree = request.tree;
    let is_table = tree.parent(table.reference.id).is_some_and(|around| tree.kind(around) == Kind::Table);
    is_table && matches!(tree.kind(table.reference.block), Kind::Select | Kind::Update)
}

/// Refuses a new name where others than the one of the table's place would have to change.
fn check_rename(request: &Request<'_>, uses: &Uses<'_>, table: &Use<'_>) -> Result<(), Refusal> {
    let tree = request.tree;
    let block = table.reference.block;
    let is_twin = |other: &Use<'_>| other.shown.eq_ignore_ascii_case(&table.shown);
    let has_twin = uses.of_block(block).filter(|(_, other)| is_twin(other)).count() > 1;
    let has_targets = tree.child(block, Kind::Targets).is_some();
    // Without an alias the physical name is what columns are qualified with.
    let needs_alias = table.reference.alias.is_none() && !takes_alias(request, table);
    let is_qualified = needs_alias
        && tree.walk(block).any(|step| match step {
            Step::Enter(id) if matches!(tree.kind(id), Kind::Column | Kind::Star) => {
                tree.children(id).filter(|name| tree.kind(*name) == Kind::Name).count() > 1
            }
            _ => false,
        });
    if has_twin || has_targets || is_qualified {
        return Err(Cause::Statement.at(table.reference.name));
    }
    Ok(())
}

/// The physical name in place of the logical one, which becomes the alias where there is none: what
/// the client is told of columns does not change.
fn rename(request: &Request<'_>, table: &Use<'_>, node: &Node, splices: &mut Splices) -> Result<(), Overlap> {
    let name = format!("{}.{}", text::quoted(&node.schema), text::quoted(&node.table));
    let tree = request.tree;
    splices.add(tree.span(table.reference.id), name)?;
    if table.reference.alias.is_none() && takes_alias(request, table) {
        // The alias stands behind PARTITION and FOR SYSTEM_TIME, in front of index hints.
        let around = tree.parent(table.reference.id).unwrap_or(table.reference.id);
        let ahead = tree
            .children(around)
            .filter(|id| matches!(tree.kind(*id), Kind::TableName | Kind::Partitions | Kind::SystemTime))
            .map(|id| tree.span(id).end)
            .max();
        let at = ahead.unwrap_or(tree.span(table.reference.id).end);
        splices.add(Span { start: at, end: at }, format!(" AS {}", text::quoted(&table.name)))?;
    }
    Ok(())
}

/// Takes the schema off columns and stars that are qualified with the name of a renamed table: an
/// alias is of no schema.
fn drop_schemas(request: &Request<'_>, renamed: &[&Use<'_>], splices: &mut Splices) -> Result<(), Overlap> {
    let tree = request.tree;
    let Some(root) = tree.root().filter(|_| !renamed.is_empty()) else { return Ok(()) };
    for step in tree.walk(root) {
        let Step::Enter(id) = step else { continue };
        let qualifiers = match tree.kind(id) {
            Kind::Column => 3,
            Kind::Star => 2,
            _ => continue,
        };
        let names: Vec<_> = tree.children(id).filter(|name| tree.kind(*name) == Kind::Name).collect();
        let [schema, table, ..] = *names.as_slice() else { continue };
        let is_renamed = |of: &&Use<'_>| {
            text::name(request.sql, tree.span(schema)) == of.schema
                && text::name(request.sql, tree.span(table)).eq_ignore_ascii_case(&of.shown)
        };
        if names.len() == qualifiers && renamed.iter().any(is_renamed) {
            splices.add(Span { start: tree.span(schema).start, end: tree.span(table).start }, "")?;
        }
    }
    Ok(())
}

fn refused(overlap: Overlap) -> Refusal {
    Cause::Statement.at(overlap.span)
}
