//! What holds for all rows of a statement's tables that matter for its result.

mod joins;

use std::ops::Bound;
use std::rc::Rc;

use shard::Value;
use sql::parse::{Kind, NodeId, Operator, Step, Tree};

use super::columns::ColumnOf;
use super::origin::{self, Origin};
use super::uses::Uses;
use super::{FACTS_MAX, Request, text};

/// Conditions and equalities, in any order.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    pub(super) tests: Vec<(ColumnOf, Test<'a>)>,
    pub(super) equalities: Vec<Equality>,
    /// Conditions that were looked at.
    looked: usize,
}

/// A comparison of a column with constants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test<'a> {
    Equal(Value<'a>),
    In(Rc<[Value<'a>]>),
    Range(Bound<Value<'a>>, Bound<Value<'a>>),
}

/// A row of the table of `from` matters for a row of that of `to` only if both columns are equal:
/// what holds for `from` holds for `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Equality {
    pub(super) from: ColumnOf,
    pub(super) to: ColumnOf,
}

/// Which tables a condition says something about.
#[derive(Clone, Copy)]
enum Within {
    /// Those of this query block: a condition of a subquery says nothing about rows around it.
    Block(NodeId),
    /// Those below this node: the side of an outer join that may be missing.
    Side(NodeId),
}

/// The facts of a statement: of its `WHERE` clauses and of its joins.
pub(super) fn of<'a>(request: &Request<'a>, uses: &Uses<'a>) -> Facts<'a> {
    let mut facts = Facts::default();
    let tree = request.tree;
    let Some(root) = tree.root() else { return facts };
    for step in tree.walk(root) {
        let Step::Enter(id) = step else { continue };
        match tree.kind(id) {
            Kind::Where => {
                if let Some((condition, block)) = tree.children(id).next().zip(tree.block(id)) {
                    facts.add(request, uses, condition, Within::Block(block));
                }
            }
            Kind::Join(join) => facts.add_join(request, uses, id, join),
            _ => {}
        }
    }
    facts
}

impl<'a> Facts<'a> {
    /// A condition that is met by every row that matters.
    fn add(&mut self, request: &Request<'a>, uses: &Uses<'a>, id: NodeId, within: Within) {
        let tree = request.tree;
        // Long chains of AND are flat: no recursion.
        let mut open = vec![id];
        while let Some(id) = open.pop()
            && self.looked < FACTS_MAX
            && !self.is_full()
        {
            let id = text::without_parens(tree, id);
            match tree.kind(id) {
                Kind::Binary(Operator::And) => {
                    open.extend(tree.children(id));
                    continue;
                }
                Kind::Binary(operator) => self.add_comparison(request, uses, id, operator, within),
                Kind::In { not: false } => self.add_list(request, uses, id, within),
                Kind::Between { not: false } => self.add_between(request, uses, id, within),
                _ => {}
            }
            self.looked += 1;
        }
    }

    /// Fewer facts prune less, and are as true.
    fn is_full(&self) -> bool {
        self.tests.len() >= FACTS_MAX || self.equalities.len() >= FACTS_MAX
    }

    fn add_comparison(
        &mut self,
        request: &Request<'a>,
        uses: &Uses<'a>,
        id: NodeId,
        operator: Operator,
        within: Within,
    ) {
        let mut operands = request.tree.children(id);
        let (Some(left), Some(right)) = (operands.next(), operands.next()) else { return };
        if let Some(pairs) = paired(request.tree, left, right) {
            if matches!(operator, Operator::Equal | Operator::NullSafeEqual) {
                for pair in pairs.take(FACTS_MAX) {
                    self.compare(request, uses, pair, operator, within);
                }
            }
            return;
        }
        self.compare(request, uses, [left, right], operator, within);
    }

    /// A comparison of two expressions.
    fn compare(
        &mut self,
        request: &Request<'a>,
        uses: &Uses<'a>,
        [left, right]: [NodeId; 2],
        operator: Operator,
        within: Within,
    ) {
        let columns = [left, right].map(|id| origin::of(request, uses, id));
        match columns {
            [Some(left), Some(right)] if operator == Operator::Equal => {
                self.add_equality(request, [left, right], within);
            }
            [Some(column), None] => {
                let value = text::constant(request, right);
                let test = value.and_then(|value| test(operator, value));
                self.add_test(request, column, test, within);
            }
            [None, Some(column)] => {
                let value = text::constant(request, left);
                let test = value.and_then(|value| test(mirrored(operator), value));
                self.add_test(request, column, test, within);
            }
            _ => {}
        }
    }

    fn add_list(&mut self, request: &Request<'a>, uses: &Uses<'a>, id: NodeId, within: Within) {
        let tree = request.tree;
        let mut operands = tree.children(id);
        let list = |id: &NodeId| tree.kind(*id) == Kind::List;
        let Some((operand, list)) = operands.next().zip(operands.next().filter(list)) else { return };
        let operand = text::without_parens(tree, operand);
        if tree.kind(operand) == Kind::Tuple {
            for (part, number) in tree.children(operand).zip(0..FACTS_MAX) {
                let Some(column) = origin::of(request, uses, part) else { continue };
                let value = |row| {
                    let is_known = uses.budget.take(number + 1);
                    is_known.then(|| integer_in_row(request, row, number)).flatten()
                };
                let values: Option<Rc<[_]>> = tree.children(list).map(value).collect();
                self.add_test(request, column, values.map(Test::In), within);
            }
            return;
        }
        let Some(column) = origin::of(request, uses, operand) else { return };
        let values: Option<Rc<[_]>> = tree.children(list).map(|id| text::constant(request, id)).collect();
        self.add_test(request, column, values.map(Test::In), within);
    }

    fn add_between(&mut self, request: &Request<'a>, uses: &Uses<'a>, id: NodeId, within: Within) {
        let mut operands = request.tree.children(id);
        let column = operands.next().and_then(|id| origin::of(request, uses, id));
        let mut end = || operands.next().and_then(|id| text::constant(request, id));
        let (lower, upper) = (end(), end());
        let Some(column) = column else { return };
        let test = lower.zip(upper);
        let test = test.map(|(lower, upper)| Test::Range(Bound::Included(lower), Bound::Included(upper)));
        self.add_test(request, column, test, within);
    }

    fn add_test(&mut self, request: &Request<'a>, tested: Origin, test: Option<Test<'a>>, within: Within) {
        if let Some(test) = test
            && !self.is_full()
            && within.has(request, &tested)
        {
            self.tests.push((tested.column, test));
        }
    }

    fn add_equality(&mut self, request: &Request<'a>, [left, right]: [Origin; 2], within: Within) {
        let [has_left, has_right] = [&left, &right].map(|origin| within.has(request, origin));
        let (left, right) = (left.column, right.column);
        if self.is_full() {
            return;
        }
        if has_right {
            self.equalities.push(Equality { from: left.clone(), to: right.clone() });
        }
        if has_left {
            self.equalities.push(Equality { from: right, to: left });
        }
    }
}

impl Within {
    /// Whether rows of the column's table do not matter if they do not meet the condition.
    fn has(self, request: &Request<'_>, column: &Origin) -> bool {
        let tree = request.tree;
        match self {
            Self::Block(block) => tree.block(column.seen) == Some(block),
            Self::Side(side) => {
                let (side, seen) = (tree.span(side), tree.span(column.seen));
                side.start <= seen.start && seen.end <= side.end
            }
        }
    }
}

fn test(operator: Operator, value: Value<'_>) -> Option<Test<'_>> {
    Some(match operator {
        Operator::Equal => Test::Equal(value),
        Operator::NullSafeEqual if value != Value::Null => Test::Equal(value),
        Operator::Less => Test::Range(Bound::Unbounded, Bound::Excluded(value)),
        Operator::LessEqual => Test::Range(Bound::Unbounded, Bound::Included(value)),
        Operator::Greater => Test::Range(Bound::Excluded(value), Bound::Unbounded),
        Operator::GreaterEqual => Test::Range(Bound::Included(value), Bound::Unbounded),
        _ => return None,
    })
}

/// The operands of a comparison of rows: equal rows are those whose parts are equal.
fn paired(tree: &Tree, left: NodeId, right: NodeId) -> Option<impl Iterator<Item = [NodeId; 2]>> {
    let [left, right] = [left, right].map(|id| text::without_parens(tree, id));
    let are_rows = [left, right].iter().all(|id| tree.kind(*id) == Kind::Tuple);
    are_rows.then(|| tree.children(left).zip(tree.children(right)).map(|(left, right)| [left, right]))
}

/// A constant of a row in a list of rows. Servers compare other types there in ways of their own.
fn integer_in_row<'a>(request: &Request<'a>, row: NodeId, number: usize) -> Option<Value<'a>> {
    let row = text::without_parens(request.tree, row);
    let part = request.tree.children(row).nth(number)?;
    let value = text::constant(request, part).filter(|_| request.tree.kind(row) == Kind::Tuple);
    value.filter(|value| matches!(value, Value::Signed(_) | Value::Unsigned(_) | Value::Null))
}

/// The operator with its operands exchanged.
pub(super) const fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        other => other,
    }
}
