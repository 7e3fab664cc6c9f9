//! Random queries.

mod changes;
mod clauses;
mod conditions;
mod scope;
mod values;

use e2e::dice::Dice;

use crate::expression::Expression;
use crate::layout::Split;
use crate::query::{Item, Query, Source};
use crate::tables::Table;

use scope::Scope;

/// Writes queries over the tables of a world.
pub(crate) struct Author<'a> {
    dice: Dice,
    tables: &'a [Table],
    /// Whether names may have the schema in front: a server that stands for several has one schema
    /// for each.
    names_schema: bool,
    /// `WITH`, if a table of the query in the making needs it.
    prefix: String,
    /// Ids that were given to new rows.
    inserted: usize,
}

/// Depth of expressions.
const DEPTH: usize = 3;

impl<'a> Author<'a> {
    pub(crate) fn new(dice: Dice, tables: &'a [Table], split: Split) -> Self {
        Self { dice, tables, names_schema: split != Split::Servers, prefix: String::new(), inserted: 0 }
    }

    /// Whether this happens, in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.dice.chance(percent)
    }

    /// The next query.
    pub(crate) fn query(&mut self) -> Query {
        self.prefix.clear();
        let (sources, scope) = self.sources();
        let mut query = Query { prefix: self.prefix.clone(), sources, ..Query::default() };
        self.filters(&mut query, &scope);
        match self.dice.below(100) {
            0..14 => self.grouped(&mut query, &scope),
            14..24 => self.distinct(&mut query, &scope),
            24..32 => self.windows(&mut query, &scope),
            32..35 => self.aggregates(&mut query, &scope),
            _ => self.plain(&mut query, &scope),
        }
        let is_wide = query.options.contains("DISTINCT") || !query.groups.is_empty();
        if self.dice.chance(55) {
            self.order(&mut query, &scope);
        }
        if self.dice.chance(35) {
            let offset = if self.dice.chance(40) { self.dice.below(20) as u64 } else { 0 };
            query.limit = Some((offset, self.dice.below(15) as u64));
        }
        if !is_wide && query.order.is_empty() && query.limit.is_none() && self.dice.chance(4) {
            self.union(&mut query);
        }
        if self.dice.chance(10) {
            let option = self.dice.pick(&[
                "ALL ",
                "HIGH_PRIORITY ",
                "SQL_BIG_RESULT ",
                "SQL_BUFFER_RESULT ",
                "/* a comment */ ",
                "/*!40000 STRAIGHT_JOIN */ ",
                "-- a line\n",
            ]);
            if !query.options.contains("DISTINCT") || !option.contains("ALL") {
                query.options.push_str(option);
            }
        }
        query.is_prepared = self.dice.chance(40);
        query
    }

    /// The tables of a query: one, or colocated ones, with a reference table at times.
    fn sources(&mut self) -> (Vec<Source>, Scope) {
        let shape = self.dice.below(100);
        let mut scope = Scope::default();
        let mut sources = Vec::new();
        match shape {
            0..50 => {
                let table = self.dice.below(3);
                self.add_first(&mut sources, &mut scope, table);
            }
            50..78 => {
                let table = self.dice.below(2);
                self.add_first(&mut sources, &mut scope, table);
                let other = if self.dice.chance(75) { 1 - table } else { table };
                self.add_colocated(&mut sources, &mut scope, other);
            }
            78..94 => {
                let table = self.dice.below(3);
                self.add_first(&mut sources, &mut scope, table);
                self.add_reference(&mut sources, &mut scope);
                if table < 2 && self.dice.chance(30) {
                    self.add_colocated(&mut sources, &mut scope, 1 - table);
                }
            }
            94..97 => {
                let table = self.dice.below(2);
                self.add_first(&mut sources, &mut scope, table);
                self.add_colocated(&mut sources, &mut scope, 2);
            }
            _ => self.add_first(&mut sources, &mut scope, 3),
        }
        (sources, scope)
    }

    fn add_first(&mut self, sources: &mut Vec<Source>, scope: &mut Scope, table: usize) {
        let table = self.add_table(scope, table);
        sources.push(Source { join: "", table, on: None });
    }

    /// The table as FROM names it.
    fn add_table(&mut self, scope: &mut Scope, table: usize) -> String {
        if self.dice.chance(6) {
            return self.add_derived(scope, table);
        }
        let name = self.tables[table].name;
        let is_twice = scope.has_table(table);
        let alias = (is_twice || self.dice.chance(40)).then(|| format!("t{}", scope.len()));
        let mut written = match self.dice.below(10) {
            0..7 => name.to_owned(),
            7 | 8 => format!("`{name}`"),
            _ => format!("/* {name} */ {name}"),
        };
        if self.names_schema && self.dice.chance(20) {
            written = format!("w.{written}");
        }
        match &alias {
            Some(alias) if self.dice.chance(50) => written = format!("{written} AS {alias}"),
            Some(alias) => written = format!("{written} {alias}"),
            None => {}
        }
        if self.dice.chance(5) {
            written.push_str(" FORCE INDEX (PRIMARY)");
        }
        scope.add(table, alias.unwrap_or_else(|| name.to_owned()));
        written
    }

    /// A derived or a common table in place of a table, with all its columns.
    fn add_derived(&mut self, scope: &mut Scope, table: usize) -> String {
        let name = self.tables[table].name;
        let mut inner = Scope::default();
        inner.add(table, name.to_owned());
        let test = if self.dice.chance(80) { self.key_test(&inner) } else { self.condition(&inner, 1) };
        let rows = format!("SELECT * FROM {name} WHERE {test}");
        if !self.prefix.is_empty() || self.dice.chance(50) {
            let alias = format!("d{}", scope.len());
            scope.add(table, alias.clone());
            return format!("({rows}) AS {alias}");
        }
        // A common table hides one of its name.
        let alias = if scope.has_table(table) || self.dice.chance(70) { "common" } else { name };
        self.prefix = format!("WITH {alias} AS ({rows}) ");
        scope.add(table, alias.to_owned());
        alias.to_owned()
    }

    fn add_colocated(&mut self, sources: &mut Vec<Source>, scope: &mut Scope, table: usize) {
        let other = scope.alias(0).to_owned();
        let at = scope.len();
        let written = self.add_table(scope, table);
        let own = scope.alias(at).to_owned();
        let equal = match self.dice.below(3) {
            0 => format!("{own}.k = {other}.k"),
            1 => format!("({other}.k = {own}.k)"),
            _ => format!("`{other}`.K = `{own}`.`k`"),
        };
        let join = *self.dice.pick(&[
            " JOIN ",
            " LEFT JOIN ",
            " RIGHT JOIN ",
            " INNER JOIN ",
            " STRAIGHT_JOIN ",
            ", ",
        ]);
        if join == ", " {
            sources.push(Source { join, table: written, on: None });
            scope.pending.push(Expression::leaf(equal));
            return;
        }
        let more = self.dice.chance(25).then(|| self.condition(scope, 1));
        let on = match more {
            _ if self.dice.chance(15) && sources.len() == 1 => Expression::leaf(" USING (k)"),
            Some(more) => Expression::of(&format!(" ON {equal} AND #"), [more]),
            None => Expression::leaf(format!(" ON {equal}")),
        };
        sources.push(Source { join, table: written, on: Some(on) });
    }

    fn add_reference(&mut self, sources: &mut Vec<Source>, scope: &mut Scope) {
        let other = scope.alias(0).to_owned();
        let at = scope.len();
        let table = self.add_table(scope, 3);
        let own = scope.alias(at).to_owned();
        let on = match self.dice.below(3) {
            0 => format!(" ON {own}.cc = {other}.cc"),
            1 => format!(" ON {own}.id = {other}.cc"),
            _ => format!(" ON {own}.k < {other}.id AND {own}.id = 3"),
        };
        let join = *self.dice.pick(&[" JOIN ", " LEFT JOIN "]);
        sources.push(Source { join, table, on: Some(Expression::leaf(on)) });
    }

    fn union(&mut self, query: &mut Query) {
        "(no other one)".clone_into(&mut self.prefix);
        let (sources, scope) = self.sources();
        let mut other = Query { sources, ..Query::default() };
        self.filters(&mut other, &scope);
        let count = query.items.len();
        other.items = (0..count).map(|_| self.item(&scope, false)).collect();
        query.items.retain(|item| !item.expression.to_string().ends_with('*'));
        other.items.truncate(query.items.len().max(1));
        if query.items.is_empty() {
            query.items.push(Item { expression: Expression::leaf("1"), alias: None });
        }
        let operator = *self.dice.pick(&["UNION", "UNION ALL", "UNION DISTINCT"]);
        query.union = Some((operator, Box::new(other)));
        query.is_loose = true;
    }
}
