//! What programs made for MySQL show (`mysqladmin`, exporters, graphical clients), and ProxySQL's
//! admin interface does not know.

use super::{fields, identifier, qualified, text};
use crate::command::{Statement, unquoted};
use crate::who::Rights;

/// The words of such a statement that say whose variables or counters are meant: there is one kind
/// of each.
const SCOPES: [&str; 3] = ["GLOBAL", "SESSION", "LOCAL"];

/// What the proxy counts.
const COUNTERS: &str =
    "SELECT Variable_Name AS Variable_name, Variable_Value AS Value FROM stats_mysql_global";

const VARIABLES: &str =
    "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables";

/// Warnings and errors of the statement before: statements here have none that could be asked for.
const NO_CONDITIONS: &str = "SELECT '' AS Level, '' AS Code, '' AS Message WHERE 0";

const ENGINES: &str = "SELECT 'SQLite' AS Engine, 'DEFAULT' AS Support, 'what the admin port keeps its tables in' AS Comment, \
                       'NO' AS Transactions, 'NO' AS XA, 'NO' AS Savepoints";

/// `SHOW /*!40003 GLOBAL */ VARIABLES` as `SHOW GLOBAL VARIABLES`: servers of some version on
/// execute such comments.
pub(super) fn opened(statement: &str) -> Option<String> {
    let (head, rest) = statement.split_once("/*!")?;
    let (inside, tail) = rest.split_once("*/")?;
    let words = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(format!("{head}{} {}", words.trim(), tail.trim_start()))
}

/// The SQL that a statement stands for, if it is one of these.
pub(super) fn rewrite(statement: &Statement<'_>, rights: Rights) -> Option<String> {
    let upper = statement.upper.strip_prefix("SHOW ")?;
    // As it was written: of as many bytes.
    let plain = statement.plain.get(statement.plain.len() - upper.len()..)?;
    match upper {
        "WARNINGS" | "ERRORS" => return Some(NO_CONDITIONS.to_owned()),
        "COUNT(*) WARNINGS" => return Some("SELECT 0 AS \"@@session.warning_count\"".to_owned()),
        "COUNT(*) ERRORS" => return Some("SELECT 0 AS \"@@session.error_count\"".to_owned()),
        "ENGINES" | "STORAGE ENGINES" => return Some(ENGINES.to_owned()),
        _ => {}
    }
    let (scope, named) = word(plain);
    let named = if SCOPES.iter().any(|known| scope.eq_ignore_ascii_case(known)) { named } else { plain };
    let (what, rest) = word(named);
    match &*what.to_ascii_uppercase() {
        "STATUS" => filtered(COUNTERS, rest),
        "VARIABLES" => filtered(VARIABLES, rest),
        "DATABASES" | "SCHEMAS" => {
            let pattern = after(rest, "LIKE")?;
            let pattern = text(unquoted(pattern));
            Some(format!(
                "SELECT name AS Database FROM pragma_database_list WHERE name LIKE {pattern} ESCAPE '\\'"
            ))
        }
        "FULL" => full(rest, rights),
        "COLUMNS" => fields(after(rest, "FROM").or_else(|| after(rest, "IN"))?, rights),
        "INDEX" | "INDEXES" | "KEYS" => keys(after(rest, "FROM").or_else(|| after(rest, "IN"))?),
        _ => None,
    }
}

/// Rows of names and values, as `LIKE` or `WHERE` says, if there is one.
fn filtered(all: &str, rest: &str) -> Option<String> {
    let condition = if rest.is_empty() {
        String::new()
    } else if let Some(pattern) = after(rest, "LIKE") {
        format!(" WHERE Variable_name LIKE {} ESCAPE '\\'", text(unquoted(pattern)))
    } else {
        format!(" WHERE {}", after(rest, "WHERE")?)
    };
    Some(format!("SELECT * FROM ({all}){condition} ORDER BY Variable_name"))
}

/// `SHOW FULL TABLES` and `SHOW FULL COLUMNS`.
fn full(rest: &str, rights: Rights) -> Option<String> {
    let (what, rest) = word(rest);
    match &*what.to_ascii_uppercase() {
        "TABLES" => {
            let named = after(rest, "FROM").or_else(|| after(rest, "IN"));
            let schema = match named {
                Some(name) => unquoted(name),
                None if rest.is_empty() => "main",
                None => return None,
            };
            Some(format!(
                "SELECT name AS {}, 'BASE TABLE' AS Table_type FROM {}.sqlite_master \
                 WHERE type='table' AND name<>'sqlite_sequence' ORDER BY name",
                identifier(&format!("Tables_in_{schema}")),
                identifier(schema),
            ))
        }
        "COLUMNS" | "FIELDS" => {
            let fields = fields(after(rest, "FROM").or_else(|| after(rest, "IN"))?, rights)?;
            Some(format!(
                "SELECT Field, Type, 'utf8_bin' AS Collation, \"Null\", \"Key\", \"Default\", Extra, \
                 'select,insert,update,references' AS \"Privileges\", '' AS Comment FROM ({fields})"
            ))
        }
        _ => None,
    }
}

/// The columns of a table's primary key, in MySQL's columns.
fn keys(name: &str) -> Option<String> {
    let (schema, table) = qualified(name)?;
    let schema = schema.map(|schema| format!(", {}", text(schema))).unwrap_or_default();
    let table = text(table);
    Some(format!(
        "SELECT {table} AS \"Table\", 0 AS Non_unique, 'PRIMARY' AS Key_name, pk AS Seq_in_index, name AS Column_name, \
         'A' AS Collation, NULL AS Cardinality, NULL AS Sub_part, NULL AS Packed, '' AS \"Null\", 'BTREE' AS Index_type, \
         '' AS Comment, '' AS Index_comment FROM pragma_table_info({table}{schema}) WHERE pk > 0 ORDER BY pk"
    ))
}

/// The first word, and what is behind it.
fn word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

/// What is behind this word (in upper case), if `text` begins with it and goes on.
fn after<'a>(text: &'a str, first: &str) -> Option<&'a str> {
    let (head, rest) = word(text);
    (head.eq_ignore_ascii_case(first) && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_servers_execute_are_opened() {
        assert_eq!(opened("show /*!40003 GLOBAL */ variables").as_deref(), Some("show GLOBAL variables"));
        assert_eq!(
            opened("SHOW /*!32332 FULL */ columns from `t`").as_deref(),
            Some("SHOW FULL columns from `t`")
        );
        assert_eq!(opened("SHOW /* plain */ VARIABLES"), None);
        assert_eq!(opened("SHOW /*!40003 GLOBAL"), None);
    }

    #[test]
    fn what_is_no_such_question_is_left_to_others() {
        for text in [
            "SHOW PLUGINS",
            "SHOW STATUS FOR x",
            "SHOW FULL",
            "SHOW FULL TABLES x",
            "SHOW KEYS",
            "SHOW COLUMNS FROM a b",
        ] {
            assert_eq!(rewrite(&Statement::new(text), Rights::Admin), None, "{text}");
        }
    }
}
