//! A template says what the planner says of each statement with its outline, or nothing.

use super::super::Template;
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

fn template(sql: &str) -> Option<Template> {
    with_request(sql, &[], |request| Template::of(request, &plan(request)))
}

fn fill(query: &str, value: &str) -> String {
    query.replace("{}", value)
}

#[test]
fn a_template_never_says_anything_else_than_the_planner() {
    let layout = layout();
    let mut said = 0;
    for query in QUERIES {
        for first in VALUES {
            let Some(template) = template(&fill(query, first)) else { continue };
            for value in VALUES {
                let sql = fill(query, value);
                if let Some(branch) = template.branch(&layout, sql.as_bytes(), &[]) {
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
    let layout = layout();
    let of_seven = template("SELECT * FROM orders WHERE user_id = 7 LIMIT 1").unwrap();
    let hostgroup = |sql: &str| of_seven.branch(&layout, sql.as_bytes(), &[]).map(|branch| branch.hostgroup);
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
    let layout = layout();
    let values = [Value::Signed(6), Value::Signed(7), Value::Text(b"7"), Value::Text(b"x"), Value::Null];
    let mut said = 0;
    for query in QUERIES {
        let sql = fill(query, "?");
        for first in values {
            let made = with_request(&sql, &[first], |request| Template::of(request, &plan(request)));
            let Some(template) = made else { continue };
            for value in values {
                if let Some(branch) = template.branch(&layout, sql.as_bytes(), &[Some(value)]) {
                    let Plan::One(one) = planned(&sql, &[value]) else { panic!("{sql} with {value:?}") };
                    assert!(one.hostgroup == branch.hostgroup || sql.contains("user_id = 6"), "{sql}");
                    said += 1;
                }
            }
            let is_by_parameter = !sql.contains("user_id = 6");
            for unknown in [&[][..], &[None]] {
                let branch = template.branch(&layout, sql.as_bytes(), unknown);
                assert_ne!(branch.is_none(), !is_by_parameter, "{sql} with {unknown:?}");
            }
            let other = format!("{sql} ");
            assert!(template.branch(&layout, other.as_bytes(), &[Some(first)]).is_none(), "{other}");
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
        "SELECT * FROM orders WHERE user_id > 7",
    ] {
        assert!(template(sql).is_none(), "{sql}");
    }
}
