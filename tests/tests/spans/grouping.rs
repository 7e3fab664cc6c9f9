//! Operators are grouped as servers group them: an expression means the same with the parentheses
//! that its tree gives it.

use std::fmt::Write as _;

use e2e::dice::Dice;
use e2e::{Backend, run};
use sql::parse::Settings;

use super::{SYNTAX_ERROR, answer, connected, is_operation, parenthesised, settings};

/// Expressions for each mode, if the environment does not say how many.
const CASES: usize = 330;

/// The modes that change how operators are read, and some that must not.
const MODES: [&str; 6] = [
    "",
    "PIPES_AS_CONCAT",
    "HIGH_NOT_PRECEDENCE",
    "PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE",
    "ANSI_QUOTES,IGNORE_SPACE",
    "NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,ANSI_QUOTES",
];

const OPERANDS: [&str; 19] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "10",
    "0.5",
    "2e0",
    "'a'",
    "'b'",
    "'1'",
    "'3'",
    "'%'",
    "NULL",
    "TRUE",
    "(2)",
    "IF(1, 2, 3)",
    "'2026-01-31'",
];

const PREFIXES: [&str; 6] = ["NOT ", "! ", "- ", "~ ", "BINARY ", "+ "];

const OPERATORS: [&str; 34] = [
    "OR",
    "||",
    "XOR",
    "AND",
    "&&",
    "=",
    "<=>",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "DIV",
    "%",
    "MOD",
    "^",
    "|",
    "&",
    "<<",
    ">>",
    "LIKE",
    "NOT LIKE",
    "REGEXP",
    "NOT REGEXP",
    "SOUNDS LIKE",
    "+ INTERVAL 1 DAY +",
    "OR NOT",
    "AND NOT",
    "RLIKE",
];

const POSTFIXES: [&str; 14] = [
    "IS NULL",
    "IS NOT NULL",
    "IS TRUE",
    "IS NOT FALSE",
    "IS UNKNOWN",
    "IN (1, 2)",
    "NOT IN (0, NULL)",
    "COLLATE utf8mb4_bin",
    "+ INTERVAL 1 MONTH",
    "- INTERVAL 2 DAY",
    "IN (SELECT 1)",
    "= ANY (SELECT 1)",
    "< ALL (SELECT 2)",
    "LIKE 'a' ESCAPE 'b'",
];

/// A random expression without parentheses around its parts.
fn expression(dice: &mut Dice, depth: usize) -> String {
    let mut text = String::new();
    if depth == 0 && dice.chance(3) {
        text.push_str("INTERVAL 1 DAY + ");
    }
    let parts = 2 + dice.below(5);
    for part in 0..parts {
        if part > 0 {
            text.push(' ');
            if dice.chance(8) {
                let not = if dice.chance(30) { "NOT BETWEEN" } else { "BETWEEN" };
                write!(text, "{not} {} AND", operand(dice, depth)).unwrap();
            } else {
                text += *dice.pick(&OPERATORS);
            }
            text.push(' ');
        }
        text.push_str(&operand(dice, depth));
        if dice.chance(15) {
            text.push(' ');
            text += *dice.pick(&POSTFIXES);
        }
    }
    text
}

fn operand(dice: &mut Dice, depth: usize) -> String {
    let mut text = String::new();
    while dice.chance(15) {
        text += *dice.pick(&PREFIXES);
    }
    match dice.below(30) {
        0 if depth < 2 => write!(text, "({})", expression(dice, depth + 1)).unwrap(),
        1 if depth < 2 => {
            let [when, then] = [(); 2].map(|()| expression(dice, depth + 1));
            write!(text, "CASE WHEN {when} THEN {then} ELSE 4 END").unwrap();
        }
        2 if depth < 2 => write!(text, "@v := {}", expression(dice, depth + 1)).unwrap(),
        _ => text += *dice.pick(&OPERANDS),
    }
    text
}

pub(super) fn operators_are_grouped_as_servers_group_them(db: &'static Backend) {
    grouped(db, CASES, 8);
}

fn grouped(db: &'static Backend, cases: usize, seed: u64) {
    let default = settings(db);
    for (number, modes) in MODES.into_iter().enumerate() {
        let mut settings = Settings {
            pipes_as_concat: modes.contains("PIPES"),
            high_not_precedence: modes.contains("HIGH"),
            ..default
        };
        settings.modes.ansi_quotes = modes.contains("ANSI");
        settings.modes.no_backslash_escapes = modes.contains("BACKSLASH");
        let mut dice = Dice::new(seed, number);
        run(async {
            let mut client = connected(db).await;
            client.query(&format!("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,{modes}'")).await.unwrap();
            let (mut tried, mut taken, mut same) = (0, 0, 0);
            let mut wrong = Vec::new();
            while taken < cases {
                tried += 1;
                let sql = format!("SELECT {}", expression(&mut dice, 0));
                let expected = answer(&mut client, &sql).await;
                if expected == Err(SYNTAX_ERROR) {
                    continue;
                }
                taken += 1;
                match parenthesised(&sql, &settings, is_operation) {
                    Ok(text) => {
                        let found = answer(&mut client, &text).await;
                        if found == expected {
                            same += 1;
                        } else {
                            wrong.push(format!("{sql}\n  {text}\n  {expected:?}, {found:?}"));
                        }
                    }
                    Err(reason) => wrong.push(format!("{sql}\n  {reason}")),
                }
            }
            println!("{:?} {modes:?}: tried {tried}, taken {taken}, the same {same}", db.make);
            wrong.sort_by_key(String::len);
            wrong.truncate(30);
            assert!(wrong.is_empty(), "in the mode {modes:?}:\n{}", wrong.join("\n"));
        });
    }
}

/// So many expressions, from a seed.
fn measured(db: &'static Backend) {
    let number = |name: &str, other| std::env::var(name).map_or(other, |text| text.parse().unwrap());
    let cases = number("POINTSMAN_SPANS_CASES", 1_000);
    let seed = number("POINTSMAN_SPANS_SEED", 1);
    grouped(db, usize::try_from(cases).unwrap(), seed);
}

#[test]
#[ignore = "takes minutes"]
fn grouping_measured_on_mariadb() {
    measured(&super::DB);
}

#[test]
#[ignore = "takes minutes"]
fn grouping_measured_on_mysql() {
    measured(super::MYSQL.as_ref().unwrap());
}
