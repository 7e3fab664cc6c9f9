//! What plans of long texts cost, in steps: no text keeps a worker.

use super::*;

/// The shapes of texts whose parts repeat, each with so many parts.
fn shapes(count: usize) -> [(&'static str, String); 12] {
    let all = |between: &str, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(between)
    };
    let from = "SELECT * FROM events WHERE ";
    [
        ("or", from.to_owned() + &all(" OR ", &|i| format!("user_id={i}"))),
        ("comparisons", format!("{from}user_id{}", " = 1".repeat(count))),
        ("and of or", from.to_owned() + &all(" AND ", &|i| format!("(user_id={i} OR user_id=1)"))),
        ("aggregates", format!("SELECT {} FROM events", all(",", &|i| format!("SUM(user_id+{i})")))),
        (
            "order",
            format!(
                "SELECT {} FROM events ORDER BY {}",
                all(",", &|i| format!("user_id AS a{i}")),
                all(",", &|i| format!("a{i}"))
            ),
        ),
        ("in", format!("{from}user_id IN ({})", all(",", &|i| i.to_string()))),
        ("between", format!("{from}user_id BETWEEN 0 AND 9 AND {}", all(" AND ", &|i| format!("id>{i}")))),
        ("names", format!("SELECT {} FROM events", all(", ", &|_| "events.user_id + 1".into()))),
        ("derived", format!("SELECT {} FROM (SELECT * FROM events) d", all(", ", &|_| "d.id".into()))),
        ("update", format!("UPDATE events SET {} WHERE user_id = 1", all(", ", &|_| "user_id = 1".into()))),
        (
            "subqueries",
            from.to_owned() + &all(" AND ", &|_| "id IN (SELECT id FROM events WHERE user_id = 1)".into()),
        ),
        ("union", all(" UNION ALL ", &|i| format!("SELECT * FROM events WHERE id = {i}"))),
    ]
}

/// The steps of a plan, and the nodes of its tree.
fn steps(sql: &str) -> (usize, usize) {
    with_request(sql, &[], |request| {
        let uses = Uses::of(request).unwrap();
        // A refusal is an outcome as any other.
        let _ = unhinted(request, &uses);
        (uses.budget.taken(), request.tree.len())
    })
}

#[test]
fn steps_grow_as_the_text_does() {
    for ((name, one), (_, two)) in shapes(500).iter().zip(&shapes(1_000)) {
        let [(few, nodes), (many, _)] = [one, two].map(|sql| steps(sql));
        assert!(many <= 2 * few + 1_000, "{name}: {few} steps, then {many}");
        assert!(few <= 8 * nodes + 1_000, "{name}: {few} steps of {nodes} nodes");
    }
}

#[test]
fn texts_of_60_kb_take_few_steps() {
    for (name, sql) in shapes(4_000) {
        let (steps, nodes) = steps(&sql);
        assert!(steps <= 8 * nodes, "{name}: {steps} steps of {nodes} nodes");
    }
}

#[test]
fn a_text_that_takes_more_steps_is_refused() {
    let is_refused = |sql: &str| {
        let plan = planned(sql, &[]);
        assert!(matches!(plan, Plan::Refused(Refusal { cause: Cause::Size, .. })), "{sql:.60} {plan:?}");
    };
    // Each level has all names of the one within it, ten times.
    let mut nested = "events".to_owned();
    for level in 0..16 {
        nested = format!("(SELECT *,*,*,*,*,*,*,*,*,* FROM {nested}) e{level}");
    }
    let sql = format!("SELECT a FROM {nested} JOIN users ON a = b");
    assert!(matches!(planned(&sql, &[]), Plan::Refused(_)));
    let tables: Vec<String> = (0..3_000).map(|n| format!(", c{n} AS (SELECT 1 FROM c{n}x)")).collect();
    is_refused(&format!("WITH c AS (SELECT 1){} SELECT * FROM events", tables.concat()));
}
