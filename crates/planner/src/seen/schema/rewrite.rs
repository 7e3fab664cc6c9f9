//! The text of a query of `information_schema` for one server.

use sql::digest::Span;
use sql::parse::{Kind, NodeId, Overlap, Splices, Step};

use crate::plan::{Cause, Refusal, Request, text};
use crate::seen::Asker;
use crate::seen::source::{Source, literal};

use super::named::is_schema_call;
use super::view::{Views, last_name};

/// Hidden keys of a query whose rows are merged.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// Columns of `ORDER BY`, and whether each is a name.
    pub(super) keys: Vec<(NodeId, bool)>,
    /// Where the select list ends.
    pub(super) end: usize,
}

/// A query for one server.
struct Rewrite<'r, 'a> {
    request: &'r Request<'a>,
    views: &'r Views,
    asker: Asker,
    source: &'r Source<'a>,
    splices: Splices,
}

/// The text for one server; none if it is that of the client.
pub(super) fn rewritten<'a>(
    request: &Request<'a>,
    views: &Views,
    asker: Asker,
    source: &Source<'a>,
    additions: &Additions,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mut rewrite = Rewrite { request, views, asker, source, splices: Splices::default() };
    rewrite.tables().map_err(refused)?;
    rewrite.names()?;
    rewrite.keys(additions).map_err(refused)?;
    let splices = rewrite.splices;
    if splices.is_empty() {
        return Ok(None);
    }
    if request.tree.is_conditional() && splices.is_in_conditional(request.sql, request.modes) {
        return Err(Cause::Conditional.at(Span { start: 0, end: request.sql.len() }));
    }
    let mut out = Vec::with_capacity(request.sql.len() + 256);
    splices.apply(request.sql, &mut out).map_err(refused)?;
    Ok(Some(out))
}

impl Rewrite<'_, '_> {
    /// A derived table without rows of other nodes in the place of each view.
    fn tables(&mut self) -> Result<(), Overlap> {
        for used in self.views.all() {
            let Some((schema, table)) = used.view.pairs.first() else { continue };
            let Some(filter) = self.source.filter(schema, table) else { continue };
            let alias = match used.reference.alias {
                Some(_) => String::new(),
                None => format!(" AS {}", text::quoted(&used.shown)),
            };
            let rows = format!("(SELECT * FROM information_schema.{} WHERE {filter}){alias}", used.view.name);
            self.splices.add(self.request.tree.span(used.reference.id), rows)?;
        }
        Ok(())
    }

    /// Logical names in the place of columns with physical ones.
    fn names(&mut self) -> Result<(), Refusal> {
        let tree = self.request.tree;
        let is_renamed = !self.source.has_same_names();
        // A session at a shard may be in another schema, or in none.
        let is_rewritten = is_renamed || self.source.is_filtered();
        let Some(root) = tree.root() else { return Ok(()) };
        for step in tree.walk(root) {
            let Step::Enter(id) = step else { continue };
            match tree.kind(id) {
                Kind::Column => self.column(id).map_err(refused)?,
                Kind::Star | Kind::Using if is_renamed => return Err(Cause::Clause.at(tree.span(id))),
                Kind::Call if is_rewritten && is_schema_call(self.request, id) => {
                    let shown = String::from_utf8_lossy(tree.span(id).of(self.request.sql)).into_owned();
                    let schema = match self.request.schema {
                        "" => "NULL".to_owned(),
                        schema => literal(schema),
                    };
                    self.replace(id, &schema, &shown).map_err(refused)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A column, whose schema is dropped if it has one: a derived table is of no schema.
    fn column(&mut self, id: NodeId) -> Result<(), Overlap> {
        let tree = self.request.tree;
        let names: Vec<_> = tree.children(id).map(|name| tree.span(name)).collect();
        let Some(last) = names.last() else { return Ok(()) };
        // MySQL's columns are those of a view, whose names it tells as the view has them. MariaDB
        // tells the name as it is written, but not of a derived table.
        let written = if self.asker.dialect.is_mariadb() {
            text::name(self.request.sql, *last)
        } else {
            last_name(self.request, id)
        };
        if let Some(expression) = self.expression(id) {
            return self.replace(id, &expression, &written);
        }
        if let &[schema, table, _] = names.as_slice() {
            self.splices.add(Span { start: schema.start, end: table.start }, "")?;
        }
        if self.source.is_filtered() && self.asker.dialect.is_mariadb() && self.is_bare_item(id) {
            let at = Span { start: last.end, end: last.end };
            self.splices.add(at, format!(" AS {}", text::quoted(&written)))?;
        }
        Ok(())
    }

    /// The expression that a column with physical names becomes; none if the names are right.
    fn expression(&self, id: NodeId) -> Option<String> {
        let view = self.views.of_column(self.request, id)?;
        let name = last_name(self.request, id);
        let of = |column: &str| format!("{}{column}", self.qualifier(id));
        if view.schemas.contains(&name.as_str()) {
            return self.source.schema_case(&of(&name), None);
        }
        view.pairs.iter().find_map(|(schema, table)| match name.as_str() {
            name if name == *table => self.source.table_case(&of(schema), &of(table)),
            name if name == *schema => self.source.schema_case(&of(schema), Some(&of(table))),
            _ => None,
        })
    }

    /// The table that a column is qualified with, and a point.
    fn qualifier(&self, column: NodeId) -> String {
        let tree = self.request.tree;
        let names: Vec<_> = tree.children(column).collect();
        match names.as_slice() {
            [.., table, _] => {
                format!("{}.", String::from_utf8_lossy(tree.span(*table).of(self.request.sql)))
            }
            _ => String::new(),
        }
    }

    /// Replaces an expression. In the select list the column keeps its name.
    fn replace(&mut self, id: NodeId, expression: &str, shown: &str) -> Result<(), Overlap> {
        let tree = self.request.tree;
        let name = if self.is_bare_item(id) { format!(" AS {}", text::quoted(shown)) } else { String::new() };
        self.splices.add(tree.span(id), format!("{expression}{name}"))
    }

    /// Whether an expression is an item of the select list, and has no alias.
    fn is_bare_item(&self, id: NodeId) -> bool {
        let tree = self.request.tree;
        let item = tree.parent(id).filter(|around| tree.kind(*around) == Kind::Item);
        item.is_some_and(|item| tree.child(item, Kind::Alias).is_none())
    }

    fn keys(&mut self, additions: &Additions) -> Result<(), Overlap> {
        let at = Span { start: additions.end, end: additions.end };
        for (number, (column, is_name)) in additions.keys.iter().enumerate() {
            let own = || format!("{}{}", self.qualifier(*column), last_name(self.request, *column));
            let value = self.expression(*column).unwrap_or_else(own);
            let key = if *is_name { format!("WEIGHT_STRING({value})") } else { value };
            self.splices.add(at, format!(", {key} AS `pointsman_key_{number}`"))?;
        }
        Ok(())
    }
}

fn refused(overlap: Overlap) -> Refusal {
    Cause::Statement.at(overlap.span)
}
