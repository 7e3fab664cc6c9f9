//! A template says what the planner says of each statement with its outline, or nothing.

use super::super::{Goes, Template};
use super::*;

/// Queries with `{}` in the place of a value.
const QUERIES: [&str; 9] = [
    "SELECT * FROM orders WHERE user_id = {}",
    "SELECT name FROM shop.orders AS o WHERE o.user_id = {} AND id > 5 ORDER BY 1 LIMIT 3",
    "SELECT COUNT(*) FROM orders WHERE (state = 1 AND {} = user_id) FOR UPDATE",
    "SELECT * FROM orders WHERE user_id = {} AND user_id = 6",
    "SELECT * FROM orders WHERE user_id = {} OR id = 3",
    "SELECT * FROM orders WHERE id = {}",
    "SELECT * FROM orders WHERE user_id = -{}",
    "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = {})",
    "SELECT * FROM events WHERE user_id = {}",
];

const VALUES: [&str; 9] =
    ["6", "7", "1000000", "0", "18446744073709551616", "'6'", "'7'", "'7abc'", "'0007'"];

fn template(sql: &str, parameters: &[Value<'_>]) -> Option<Template> {
    with_request(sql, parameters, |request| match plan(request) {
        Plan::One(branch) => Template::of(request, &[branch]),
        Plan::Many(plan) => Template::of(request, &plan.branches),
        _ => None,
    })
}

/// Where a template says that one server executes a statement.
fn branch(template: &Template, sql: &str, parameters: &[Option<Value<'_>>]) -> Option<Branch> {
    match template.goes(&layout(), sql.as_bytes(), parameters)? {
        Goes::One(branch) => Some(branch),
        Goes::Many(_) => None,
    }
}

fn fill(query: &str, value: &str) -> String {
    query.replace("{}", value)
}

#[test]
fn a_template_never_says_anything_else_than_the_planner() {
    let mut said = 0;
    for query in QUERIES {
        for first in VALUES {
            let Some(template) = template(&fill(query, first), &[]) else { continue };
            for value in VALUES {
                let sql = fill(query, value);
                if let Some(branch) = branch(&template, &sql, &[]) {
                    assert!(matches!(planned(&sql, &[]), Plan::One(_)), "{sql}");
                    let rows = |hostgroup: u32| matches!(planned(&sql, &[]), Plan::One(one) if one.hostgroup == hostgroup);
                    assert!(rows(branch.hostgroup) || sql.contains("user_id = 6"), "{sql}");
                    said += 1;
                }
            }
        }
    }
    assert!(said > 40, "templates have said {said} times where a query goes");
}

#[test]
fn values_of_one_kind_have_one_template() {
    let of_seven = template("SELECT * FROM orders WHERE user_id = 7 LIMIT 1", &[]).unwrap();
    let hostgroup = |sql: &str| branch(&of_seven, sql, &[]).map(|branch| branch.hostgroup);
    assert_eq!(hostgroup("SELECT * FROM orders WHERE user_id = 8 LIMIT 20"), Some(10));
    assert_eq!(hostgroup("SELECT * FROM orders WHERE user_id = 11 LIMIT 1"), Some(13));
    for other in [
        "SELECT * FROM orders WHERE user_id = '8' LIMIT 1",
        "SELECT * FROM orders WHERE user_id = 8.0 LIMIT 1",
        "SELECT * FROM orders WHERE user_id = 8e1 LIMIT 1",
        "SELECT * FROM orders WHERE user_id = 8",
        "SELECT * FROM orders WHERE id = 8 LIMIT 1",
        "SELECT * FROM orders WHERE user_id = 99999999999999999999999 LIMIT 1",
    ] {
        assert_eq!(hostgroup(other), None, "{other}");
    }
}

#[test]
fn executions_of_one_text_have_one_template() {
    let values = [Value::Signed(6), Value::Signed(7), Value::Text(b"7"), Value::Text(b"x"), Value::Null];
    let mut said = 0;
    for query in QUERIES {
        let sql = fill(query, "?");
        for first in values {
            let Some(template) = template(&sql, &[first]) else { continue };
            for value in values {
                if let Some(branch) = branch(&template, &sql, &[Some(value)]) {
                    let Plan::One(one) = planned(&sql, &[value]) else { panic!("{sql} with {value:?}") };
                    assert!(one.hostgroup == branch.hostgroup || sql.contains("user_id = 6"), "{sql}");
                    said += 1;
                }
            }
            let is_by_parameter = !sql.contains("user_id = 6");
            for unknown in [&[][..], &[None]] {
                let branch = branch(&template, &sql, unknown);
                assert_ne!(branch.is_none(), !is_by_parameter, "{sql} with {unknown:?}");
            }
            let other = format!("{sql} ");
            assert!(branch(&template, &other, &[Some(first)]).is_none(), "{other}");
        }
    }
    assert!(said > 10, "templates have said {said} times where an execution goes");
}

#[test]
fn what_changes_rows_or_names_has_no_template() {
    for sql in [
        "UPDATE orders SET name = 'a' WHERE user_id = 7",
        "DELETE FROM orders WHERE user_id = 7",
        "INSERT INTO orders (user_id) VALUES (7)",
        "SELECT * FROM events WHERE user_id = 7",
        "SELECT * FROM countries WHERE id = 7",
    ] {
        assert!(template(sql, &[]).is_none(), "{sql}");
    }
}

/// Queries of several shards with `{}` and `[]` in the places of values.
const WIDE: [&str; 19] = [
    "SELECT id FROM orders WHERE (user_id, id) IN (({}, 1), ([], 2))",
    "SELECT id FROM orders WHERE user_id = id AND id IN ({}, [])",
    "SELECT * FROM orders WHERE user_id IN ({}, [])",
    "SELECT name FROM orders WHERE user_id IN ({}, []) ORDER BY id",
    "SELECT name FROM orders WHERE user_id BETWEEN {} AND [] ORDER BY 1",
    "SELECT * FROM orders WHERE user_id > {} AND [] >= user_id AND id = 5",
    "SELECT * FROM orders WHERE user_id > {} AND user_id > []",
    "SELECT * FROM orders WHERE id = {} OR user_id = []",
    "SELECT * FROM orders WHERE id = {} AND name < [] ORDER BY id LIMIT 3",
    "SELECT id, 5 FROM orders WHERE user_id IN ({}, [])",
    "SELECT id FROM events WHERE user_id IN ({}, []) AND id > 3",
    "SELECT id FROM events e WHERE e.user_id IN ({}, []) ORDER BY e.id",
    "SELECT id FROM orders WHERE user_id IN ({}, []) LIMIT 3 OFFSET 4",
    "SELECT id FROM orders WHERE user_id IN ({}, -[])",
    "SELECT id FROM orders WHERE user_id IN ({}, []) AND user_id IN (6, 7)",
    "SELECT id FROM orders WHERE user_id NOT IN ({}, [])",
    "SELECT id FROM orders WHERE user_id IN ({}, []) AND id IN (SELECT 1)",
    "SELECT user_id, COUNT(*) FROM orders WHERE user_id IN ({}, []) GROUP BY user_id",
    "SELECT DISTINCT user_id, 'a' FROM orders WHERE (user_id IN ({}, [])) ORDER BY user_id",
];

#[test]
fn a_template_says_what_shards_get_as_the_planner_does() {
    let (mut same, mut made) = (0, 0);
    for query in WIDE {
        let pairs = || VALUES.iter().flat_map(|one| VALUES.map(|other| (*one, other)));
        let filled = |(one, other): (&str, &str)| fill(query, one).replace("[]", other);
        for first in pairs().step_by(7) {
            let Some(template) = template(&filled(first), &[]) else { continue };
            made += 1;
            for sql in pairs().map(filled) {
                let is_as_planned = match template.goes(&layout(), sql.as_bytes(), &[]) {
                    Some(Goes::One(branch)) => planned(&sql, &[]) == Plan::One(branch),
                    Some(Goes::Many(branches)) => {
                        let Plan::Many(plan) = planned(&sql, &[]) else { panic!("{sql}") };
                        let Plan::Many(of_first) = planned(&filled(first), &[]) else { panic!("{sql}") };
                        assert_eq!((plan.order, plan.window), (of_first.order, of_first.window), "{sql}");
                        plan.branches == branches
                    }
                    None => continue,
                };
                assert!(is_as_planned, "{sql}");
                same += 1;
            }
        }
    }
    assert!(made > 40 && same > 1000, "{made} templates have said {same} times where a query goes");
}

#[test]
fn a_template_of_several_shards_holds_for_executions() {
    let sql = "SELECT id FROM events WHERE user_id IN (?, ?) AND id > ? ORDER BY id";
    let values = |one: i64, other: i64| [one, other, 3].map(Value::Signed);
    let template = template(sql, &values(6, 7)).unwrap();
    for (one, other) in [(6, 7), (7, 8), (1, 4), (5, 5)] {
        let values = values(one, other);
        let goes = template.goes(&layout(), sql.as_bytes(), &values.map(Some));
        match planned(sql, &values) {
            Plan::Many(plan) => assert_eq!(goes, Some(Goes::Many(plan.branches)), "{values:?}"),
            _ => assert_eq!(goes, None, "it has another name there: {values:?}"),
        }
    }
    assert_eq!(template.goes(&layout(), sql.as_bytes(), &[None, None, None]), None);
    let limited = "SELECT id FROM orders WHERE user_id IN (?, ?) LIMIT ?";
    assert!(self::template(limited, &values(6, 7)).is_none(), "what it keeps of rows is another number");
}
