//! The values that the conditions of a query have for the key, and where they are in its text.

use std::ops::Bound;

use shard::{Prune, Test, Value};
use sql::Outline;
use sql::digest::Span;
use sql::parse::{Kind, Literal, NodeId, Operator};

use super::Texts;
use crate::plan::columns::{self, ColumnOf};
use crate::plan::facts::mirrored;
use crate::plan::uses::Uses;
use crate::plan::{FACTS_MAX, Request, text};

/// What is asked of the key.
#[derive(Clone, Debug)]
pub(super) enum Sought {
    /// Nothing: all shards may have rows.
    Anything,
    /// That it is this value.
    Equal(Slot),
    /// That it is one of these.
    In(Vec<Slot>),
    /// That it is between these.
    Range(Bound<Slot>, Bound<Slot>),
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot {
    /// It is the plain value with this number, among those of the outline.
    Plain(usize, Literal),
    /// It is the parameter with this number.
    Parameter(usize),
}

/// Where the values of a query are found.
struct Slots<'r, 'a> {
    request: &'r Request<'a>,
    outline: Option<&'r Outline>,
}

impl Sought {
    /// What the `WHERE` of a query asks of the key: of several conditions the one with the fewest
    /// values. None if not all of them are about plain values, or about parameters.
    pub(super) fn of(
        request: &Request<'_>,
        uses: &Uses<'_>,
        key: &ColumnOf,
        clause: NodeId,
        outline: Option<&Outline>,
    ) -> Option<Self> {
        let (tree, slots) = (request.tree, Slots { request, outline });
        let is_key = |id: NodeId| columns::of(request, uses, id).as_ref() == Some(key);
        let (mut found, mut looked) = (Self::Anything, 0);
        let mut open: Vec<_> = tree.children(clause).take(1).collect();
        while let Some(id) = open.pop() {
            let id = text::without_parens(tree, id);
            looked += 1;
            if looked > FACTS_MAX {
                return None;
            }
            let mut operands = tree.children(id);
            let new = match tree.kind(id) {
                Kind::Binary(Operator::And) => {
                    open.extend(operands);
                    continue;
                }
                Kind::Binary(operator) => {
                    let (left, right) = (operands.next()?, operands.next()?);
                    match (is_key(left), is_key(right)) {
                        (true, _) => slots.compared(operator, right)?,
                        (_, true) => slots.compared(mirrored(operator), left)?,
                        _ => continue,
                    }
                }
                Kind::In { not: false } if operands.next().is_some_and(is_key) => {
                    let list = operands.next().filter(|id| tree.kind(*id) == Kind::List)?;
                    Self::In(tree.children(list).map(|id| slots.of(id)).collect::<Option<_>>()?)
                }
                Kind::Between { not: false } if operands.next().is_some_and(is_key) => {
                    let mut end = || operands.next().and_then(|id| slots.of(id)).map(Bound::Included);
                    Self::Range(end()?, end()?)
                }
                _ => continue,
            };
            found = found.or_tighter(new);
        }
        let all = found.slots();
        let parameters = all.iter().filter(|slot| matches!(slot, Slot::Parameter(_))).count();
        (parameters == 0 || parameters == all.len()).then_some(found)
    }

    /// Whether its values are parameters.
    pub(super) fn is_of_parameters(&self) -> bool {
        self.slots().iter().any(|slot| matches!(slot, Slot::Parameter(_)))
    }

    /// Has `prune` look at what a statement asks of the key; none if the statement has another
    /// text, or values that are not known.
    pub(super) fn test(
        &self,
        texts: &Texts,
        sql: &[u8],
        parameters: &[Option<Value<'_>>],
        prune: impl FnOnce(Test<'_>) -> Prune,
    ) -> Option<Prune> {
        let spans = match (texts, self) {
            // Nothing is allocated for one value, which is what most statements have.
            (Texts::Outline(_), Self::Equal(_)) => None,
            (Texts::Outline(outline), _) => Some(outline.values_in(sql)?),
            (Texts::One(text), _) => (**text == *sql).then_some(None)?,
        };
        let value = |slot: &Slot| match (*slot, texts) {
            (Slot::Plain(number, literal), Texts::Outline(outline)) => {
                let all = spans.as_ref().map(|all| all.get(number).copied());
                let span: Span = all.unwrap_or_else(|| outline.value_of(sql, number))?;
                text::literal_value(literal, span.of(sql))
            }
            (Slot::Plain(..), Texts::One(_)) => None,
            (Slot::Parameter(number), _) => *parameters.get(number)?,
        };
        let end = |end: &Bound<Slot>| {
            Some(match end {
                Bound::Included(slot) => Bound::Included(value(slot)?),
                Bound::Excluded(slot) => Bound::Excluded(value(slot)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        Some(match self {
            Self::Anything => prune(Test::Any),
            Self::Equal(slot) => prune(Test::Equal(value(slot)?)),
            Self::In(slots) => prune(Test::In(&slots.iter().map(value).collect::<Option<Vec<_>>>()?)),
            Self::Range(lower, upper) => prune(Test::Range(end(lower)?, end(upper)?)),
        })
    }

    /// Of two conditions that both hold, the one with fewer values, or both ends of a range.
    fn or_tighter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Anything, other) | (other, Self::Anything) => other,
            (equal @ Self::Equal(_), _) | (_, equal @ Self::Equal(_)) => equal,
            (list @ Self::In(_), _) | (_, list @ Self::In(_)) => list,
            (Self::Range(lower, upper), Self::Range(other_lower, other_upper)) => {
                // Of two lower ends any one is true.
                let either = |end: Bound<Slot>, other| if end == Bound::Unbounded { other } else { end };
                Self::Range(either(lower, other_lower), either(upper, other_upper))
            }
        }
    }

    fn slots(&self) -> Vec<Slot> {
        match self {
            Self::Anything => Vec::new(),
            Self::Equal(slot) => vec![*slot],
            Self::In(slots) => slots.clone(),
            Self::Range(lower, upper) => [lower, upper]
                .into_iter()
                .filter_map(|end| match end {
                    Bound::Included(slot) | Bound::Excluded(slot) => Some(*slot),
                    Bound::Unbounded => None,
                })
                .collect(),
        }
    }
}

impl Slots<'_, '_> {
    /// Where the value is that a node is; none if it is no plain value and no parameter.
    fn of(&self, value: NodeId) -> Option<Slot> {
        let tree = self.request.tree;
        match tree.kind(value) {
            // In braces, `{d '2026-11-27'}`, a text is a date.
            Kind::Paren if tree.span(value).of(self.request.sql).starts_with(b"(") => {
                self.of(tree.children(value).next()?)
            }
            Kind::Literal(literal @ (Literal::Integer | Literal::Text)) => {
                Some(Slot::Plain(self.outline?.number_of(tree.span(value))?, literal))
            }
            Kind::Placeholder(number) => Some(Slot::Parameter(usize::try_from(number).ok()?)),
            _ => None,
        }
    }

    /// What a comparison of the key with a value asks.
    fn compared(&self, operator: Operator, value: NodeId) -> Option<Sought> {
        let slot = self.of(value)?;
        Some(match operator {
            Operator::Equal => Sought::Equal(slot),
            Operator::Less => Sought::Range(Bound::Unbounded, Bound::Excluded(slot)),
            Operator::LessEqual => Sought::Range(Bound::Unbounded, Bound::Included(slot)),
            Operator::Greater => Sought::Range(Bound::Excluded(slot), Bound::Unbounded),
            Operator::GreaterEqual => Sought::Range(Bound::Included(slot), Bound::Unbounded),
            _ => return None,
        })
    }
}
