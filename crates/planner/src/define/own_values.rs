//! Values that each server makes for itself: copies of a reference table with them differ.

use sql::lexer::{Kind, Token};
use sql::shape::{Effects, follows_timestamp, function_effects, needs_no_parentheses};
use sql::{Lexer, Modes};

use super::table::{ColumnDefinition, DefaultValue};

/// The first function that an expression or the body of a trigger calls whose value is one server's
/// own: of the time, of chance, of a session. In lower case. Stored functions are not looked into.
pub(super) fn function(sql: &str) -> Option<String> {
    functions(sql).into_iter().next()
}

/// All of them.
fn functions(sql: &str) -> Vec<String> {
    let tokens: Vec<Token> = Lexer::new(sql.as_bytes(), Modes::default()).collect();
    let own = tokens.iter().enumerate().filter_map(|(at, token)| {
        let name = sql.get(token.start..token.end).filter(|_| token.kind == Kind::Word)?;
        let name = name.to_ascii_lowercase();
        let is_sign = |at: usize, sign| tokens.get(at).is_some_and(|token| token.kind == Kind::Sign(sign));
        let is_called = is_sign(at + 1, b'(');
        if !is_called && !needs_no_parentheses(&name) {
            return None;
        }
        let has_arguments = is_called && !is_sign(at + 2, b')');
        let own = Effects::VOLATILE | Effects::READS_SESSION | Effects::SEQUENCE;
        function_effects(&name, has_arguments).is_some_and(|effects| effects.intersects(own)).then_some(name)
    });
    own.collect()
}

/// The function whose value a column gets where a statement says none. The time is no such value: a
/// change at several servers has one.
pub(super) fn of_column(column: &ColumnDefinition) -> Option<String> {
    let of_default = match &column.default {
        DefaultValue::Expression(text) => besides_time(text),
        DefaultValue::Missing | DefaultValue::Null | DefaultValue::Constant(_) => None,
    };
    of_default.or_else(|| {
        let extra = column.extra.to_ascii_lowercase();
        besides_time(extra.split_once("on update")?.1)
    })
}

/// The first function that an expression calls whose value is one server's own, but for the time.
fn besides_time(sql: &str) -> Option<String> {
    functions(sql).into_iter().find(|name| !follows_timestamp(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_server_are_found() {
        for (sql, expected) in [
            ("uuid()", Some("uuid")),
            ("(RAND() * 5)", Some("rand")),
            ("CURRENT_TIMESTAMP", Some("current_timestamp")),
            ("current_timestamp(6)", Some("current_timestamp")),
            ("concat('now()', `uuid`, 5)", None),
            ("BEGIN INSERT INTO log (id) VALUES (NEW.id); SET NEW.at = NOW(); END", Some("now")),
            ("SET NEW.who = CONNECTION_ID()", Some("connection_id")),
            ("SET NEW.total = NEW.price * NEW.pieces /* now() */", None),
            ("SET NEW.now = 1", None),
        ] {
            assert_eq!(function(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn a_change_has_one_time_at_all_servers() {
        for (default, expected) in [
            ("CURRENT_TIMESTAMP", None),
            ("concat(now(), uuid())", Some("uuid")),
            ("sysdate()", Some("sysdate")),
        ] {
            assert_eq!(besides_time(default).as_deref(), expected, "{default}");
        }
    }
}
