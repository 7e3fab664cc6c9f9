use std::ops::Bound;

use super::*;
use crate::condition::Test;
use crate::groovy::Template;
use crate::placement::sphere::Inline;

const BIGINT: ColumnType = ColumnType::Integer { min: i64::MIN, max: i64::MAX.cast_unsigned() };

fn level(column: usize, shards: u32, nodes: Option<Vec<Shards>>) -> Level {
    Level { columns: vec![column], function: Function::Modulo(Modulo { shards, sign: Sign::Floor }), nodes }
}

/// Two databases with two tables each: nodes 0 and 1 are in the first.
fn grid() -> Placement {
    let set = |shards: &[Shard]| shards.iter().copied().collect::<Shards>();
    let databases = level(0, 2, Some(vec![set(&[0, 1]), set(&[2, 3])]));
    let tables = level(1, 2, Some(vec![set(&[0, 2]), set(&[1, 3])]));
    Placement::new(4, vec![databases, tables])
}

fn condition(test: Test<'_>) -> Condition<'_> {
    Condition { column: BIGINT, test }
}

fn equal(value: i64) -> Condition<'static> {
    condition(Test::Equal(Value::Signed(value)))
}

fn some(shards: &[Shard]) -> Prune {
    Prune::Some(shards.iter().copied().collect())
}

#[test]
fn levels_narrow_each_other() {
    let any = condition(Test::Any);
    assert_eq!(grid().prune(&[equal(1), equal(0)]), Prune::One(2));
    assert_eq!(grid().prune(&[equal(1), any]), some(&[2, 3]));
    assert_eq!(grid().prune(&[any, equal(0)]), some(&[0, 2]));
    assert_eq!(grid().prune(&[any, any]), Prune::All(Reason::NoCondition));
    let both = [Value::Signed(0), Value::Signed(1)];
    assert_eq!(grid().prune(&[condition(Test::In(&both)), any]), Prune::All(Reason::Covers));
    assert_eq!(grid().place(&[(BIGINT, Value::Signed(1)), (BIGINT, Value::Signed(1))]), Ok(3));
    assert_eq!(grid().place(&[(BIGINT, Value::Signed(1)), (BIGINT, Value::Null)]), Err(Reason::Null));
}

#[test]
fn lists_and_ranges_need_the_shards_of_their_keys() {
    let placement = Placement::new(8, vec![level(0, 8, None)]);
    let list = [Value::Signed(9), Value::Null, Value::Signed(-1)];
    assert_eq!(placement.prune(&[condition(Test::In(&list))]), some(&[1, 7]));
    assert_eq!(placement.prune(&[condition(Test::In(&[Value::Null]))]), Prune::All(Reason::Null));
    let inexact = [Value::Signed(9), Value::Text(b"5abc")];
    assert_eq!(placement.prune(&[condition(Test::In(&inexact))]), Prune::All(Reason::Inexact));
    let range = |lower, upper| condition(Test::Range(Bound::Included(Value::Signed(lower)), upper));
    assert_eq!(placement.prune(&[range(7, Bound::Excluded(Value::Signed(9)))]), some(&[0, 7]));
    assert_eq!(placement.prune(&[range(7, Bound::Excluded(Value::Signed(99)))]), Prune::All(Reason::Range));
    assert_eq!(placement.prune(&[range(7, Bound::Unbounded)]), Prune::All(Reason::Range));
}

#[test]
fn one_node_needs_no_condition() {
    let placement = Placement::new(1, Vec::new());
    assert_eq!(placement.prune(&[]), Prune::One(0));
    assert_eq!(placement.place(&[]), Ok(0));
    let spread = Placement::new(2, Vec::new());
    assert_eq!(spread.prune(&[]), Prune::All(Reason::NoCondition));
    assert_eq!(spread.place(&[]), Err(Reason::NoCondition));
}

fn inline(source: &str, columns: &[&str], hint: bool) -> Placement {
    let names = ["t_0", "t_1", "t_2"].map(str::to_owned);
    let function = Function::Inline(Inline::new(Template::parse(source, columns).unwrap(), &names));
    let columns = if hint { Vec::new() } else { (0..columns.len()).collect() };
    Placement::new(3, vec![Level { columns, function, nodes: None }])
}

#[test]
fn expressions_of_several_columns_take_all_combinations() {
    let placement = inline("t_${(a + b) % 3}", &["a", "b"], false);
    let list = [Value::Signed(0), Value::Signed(1)];
    assert_eq!(placement.prune(&[equal(1), equal(4)]), Prune::One(2));
    assert_eq!(placement.prune(&[condition(Test::In(&list)), equal(1)]), some(&[1, 2]));
    assert_eq!(placement.prune(&[equal(1), condition(Test::Any)]), Prune::All(Reason::NoCondition));
    let long = vec![Value::Signed(0); 300];
    assert_eq!(placement.prune(&[condition(Test::In(&long)), equal(1)]), Prune::All(Reason::Combinations));
    assert_eq!(placement.prune(&[equal(-1), equal(-1)]), Prune::All(Reason::OutOfRange));
    let text = Condition { column: ColumnType::Text, test: Test::Equal(Value::Text(b"x")) };
    assert_eq!(placement.prune(&[text, equal(1)]), Prune::All(Reason::Collation));
}

#[test]
fn integers_that_wrap_are_looked_for_as_both_types() {
    let placement = inline("t_${Math.abs(a * 3 + 1) % 3}", &["a"], false);
    assert_eq!(placement.prune(&[equal(5)]), Prune::One(1));
    assert_eq!(placement.prune(&[equal(1_000_000_000)]), some(&[0, 1]));
    assert_eq!(placement.place(&[(BIGINT, Value::Signed(1_000_000_000))]), Ok(0));
}

#[test]
fn a_hint_names_the_shard_where_nothing_else_can() {
    let placement = inline("t_${value % 3}", &["value"], true);
    assert_eq!(placement.prune(&[equal(1)]), Prune::All(Reason::Hint));
    assert_eq!(placement.hinted(Key::Integer(4)), Prune::One(1));
    assert_eq!(placement.place(&[(BIGINT, Value::Signed(1))]), Err(Reason::Hint));
}

#[test]
fn equal_keys_are_together_only_where_the_function_sees_them_as_equal() {
    let of = |function| {
        let level = Level { columns: vec![0], function, nodes: None };
        Placement::new(2, vec![level])
    };
    let hash = |weights| of(Function::Hash(Hash { shards: 2, weights }));
    assert!(hash(false).keeps_equal_together(&[BIGINT]));
    assert!(hash(true).keeps_equal_together(&[ColumnType::Text]));
    assert!(!hash(false).keeps_equal_together(&[ColumnType::Text]));
    assert!(hash(false).keeps_equal_together(&[ColumnType::Bytes { length_max: 9 }]));
    assert!(!hash(false).keeps_equal_together(&[ColumnType::Unknown]));
    let java = |normalized| of(Function::HashMod(sphere::HashMod { shards: 2, normalized }));
    assert!(!java(false).keeps_equal_together(&[BIGINT]));
    assert!(java(true).keeps_equal_together(&[BIGINT]));
    let unsigned = |max| ColumnType::Integer { min: 0, max };
    assert!(java(false).keeps_equal_together(&[unsigned(u32::MAX.into())]));
    assert!(!java(false).keeps_equal_together(&[unsigned(u64::MAX)]));
    assert!(grid().keeps_equal_together(&[BIGINT, BIGINT]));
    assert!(!grid().keeps_equal_together(&[BIGINT]));
    assert!(!inline("t_${value % 3}", &["value"], true).keeps_equal_together(&[BIGINT]));
    assert!(Placement::new(1, Vec::new()).keeps_equal_together(&[]));
}

#[test]
fn integers_that_came_as_negative_ones_are_looked_for_in_both_places() {
    let modulo = |sign| {
        let level =
            Level { columns: vec![0], function: Function::Modulo(Modulo { shards: 7, sign }), nodes: None };
        Placement::new(7, vec![level])
    };
    let column = ColumnType::Integer { min: 0, max: u64::MAX };
    let prune =
        |sign, value| modulo(sign).prune(&[Condition { column, test: Test::Equal(Value::Unsigned(value)) }]);
    // 2^64 - 1 is 1 modulo 7, and -1 is 6.
    assert_eq!(prune(Sign::Floor, u64::MAX), Prune::One(1));
    assert_eq!(prune(Sign::Java, u64::MAX), some(&[1, 6]));
    assert_eq!(prune(Sign::Java, 8), Prune::One(1));
    let at = Bound::Included(Value::Unsigned(u64::MAX));
    let range = Condition { column, test: Test::Range(at, at) };
    assert_eq!(modulo(Sign::Floor).prune(&[range]), Prune::One(1));
    assert_eq!(modulo(Sign::Java).prune(&[range]), Prune::All(Reason::Range));
    assert!(!modulo(Sign::Java).keeps_equal_together(&[column]));
    assert!(modulo(Sign::Java).keeps_equal_together(&[BIGINT]));
}
