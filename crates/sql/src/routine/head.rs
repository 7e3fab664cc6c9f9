//! Where a routine's body begins, and the names of its parameters.

use super::{behind_parentheses, is_sign, word};
use crate::lexer::Kind;
use crate::shape::pieces::Piece;

/// What may be behind the name of a type.
const OF_TYPES: [&str; 6] = ["unsigned", "zerofill", "signed", "binary", "precision", "varying"];

/// The names of the parameters, in lower case, and the body of
/// `CREATE [DEFINER = ...] PROCEDURE name (...) ...`.
pub(super) fn split(pieces: &[Piece]) -> Option<(Vec<String>, &[Piece])> {
    let at = (0..pieces.len()).find(|at| matches!(word(pieces, *at), "procedure" | "function"))?;
    let named = pieces.get(at + 1).is_some_and(Piece::is_name) && is_sign(pieces, at + 2, b'(');
    if !named {
        return None;
    }
    let behind = behind_parentheses(pieces, at + 2)?;
    let parameters = pieces.get(at + 3..behind - 1)?;
    // MariaDB evaluates what they are by default.
    let is_plain = |piece: &Piece| {
        let is_variable = matches!(piece.kind, Kind::UserVariable | Kind::SystemVariable);
        !is_variable && piece.text != "default"
    };
    if !parameters.iter().all(is_plain) {
        return None;
    }
    let parameters = names(parameters);
    let mut at = behind;
    if word(pieces, at) == "returns" {
        at = behind_type(pieces, at + 1)?;
    }
    while let Some(next) = behind_characteristic(pieces, at) {
        at = next;
    }
    Some((parameters, pieces.get(at..)?))
}

fn names(parameters: &[Piece]) -> Vec<String> {
    let mut depth = 0_usize;
    let all = parameters.split(|piece| {
        match piece.kind {
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && piece.is_sign(b',')
    });
    let name = |parameter: &[Piece]| {
        let has_way = parameter.len() > 2 && matches!(word(parameter, 0), "in" | "out" | "inout");
        let name = parameter.get(usize::from(has_way)).filter(|piece| piece.is_name())?;
        Some(name.written.to_ascii_lowercase())
    };
    all.filter_map(name).collect()
}

/// The place behind the type at `at`.
fn behind_type(pieces: &[Piece], at: usize) -> Option<usize> {
    let mut at = at + 1;
    if is_sign(pieces, at, b'(') {
        at = behind_parentheses(pieces, at)?;
    }
    loop {
        at += match word(pieces, at) {
            "character" if word(pieces, at + 1) == "set" => 3,
            "charset" | "collate" => 2,
            text if OF_TYPES.contains(&text) => 1,
            _ => return Some(at),
        };
    }
}

/// The place behind the characteristic at `at`, if there is one.
fn behind_characteristic(pieces: &[Piece], at: usize) -> Option<usize> {
    let words = (word(pieces, at), word(pieces, at + 1), word(pieces, at + 2));
    let len = match words {
        ("deterministic", ..) => 1,
        ("comment", ..) if pieces.get(at + 1)?.kind == Kind::Text => 2,
        ("language" | "contains" | "no", "sql", _) | ("not", "deterministic", _) => 2,
        ("reads" | "modifies", "sql", "data") | ("sql", "security", "definer" | "invoker") => 3,
        _ => return None,
    };
    Some(at + len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::Modes;
    use crate::shape::pieces::Pieces;

    /// The parameters, and the body's first word.
    fn head(text: &str) -> Option<(String, String)> {
        let all = Pieces::of(text.as_bytes(), Modes::default()).all;
        let (parameters, body) = split(&all)?;
        Some((parameters.join(" "), word(body, 0).to_owned()))
    }

    #[test]
    fn a_body_begins_behind_what_is_said_of_it() {
        for (text, parameters, first) in [
            ("CREATE DEFINER=`a`@`%` PROCEDURE `p`()\nSELECT 1", "", "select"),
            (
                "CREATE PROCEDURE `p`(IN a INT, OUT `B` DECIMAL(10, 2), inout c ENUM('x', 'y'))\nBEGIN END",
                "a b c",
                "begin",
            ),
            (
                "CREATE PROCEDURE p(`in` INT, out_of INT)\n    READS SQL DATA\n    SQL SECURITY INVOKER\n    COMMENT 'begin'\nSET x = 1",
                "in out_of",
                "set",
            ),
            (
                "CREATE DEFINER=`function`@`h` FUNCTION `f`(a INT) RETURNS varchar(20) CHARSET utf8mb4 COLLATE utf8mb4_bin\n    DETERMINISTIC\nRETURN a",
                "a",
                "return",
            ),
            (
                "CREATE FUNCTION `f`(a INT) RETURNS bigint(20) unsigned NO SQL NOT DETERMINISTIC LANGUAGE SQL RETURN a",
                "a",
                "return",
            ),
            (
                "CREATE FUNCTION `f`() RETURNS enum('a','b') CHARACTER SET latin1 CONTAINS SQL RETURN 'a'",
                "",
                "return",
            ),
        ] {
            assert_eq!(head(text), Some((parameters.to_owned(), first.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_routine_has_no_body() {
        for text in [
            "",
            "CREATE PROCEDURE",
            "CREATE PROCEDURE \"p\"() SELECT 1",
            "CREATE PROCEDURE p SELECT 1",
            "CREATE PROCEDURE p(a INT",
            "CREATE FUNCTION f() RETURNS decimal(10",
            "CREATE PROCEDURE p(a INT DEFAULT GET_LOCK('x', 1)) SELECT a",
            "CREATE DEFINER=function@h PROCEDURE p() SELECT 1",
        ] {
            assert_eq!(head(text), None, "{text}");
        }
        // It is no statement that could be judged.
        let javascript = "CREATE FUNCTION f() RETURNS int LANGUAGE JAVASCRIPT AS 'return 1'";
        assert_eq!(head(javascript), Some((String::new(), "language".to_owned())));
    }
}
