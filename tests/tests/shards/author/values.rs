//! Expressions of numbers, texts and moments.

use crate::expression::{self, Expression};
use crate::types::{self, Family, Type};

use super::Author;
use super::scope::Scope;

impl Author<'_> {
    /// The name of a column of a table of the scope.
    pub(super) fn named(&mut self, scope: &Scope, at: usize, name: &str) -> String {
        let alias = scope.alias(at);
        let table = self.tables[scope.table(at)].name;
        let name = match self.dice.below(12) {
            0 => format!("`{name}`"),
            1 => name.to_uppercase(),
            _ => name.to_owned(),
        };
        match self.dice.below(10) {
            // Only where it is of one table.
            0..6 if scope.len() == 1 => name,
            6 if self.names_schema && alias == table && !self.hides(alias) => format!("w.{alias}.{name}"),
            7 => format!("`{alias}`.{name}"),
            _ => format!("{alias}.{name}"),
        }
    }

    /// Whether a common table has this name.
    fn hides(&self, name: &str) -> bool {
        self.prefix.starts_with(&format!("WITH {name} "))
    }

    /// A column of this family, and its type.
    pub(super) fn column(&mut self, scope: &Scope, family: Family) -> Option<(Expression, Type)> {
        let mut found = Vec::new();
        for at in 0..scope.len() {
            for column in &self.tables[scope.table(at)].columns {
                if column.of.family() == family {
                    found.push((at, column));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        let (at, column) = *self.dice.pick(&found);
        let name = self.named(scope, at, &column.name);
        Some((Expression::leaf(name), column.of.clone()))
    }

    /// Any column.
    pub(super) fn any_column(&mut self, scope: &Scope) -> (Expression, Type) {
        let at = self.dice.below(scope.len());
        let table = &self.tables[scope.table(at)];
        let column = self.dice.pick(&table.columns);
        let name = self.named(scope, at, &column.name);
        (Expression::leaf(name), column.of.clone())
    }

    /// An expression of any family.
    pub(super) fn expression(&mut self, scope: &Scope, depth: usize) -> Expression {
        match self.dice.below(8) {
            0..3 => self.number(scope, depth),
            3..5 => self.text(scope, depth),
            5 => self.moment(scope, depth),
            6 => self.condition(scope, depth),
            _ => self.any_column(scope).0,
        }
    }

    pub(super) fn number(&mut self, scope: &Scope, depth: usize) -> Expression {
        let literal = |author: &mut Self| {
            let integer = types::integer(&mut author.dice, -1);
            Expression::leaf(match author.dice.below(8) {
                0 => format!("{integer}.5"),
                1 => format!("'{integer}'"),
                5 => expression::value(&integer.to_string()),
                2 => format!("{integer}e0"),
                3 => "NULL".to_owned(),
                4 => "TRUE".to_owned(),
                _ => integer.to_string(),
            })
        };
        if depth == 0 || self.dice.chance(40) {
            return match self.column(scope, Family::Number) {
                Some((column, _)) if self.dice.chance(70) => column,
                _ => literal(self),
            };
        }
        let depth = depth - 1;
        match self.dice.below(16) {
            0 => Expression::of("(# + 0e0 + #)", [self.number(scope, depth), self.number(scope, depth)]),
            1 => Expression::of("(# * 1.0)", [self.number(scope, depth)]),
            2 => Expression::of("(# % 7)", [self.number(scope, depth)]),
            3 => Expression::of("ROUND(#, 1)", [self.number(scope, depth)]),
            4 => Expression::of("FLOOR(#)", [self.number(scope, depth)]),
            5 => Expression::of("LENGTH(#)", [self.text(scope, depth)]),
            6 => Expression::of("CHAR_LENGTH(#)", [self.text(scope, depth)]),
            7 => Expression::of(
                "IFNULL(# + 0e0, # + 0e0)",
                [self.number(scope, depth), self.number(scope, depth)],
            ),
            8 => Expression::of(
                "CASE WHEN # THEN # + 0e0 ELSE # + 0e0 END",
                [self.condition(scope, depth), self.number(scope, depth), self.number(scope, depth)],
            ),
            9 => Expression::of("CAST(# AS SIGNED)", [self.text(scope, depth)]),
            10 => Expression::of("YEAR(#)", [self.moment(scope, depth)]),
            11 => Expression::of("CAST(# AS DECIMAL(20, 3))", [self.number(scope, depth)]),
            12 => Expression::of("(# DIV 3)", [self.number(scope, depth)]),
            13 => Expression::of("(0e0 - #)", [self.number(scope, depth)]),
            14 => self.scalar_subquery(scope),
            _ => Expression::of("STRCMP(#, 'a')", [self.text(scope, depth)]),
        }
    }

    pub(super) fn text(&mut self, scope: &Scope, depth: usize) -> Expression {
        if depth == 0 || self.dice.chance(50) {
            return match self.column(scope, Family::Text) {
                Some((column, _)) if self.dice.chance(75) => column,
                _ => Expression::leaf(format!("'{}'", types::ascii(&mut self.dice))),
            };
        }
        let depth = depth - 1;
        match self.dice.below(9) {
            0 => Expression::of("CONCAT(#, 'x')", [self.text(scope, depth)]),
            1 => Expression::of("UPPER(#)", [self.text(scope, depth)]),
            2 => Expression::of("LOWER(#)", [self.text(scope, depth)]),
            3 => Expression::of("SUBSTRING(#, 1, 1)", [self.text(scope, depth)]),
            4 => Expression::of("COALESCE(#, 'n')", [self.text(scope, depth)]),
            5 => Expression::of("HEX(#)", [self.text(scope, depth)]),
            6 => Expression::of("TRIM(#)", [self.text(scope, depth)]),
            7 => Expression::of("CAST(# AS CHAR)", [self.number(scope, depth)]),
            _ => Expression::of("DATE_FORMAT(#, '%Y')", [self.moment(scope, depth)]),
        }
    }

    pub(super) fn moment(&mut self, scope: &Scope, depth: usize) -> Expression {
        if depth == 0 || self.dice.chance(60) {
            return match self.column(scope, Family::Moment) {
                Some((column, _)) if self.dice.chance(75) => column,
                _ => Expression::leaf(format!("DATE '{}'", types::day(&mut self.dice))),
            };
        }
        match self.dice.below(3) {
            0 => Expression::of("# + INTERVAL 1 DAY", [self.moment(scope, depth - 1)]),
            1 => Expression::of("DATE(#)", [self.moment(scope, depth - 1)]),
            _ => Expression::of("LAST_DAY(#)", [self.moment(scope, depth - 1)]),
        }
    }

    /// A value of a subquery: of a colocated table, by the key, or of the reference table.
    pub(super) fn scalar_subquery(&mut self, scope: &Scope) -> Expression {
        let value = *self.dice.pick(&["COUNT(*)", "MAX(x.id)", "SUM(x.id)", "MIN(x.cc)", "COUNT(x.cc)"]);
        let outer = scope.alias(0).to_owned();
        if scope.table(0) > 1 || self.dice.chance(30) {
            return Expression::leaf(format!("(SELECT {value} FROM r x WHERE x.cc = {outer}.cc)"));
        }
        let table = self.tables[self.dice.below(2)].name;
        Expression::leaf(format!("(SELECT {value} FROM {table} x WHERE x.k = {outer}.k)"))
    }
}
