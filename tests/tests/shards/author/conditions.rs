//! Conditions, above all those on keys.

use crate::expression::{self, Expression};
use crate::query::Query;
use crate::tables;
use crate::types::{self, Family, Type};

use super::scope::Scope;
use super::{Author, DEPTH};

impl Author<'_> {
    /// The conditions of WHERE.
    pub(super) fn filters(&mut self, query: &mut Query, scope: &Scope) {
        query.filters.clone_from(&scope.pending);
        if self.dice.chance(50) {
            let test = self.key_test(scope);
            query.filters.push(test);
        }
        for _ in 0..self.dice.below(3) {
            let condition = self.condition(scope, DEPTH);
            query.filters.push(condition);
        }
    }

    /// A test of a key.
    pub(super) fn key_test(&mut self, scope: &Scope) -> Expression {
        let at = self.dice.below(scope.len());
        let table = &self.tables[scope.table(at)];
        let key = self.named(scope, at, tables::KEY);
        let [one, other] = [table.some_key(&mut self.dice), table.some_key(&mut self.dice)];
        let [plain, other] = [one.clone(), expression::value(&other)];
        let is_number = matches!(table.key_type(), Type::Integer(..));
        let odd = match self.dice.below(8) {
            0 if is_number => format!("'{plain}'"),
            1 if is_number => format!("'{plain}abc'"),
            2 if is_number => format!("{plain}.0"),
            3 if is_number => format!("'0{plain}'"),
            4 if is_number => format!("-(-({plain}))"),
            5 if is_number => "TRUE".to_owned(),
            6 if matches!(table.key_type(), Type::Date | Type::DateTime(_)) => format!("DATE {plain}"),
            0 => "5".to_owned(),
            1 => format!("CONCAT({plain}, '')"),
            2 => format!("_utf8mb4{plain}"),
            3 => format!("{plain} COLLATE utf8mb4_bin"),
            4 => "NULL".to_owned(),
            _ => format!("({plain})"),
        };
        let one = expression::value(&one);
        Expression::leaf(match self.dice.below(24) {
            0..7 => format!("{key} = {one}"),
            7 => format!("{one} = {key}"),
            8 | 9 => format!("{key} IN ({one}, {other})"),
            10 => format!("{key} BETWEEN {one} AND {other}"),
            11 => format!("{key} >= {one}"),
            12 => format!("{key} < {one}"),
            13 => format!("{key} <=> {one}"),
            14 => format!("({key} = {one} OR {key} = {other})"),
            15 => format!("NOT {key} = {one}"),
            16 => format!("{key} <> {one}"),
            17 => format!("({key} = {one} AND {key} < {other})"),
            18 => format!("{key} IN ({one}, NULL)"),
            19 => format!("{key} NOT IN ({one}, {other})"),
            _ => format!("{key} = {odd}"),
        })
    }

    /// Any condition.
    pub(super) fn condition(&mut self, scope: &Scope, depth: usize) -> Expression {
        if depth > 0 && self.dice.chance(25) {
            let [left, right] = [self.condition(scope, depth - 1), self.condition(scope, depth - 1)];
            let pattern = *self.dice.pick(&["(# AND #)", "(# OR #)", "(# XOR #)", "(NOT # OR #)"]);
            return Expression::of(pattern, [left, right]);
        }
        let depth = depth.saturating_sub(1);
        let operator = *self.dice.pick(&["=", "<", "<=", ">", ">=", "<>", "<=>", "="]);
        match self.dice.below(14) {
            0..3 => {
                let operands = [self.number(scope, depth), self.number(scope, depth)];
                Expression::of(&format!("# {operator} #"), operands)
            }
            3..6 => self.text_test(scope, depth, operator),
            6 => {
                let operands = [self.moment(scope, depth), self.moment(scope, depth)];
                Expression::of(&format!("# {operator} #"), operands)
            }
            7 => {
                let operands = [self.number(scope, depth), self.number(scope, 0), self.number(scope, 0)];
                Expression::of("# BETWEEN # AND #", operands)
            }
            8 => {
                let operands = [self.number(scope, depth), self.number(scope, 0), self.number(scope, 0)];
                Expression::of("# IN (#, #, 3)", operands)
            }
            9 | 10 => {
                let not = if self.dice.chance(50) { "NOT " } else { "" };
                Expression::of(&format!("# IS {not}NULL"), [self.any_column(scope).0])
            }
            11 => self.exists(scope),
            12 => self.key_test(scope),
            _ => {
                let literal = tables::some_text(&mut self.dice);
                let column =
                    self.column(scope, Family::Number).map_or_else(|| self.number(scope, 0), |it| it.0);
                Expression::of(&format!("# {operator} {literal}"), [column])
            }
        }
    }

    fn text_test(&mut self, scope: &Scope, depth: usize, operator: &str) -> Expression {
        if let Some((column, Type::Text(_, collation))) = self.column(scope, Family::Text) {
            let literal = types::text(&mut self.dice, &collation);
            return match self.dice.below(6) {
                0 => Expression::of(&format!("# LIKE '{literal}%'"), [column]),
                1 => Expression::of(&format!("# IN ('{literal}', 'a', 'B')"), [column]),
                2 => {
                    let other = self.text(scope, 0);
                    let wide = "CONVERT(# USING utf8mb4) COLLATE utf8mb4_general_ci";
                    Expression::of(&format!("{wide} {operator} CONVERT(# USING utf8mb4)"), [column, other])
                }
                3 => Expression::of(&format!("# {operator} '{literal}' AND 1"), [column]),
                _ => Expression::of(&format!("# {operator} '{literal}'"), [column]),
            };
        }
        let literal = tables::some_text(&mut self.dice);
        Expression::of(&format!("# {operator} {literal}"), [self.text(scope, depth)])
    }

    /// A condition with a subquery, most of them correlated by the key.
    fn exists(&mut self, scope: &Scope) -> Expression {
        let at = self.dice.below(scope.len());
        let outer = scope.alias(at).to_owned();
        if scope.table(at) > 1 {
            return Expression::leaf(format!("EXISTS (SELECT 1 FROM r x WHERE x.cc = {outer}.cc)"));
        }
        let table = self.tables[self.dice.below(2)].name;
        let mut inner = Scope::default();
        let number = usize::from(table == self.tables[1].name);
        inner.add(number, "x".to_owned());
        let equal = format!("x.k = {outer}.k");
        let condition = self.inner_condition(&inner);
        match self.dice.below(6) {
            0 => Expression::of(
                &format!("NOT EXISTS (SELECT 1 FROM {table} x WHERE {equal} AND #)"),
                [condition],
            ),
            1 => Expression::of(
                &format!("{outer}.id IN (SELECT x.id FROM {table} x WHERE {equal} AND #)"),
                [condition],
            ),
            2 => Expression::of(
                &format!("{outer}.cc NOT IN (SELECT x.cc FROM {table} x WHERE {equal} AND #)"),
                [condition],
            ),
            3 => Expression::of(&format!("{outer}.k IN (SELECT x.k FROM {table} x WHERE #)"), [condition]),
            _ => {
                Expression::of(&format!("EXISTS (SELECT 1 FROM {table} x WHERE {equal} AND #)"), [condition])
            }
        }
    }

    /// A condition without a subquery, of qualified columns.
    fn inner_condition(&mut self, scope: &Scope) -> Expression {
        match self.dice.below(4) {
            0 => Expression::leaf(format!("x.id < {}", self.dice.below(60))),
            1 => Expression::leaf("x.cc IS NOT NULL"),
            2 => Expression::leaf(format!("x.cc > {}", self.dice.below(10))),
            _ => {
                let table = &self.tables[scope.table(0)];
                let key = table.some_key(&mut self.dice);
                Expression::leaf(format!("x.k <> {key}"))
            }
        }
    }
}
