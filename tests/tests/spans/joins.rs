//! Joins are nested as servers nest them: a statement answers the same with the parentheses that
//! its tree gives its joins.

use std::fmt::Write as _;

use e2e::dice::Dice;
use e2e::{Backend, run};
use sql::parse::Kind;

use super::{SYNTAX_ERROR, answer, connected, parenthesised, settings};

const CASES: usize = 1_000;

const OPERATORS: [&str; 9] = [
    "JOIN",
    "INNER JOIN",
    "CROSS JOIN",
    "STRAIGHT_JOIN",
    "LEFT JOIN",
    "RIGHT OUTER JOIN",
    "LEFT OUTER JOIN",
    "JOIN",
    ",",
];

/// A random list of up to five tables, `t0` to `t4`, joined in any way. Most are nonsense for a
/// server: a condition too many, or one about tables that it does not see.
fn tables(dice: &mut Dice) -> (String, usize) {
    let count = 2 + dice.below(4);
    let mut text = String::from("j0 AS t0");
    let mut open = 0;
    for number in 1..count {
        let operator = *dice.pick(&OPERATORS);
        open = if operator == "," { 0 } else { open + 1 };
        write!(text, " {operator} j{} AS t{number}", dice.below(4)).unwrap();
        while open > 0 && dice.chance(if number + 1 == count { 90 } else { 60 }) {
            open -= 1;
            if dice.chance(10) {
                text += " USING (a)";
            } else {
                let [left, right] = [(); 2].map(|()| dice.below(number + 1));
                let [left_column, right_column] = [(); 2].map(|()| *dice.pick(&["a", "b"]));
                write!(text, " ON t{left}.{left_column} = t{right}.{right_column}").unwrap();
            }
        }
    }
    (text, count)
}

pub(super) fn joins_are_nested_as_servers_nest_them(db: &'static Backend) {
    let settings = settings(db);
    for number in 0..4 {
        db.sql(&format!(
            "CREATE TABLE test.j{number} (a INT, b INT); \
             INSERT INTO test.j{number} VALUES (1, {number}), (2, NULL), ({number}, 2), (NULL, 1)"
        ));
    }
    run(async {
        let mut client = connected(db).await;
        let mut dice = Dice::new(8, 0);
        let (mut answered, mut wrong) = (0, Vec::new());
        for _ in 0..CASES {
            let (tables, count) = tables(&mut dice);
            let columns: Vec<_> = (0..count).map(|number| format!("t{number}.a, t{number}.b")).collect();
            let order: Vec<_> = (1..=2 * count).map(|number| number.to_string()).collect();
            let sql = format!("SELECT {} FROM {tables} ORDER BY {}", columns.join(", "), order.join(", "));
            let expected = answer(&mut client, &sql).await;
            if expected == Err(SYNTAX_ERROR) {
                continue;
            }
            answered += usize::from(expected.is_ok());
            match parenthesised(&sql, &settings, |kind| matches!(kind, Kind::Join(_))) {
                Ok(text) if answer(&mut client, &text).await == expected => {}
                Ok(text) => wrong.push(format!("{sql}\n  {text}")),
                Err(reason) => wrong.push(format!("{sql}\n  {reason}")),
            }
        }
        assert!(answered > CASES / 5, "only {answered} were answered");
        wrong.sort_by_key(String::len);
        wrong.truncate(20);
        assert!(wrong.is_empty(), "of {answered}:\n{}", wrong.join("\n"));
    });
}
