//! Select lists, groups and orders.

use crate::expression::Expression;
use crate::query::{Item, Query, Term};
use crate::tables;
use crate::types::{Family, Type};

use super::scope::Scope;
use super::{Author, DEPTH};

impl Author<'_> {
    /// An item; an alias may be the name of a column.
    pub(super) fn item(&mut self, scope: &Scope, has_star: bool) -> Item {
        if has_star && self.dice.chance(15) {
            let alias = scope.alias(self.dice.below(scope.len())).to_owned();
            let star = if self.dice.chance(50) { "*".to_owned() } else { format!("{alias}.*") };
            return Item { expression: Expression::leaf(star), alias: None };
        }
        let expression =
            if self.dice.chance(60) { self.any_column(scope).0 } else { self.expression(scope, DEPTH) };
        let alias = self.dice.chance(25).then(|| {
            let name = *self.dice.pick(&["n", "m", "`an alias`", "`w`", "k", "id", "cc"]);
            name.to_owned()
        });
        Item { expression, alias }
    }

    pub(super) fn plain(&mut self, query: &mut Query, scope: &Scope) {
        for number in 0..self.dice.within(1..5) {
            // Nothing may stand in front of a star without a table.
            let item = self.item(scope, number == 0);
            query.items.push(item);
        }
    }

    /// The key of one of the tables.
    fn key(&mut self, scope: &Scope) -> Expression {
        let at = self.dice.below(scope.len());
        Expression::leaf(self.named(scope, at, tables::KEY))
    }

    pub(super) fn distinct(&mut self, query: &mut Query, scope: &Scope) {
        query.options = self.dice.pick(&["DISTINCT ", "DISTINCTROW "]).to_string();
        query.is_loose = true;
        if self.dice.chance(85) {
            let expression = self.key(scope);
            query.items.push(Item { expression, alias: None });
        }
        for _ in 0..self.dice.within(1..3) {
            let item = self.item(scope, false);
            query.items.push(item);
        }
    }

    pub(super) fn grouped(&mut self, query: &mut Query, scope: &Scope) {
        query.is_loose = true;
        if self.dice.chance(85) {
            let key = self.key(scope);
            query.groups.push(key);
        }
        if query.groups.is_empty() || self.dice.chance(30) {
            let column = self.any_column(scope).0;
            query.groups.push(column);
        }
        for expression in query.groups.clone() {
            query.items.push(Item { expression, alias: None });
        }
        for _ in 0..self.dice.within(1..4) {
            let expression = self.aggregate(scope);
            let alias = self.dice.chance(30).then(|| "n".to_owned());
            query.items.push(Item { expression, alias });
        }
        if self.dice.chance(30) {
            let aggregate = self.aggregate(scope);
            query.having = Some(Expression::of("# IS NOT NULL", [aggregate]));
        }
        if self.dice.chance(20) {
            query.having = Some(Expression::leaf("COUNT(*) > 1"));
        }
    }

    pub(super) fn aggregates(&mut self, query: &mut Query, scope: &Scope) {
        query.is_loose = true;
        for _ in 0..self.dice.within(1..4) {
            let expression = self.aggregate(scope);
            query.items.push(Item { expression, alias: None });
        }
    }

    fn aggregate(&mut self, scope: &Scope) -> Expression {
        let name = self.named(scope, 0, "id");
        match self.dice.below(12) {
            0 => Expression::leaf("COUNT(*)"),
            1 => Expression::of("COUNT(#)", [self.any_column(scope).0]),
            2 => Expression::of("COUNT(DISTINCT #)", [self.any_column(scope).0]),
            3 => Expression::of("SUM(#)", [self.number(scope, 0)]),
            4 => Expression::of("AVG(#)", [self.number(scope, 0)]),
            5 => Expression::of("MIN(#)", [self.number(scope, 1)]),
            6 => Expression::of("MAX(#)", [self.moment(scope, 1)]),
            7 => Expression::of("MAX(#)", [self.text(scope, 0)]),
            8 => Expression::of("BIT_OR(#)", [self.number(scope, 0)]),
            9 => Expression::leaf(format!("GROUP_CONCAT({name} ORDER BY {name})")),
            10 => {
                Expression::leaf(format!("GROUP_CONCAT(DISTINCT {name} ORDER BY {name} DESC SEPARATOR '-')"))
            }
            _ => Expression::of("SUM(CASE WHEN # THEN 1 ELSE 0 END)", [self.condition(scope, 0)]),
        }
    }

    pub(super) fn windows(&mut self, query: &mut Query, scope: &Scope) {
        self.plain(query, scope);
        // MariaDB finds an alias in a window, where the place of a row has no alias.
        query.items.iter_mut().for_each(|item| item.alias = None);
        let key = self.key(scope);
        // The ids of all tables together make the order of joined rows certain.
        let ids: Vec<_> = (0..scope.len()).map(|at| format!("{}.id", scope.alias(at))).collect();
        let ids = ids.join(", ");
        let number = self.number(scope, 0);
        let is_of_key = self.dice.chance(85);
        let partition = if is_of_key { format!("PARTITION BY {key}") } else { String::new() };
        let expression = match self.dice.below(8) {
            0 => Expression::leaf(format!("ROW_NUMBER() OVER ({partition} ORDER BY {ids})")),
            1 => Expression::of(&format!("RANK() OVER ({partition} ORDER BY #)"), [number]),
            2 => Expression::of(&format!("DENSE_RANK() OVER ({partition} ORDER BY # DESC)"), [number]),
            3 => Expression::of(&format!("SUM(#) OVER ({partition})"), [number]),
            4 => Expression::of(&format!("LAG(#) OVER ({partition} ORDER BY {ids})"), [number]),
            5 => Expression::leaf(format!("COUNT(*) OVER ({partition} ORDER BY {ids} ROWS 1 PRECEDING)")),
            6 => Expression::of(&format!("FIRST_VALUE(#) OVER ({partition} ORDER BY {ids})"), [number]),
            _ => Expression::of(&format!("MAX(#) OVER ({partition})"), [number]),
        };
        query.items.push(Item { expression, alias: Some("win".to_owned()) });
    }

    /// ORDER BY: columns, their aliases, their numbers, and at times other expressions.
    pub(super) fn order(&mut self, query: &mut Query, scope: &Scope) {
        let is_wide = query.options.contains("DISTINCT") || !query.groups.is_empty();
        for _ in 0..self.dice.within(1..4) {
            let direction = *self.dice.pick(&["", "", " ASC", " DESC", " DESC"]);
            let is_star = |item: &Item| item.expression.to_string().ends_with('*');
            // A window cannot be ordered by another one.
            let count = query.items.iter().filter(|item| item.alias.as_deref() != Some("win")).count();
            let at = self.dice.below(count);
            let item = query.items[at].clone();
            let is_of_star = query.items.iter().any(is_star);
            let (written, meant) = match self.dice.below(10) {
                // A constant would be taken for a number of a column.
                0 | 1 if !is_of_star => (Expression::leaf((at + 1).to_string()), item.expression),
                2..4 if item.alias.is_some() && is_only(query, &item) => {
                    (Expression::leaf(item.alias.clone().unwrap_or_default()), item.expression)
                }
                4 if !is_wide => {
                    let expression = self.expression(scope, 1);
                    let both = Expression::of("COALESCE(#, NULL)", [expression]);
                    (both.clone(), both)
                }
                _ if is_wide => match query.groups.first() {
                    Some(group) => (group.clone(), group.clone()),
                    None => (Expression::leaf((at + 1).to_string()), item.expression),
                },
                _ => {
                    let (column, _) = self.ordered_column(scope);
                    (column.clone(), column)
                }
            };
            query.order.push(Term { written, meant, direction });
        }
    }

    /// A column, with its table in front: an alias goes before a column's name.
    fn ordered_column(&mut self, scope: &Scope) -> (Expression, Type) {
        loop {
            let at = self.dice.below(scope.len());
            let column = self.dice.pick(&self.tables[scope.table(at)].columns);
            let is_odd = column.of.family() == Family::Other && !matches!(column.of, Type::Time(_));
            if !is_odd || self.dice.chance(5) {
                let name = format!("{}.{}", scope.alias(at), column.name);
                return (Expression::leaf(name), column.of.clone());
            }
        }
    }
}

/// Whether no other item has the alias of this one.
fn is_only(query: &Query, item: &Item) -> bool {
    query.items.iter().filter(|other| other.alias == item.alias).count() == 1
}
