//! The shards of each table of a statement, by the facts.

use std::collections::{HashMap, HashSet};
use std::ops::Bound as End;

use shard::{ColumnType, Condition, Node, Prune, Reason, Shard, Shards, Table, Test as KeyTest};
use sql::parse::{Kind, NodeId, Step};

use super::columns::{self, ColumnOf};
use super::facts::{Equality, Facts, Test};
use super::origin::Origin;
use super::refusal::Cause;
use super::uses::{Use, Uses};
use super::{FACTS_MAX, Refusal, Request};

/// What was found out about the tables.
#[derive(Debug)]
pub(super) struct Bound {
    /// By the numbers of the uses; nothing for tables that are not sharded.
    prunes: Vec<Option<Prune>>,
    /// Equalities over which conditions may be handed on: the types of both columns allow it.
    equalities: Vec<Equality>,
}

/// Where each table of a statement is that goes to one server.
pub(super) struct Places<'a> {
    /// The servers.
    pub(super) hostgroup: u32,
    /// By the numbers of the uses; nothing for tables that the layout does not name.
    pub(super) nodes: Vec<Option<&'a Node>>,
}

impl Bound {
    /// Binds the tables of a statement to their shards.
    pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>, facts: &Facts<'_>) -> Self {
        let is_exact = |equality: &Equality| {
            let types = [&equality.from, &equality.to].map(|column| columns::compares(request, uses, column));
            have_equal_constants(types)
        };
        let equalities: Vec<_> =
            facts.equalities.iter().filter(|equality| is_exact(equality)).cloned().collect();
        let mut tests: HashMap<usize, Vec<(ColumnOf, Test<'_>)>> = HashMap::new();
        for (column, test) in handed_on(&facts.tests, &equalities) {
            tests.entry(column.table).or_default().push((column, test));
        }
        let prune_of = |(number, table): (usize, &Use<'_>)| {
            let placement = table.table?.placement()?;
            let keys: Vec<_> = keys_of(table.table?, number).collect();
            let tests = tests.get(&number).map_or(&[][..], Vec::as_slice);
            let tested: Vec<_> = keys.iter().map(|key| tightest(tests, key)).collect();
            let conditions: Vec<_> = keys
                .iter()
                .zip(&tested)
                .map(|(key, test)| Condition {
                    column: columns::compares(request, uses, key),
                    test: test.as_ref().map_or(KeyTest::Any, Test::as_condition),
                })
                .collect();
            let values = |test: &Option<Test<'_>>| test.as_ref().map_or(1, Test::values);
            uses.budget.take(tests.len() + tested.iter().map(values).sum::<usize>());
            uses.budget.check(request).ok()?;
            Some(placement.prune(&conditions))
        };
        let prunes: Vec<_> = uses.all().iter().enumerate().map(prune_of).collect();
        Self { prunes, equalities }
    }

    /// The shards that a sharded table needs, by the table's number among the uses.
    pub(super) fn prune(&self, number: usize) -> Option<&Prune> {
        self.prunes.get(number)?.as_ref()
    }

    /// Says that all rows of a table that matter are in this shard.
    pub(super) fn place(&mut self, table: usize, shard: Shard) {
        if let Some(prune) = self.prunes.get_mut(table) {
            *prune = Some(Prune::One(shard));
        }
    }

    /// The one server that has all rows that matter, if there is one. Of several that have, plain
    /// reads may choose any; others take the first, so that their locks meet.
    pub(super) fn one_server<'a>(&self, request: &Request<'_>, uses: &Uses<'a>) -> Option<Places<'a>> {
        let mut candidates: Option<Vec<u32>> = None;
        uses.budget.take(uses.all().len());
        for (table, prune) in uses.all().iter().zip(&self.prunes) {
            let hostgroups = match (table.table, prune) {
                // Tables that the layout does not name have a home of their own.
                (None, _) | (Some(_), Some(Prune::Some(_) | Prune::All(_))) => return None,
                (Some(table), Some(Prune::One(shard))) => {
                    vec![table.nodes().get(usize::try_from(*shard).ok()?)?.hostgroup]
                }
                (Some(table), None) => table.nodes().iter().map(|node| node.hostgroup).collect(),
            };
            candidates = Some(match candidates {
                None => hostgroups,
                Some(mut so_far) => {
                    so_far.retain(|hostgroup| hostgroups.contains(hostgroup));
                    so_far
                }
            });
        }
        let candidates = candidates?;
        let may_choose = candidates.len() > 1 && is_plain_query(request);
        let choice = if may_choose { request.asked.choice } else { 0 };
        let hostgroup = *candidates.get(choice.checked_rem(candidates.len())?)?;
        let node_of = |(table, prune): (&Use<'a>, &Option<Prune>)| {
            let nodes = table.table?.nodes();
            match prune {
                Some(Prune::One(shard)) => nodes.get(usize::try_from(*shard).ok()?),
                _ => nodes.iter().find(|node| node.hostgroup == hostgroup),
            }
        };
        Some(Places { hostgroup, nodes: uses.all().iter().zip(&self.prunes).map(node_of).collect() })
    }

    /// The shards that a statement needs whose sharded tables are joined by their keys, and why it
    /// needs more than one.
    pub(super) fn shards(&self, request: &Request<'_>, uses: &Uses<'_>) -> Result<(Shards, Reason), Refusal> {
        let sharded: Vec<_> = uses.sharded().collect();
        self.check_connected(request, uses, &sharded)?;
        let mut all = Shards::default();
        let mut why = Reason::Covers;
        for number in sharded {
            let nodes = uses.get(number).and_then(|table| table.table).map_or(0, |table| table.nodes().len());
            match self.prunes.get(number) {
                Some(Some(Prune::One(shard))) => all.insert(*shard),
                Some(Some(Prune::Some(shards))) => all.extend(shards),
                Some(Some(Prune::All(reason))) => {
                    why = *reason;
                    all.extend(&(0..Shard::try_from(nodes).unwrap_or(Shard::MAX)).collect());
                }
                _ => {}
            }
        }
        Ok((all, why))
    }

    /// Checks that all sharded tables hang together by equalities of their whole keys, and that
    /// equal keys are on the same servers.
    fn check_connected(
        &self,
        request: &Request<'_>,
        uses: &Uses<'_>,
        sharded: &[usize],
    ) -> Result<(), Refusal> {
        // The rows of one table decide which rows of the others matter: over an outer join or a
        // subquery, an equality leads one way only.
        let mut led: HashMap<usize, Vec<usize>> = HashMap::new();
        for equality in &self.equalities {
            let pair = [equality.from.table, equality.to.table];
            let to = led.entry(pair[0]).or_default();
            uses.budget.take(self.equalities.len() + to.len());
            uses.budget.check(request)?;
            if pair[0] != pair[1] && !to.contains(&pair[1]) && self.leads(request, uses, pair) {
                to.push(pair[1]);
            }
        }
        let reach = |root: usize, inside: &mut HashSet<usize>| {
            let mut open: Vec<_> = inside.insert(root).then_some(root).into_iter().collect();
            while let Some(table) = open.pop() {
                let next = led.get(&table).map_or(&[][..], Vec::as_slice);
                open.extend(next.iter().filter(|table| inside.insert(**table)));
            }
        };
        // A table that leads to all others leads to all that come behind it: of those that nothing
        // in front of them leads to, only the last one can.
        let (mut seen, mut last) = (HashSet::new(), None);
        for root in sharded {
            if !seen.contains(root) {
                reach(*root, &mut seen);
                last = Some(*root);
            }
        }
        let left_by = |root: usize| {
            let mut inside = HashSet::new();
            reach(root, &mut inside);
            sharded.iter().find(|table| !inside.contains(table)).copied()
        };
        uses.budget.take(3 * sharded.len());
        let lone =
            last.and_then(left_by).and_then(|_| left_by(*sharded.first()?)).and_then(|left| uses.get(left));
        lone.map_or(Ok(()), |table| Err(Cause::NotColocated.at(table.reference.name)))
    }

    /// Whether rows of the second table matter only for rows of the first one with the same key.
    fn leads(&self, request: &Request<'_>, uses: &Uses<'_>, pair: [usize; 2]) -> bool {
        let [Some(one), Some(other)] = pair.map(|number| uses.get(number)) else { return false };
        let [Some(one_table), Some(other_table)] = [one.table, other.table] else { return false };
        let names = [one.name.as_str(), other.name.as_str()];
        let is_same = one.schema == other.schema
            && (names[0] == names[1] || request.layout.is_colocated(&one.schema, names));
        let [one, other] = pair;
        let mut keys = keys_of(one_table, one).zip(keys_of(other_table, other));
        is_same
            && keeps_together(request, uses, one)
            && keeps_together(request, uses, other)
            && one_table.key_columns().len() == other_table.key_columns().len()
            && keys.all(|(one, other)| {
                self.equalities.iter().any(|equality| equality.from == one && equality.to == other)
            })
    }
}

/// Whether a statement is a query that locks no rows.
fn is_plain_query(request: &Request<'_>) -> bool {
    let tree = request.tree;
    let Some(root) = tree.root() else { return false };
    let is_locking = |step| matches!(step, Step::Enter(id) if tree.kind(id) == Kind::Locking);
    tree.children(root).all(|id| matches!(tree.kind(id), Kind::Query | Kind::With { .. }))
        && !tree.walk(root).any(is_locking)
}

/// Whether the rows of a group by these columns are in one shard: the whole key of a table that the
/// query block sees is among them, equal keys are together, and no row lacks the table.
pub(super) fn has_key(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, among: &[Origin]) -> bool {
    let has = |key: ColumnOf| {
        let is_it = |one: &Origin| one.column == key && !one.is_nullable;
        among.iter().any(|one| is_it(one) && request.tree.block(one.seen) == Some(block))
    };
    uses.budget.take(uses.all().len().saturating_mul(among.len() + 1));
    uses.all().iter().enumerate().any(|(number, table)| {
        keeps_together(request, uses, number)
            && table.table.is_some_and(|table| keys_of(table, number).all(has))
    })
}

/// Whether rows of a sharded table whose keys are equal for the server are in one shard.
fn keeps_together(request: &Request<'_>, uses: &Uses<'_>, number: usize) -> bool {
    let Some(table) = uses.get(number).and_then(|table| table.table) else { return false };
    let types: Vec<_> = keys_of(table, number).map(|key| columns::compares(request, uses, &key)).collect();
    !types.is_empty() && table.placement().is_some_and(|placement| placement.keeps_equal_together(&types))
}

/// The key columns of a table.
fn keys_of(table: &Table, number: usize) -> impl Iterator<Item = ColumnOf> + '_ {
    table.key_columns().iter().map(move |name| ColumnOf { table: number, name: name.to_lowercase() })
}

/// Whether equal values of both columns are equal to the same constants.
const fn have_equal_constants(types: [ColumnType; 2]) -> bool {
    matches!(
        types,
        [ColumnType::Integer { .. }, ColumnType::Integer { .. }]
            | [ColumnType::Date, ColumnType::Date]
            | [ColumnType::DateTime { .. }, ColumnType::DateTime { .. }]
    )
}

/// The tests, and those that follow from them by the equalities.
fn handed_on<'a>(tests: &[(ColumnOf, Test<'a>)], equalities: &[Equality]) -> Vec<(ColumnOf, Test<'a>)> {
    // Each with the number of the test that it comes of: lists are long.
    let mut all: Vec<(ColumnOf, usize)> =
        tests.iter().enumerate().map(|(number, (column, _))| (column.clone(), number)).collect();
    let mut done = 0;
    while let Some((column, number)) = all.get(done).cloned() {
        done += 1;
        for equality in equalities.iter().filter(|equality| equality.from == column) {
            let new = (equality.to.clone(), number);
            // Fewer facts prune less, and are as true.
            if all.len() < FACTS_MAX && !all.contains(&new) {
                all.push(new);
            }
        }
    }
    all.into_iter().filter_map(|(column, number)| Some((column, tests.get(number)?.1.clone()))).collect()
}

/// The test of a column that leaves the fewest values.
fn tightest<'a>(tests: &[(ColumnOf, Test<'a>)], column: &ColumnOf) -> Option<Test<'a>> {
    let own = || tests.iter().filter(|(of, _)| of == column).map(|(_, test)| test);
    if let Some(equal) = own().find(|test| matches!(test, Test::Equal(_))) {
        return Some(equal.clone());
    }
    if let Some(list) = own().find(|test| matches!(test, Test::In(_))) {
        return Some(list.clone());
    }
    own().fold(None, |range, test| match (range, test) {
        (Some(Test::Range(lower, upper)), Test::Range(other_lower, other_upper)) => {
            // Of two lower ends any one is true; the second is only taken if there was none.
            let lower = if lower == End::Unbounded { *other_lower } else { lower };
            let upper = if upper == End::Unbounded { *other_upper } else { upper };
            Some(Test::Range(lower, upper))
        }
        (None, test) => Some(test.clone()),
        (range, _) => range,
    })
}

impl Test<'_> {
    /// How many values it compares with.
    fn values(&self) -> usize {
        match self {
            Test::In(values) => values.len(),
            Test::Equal(_) | Test::Range(..) => 1,
        }
    }

    fn as_condition(&self) -> KeyTest<'_> {
        match self {
            Test::Equal(value) => KeyTest::Equal(*value),
            Test::In(values) => KeyTest::In(values),
            Test::Range(lower, upper) => KeyTest::Range(*lower, *upper),
        }
    }
}
