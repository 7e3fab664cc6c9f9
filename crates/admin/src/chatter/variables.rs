//! Variables of a MySQL server that drivers ask for, though the admin port is none.

use crate::answer::Answer;

use super::row;

/// Their values.
const VALUES: [(&str, &str); 32] = [
    ("auto_increment_increment", "1"),
    ("autocommit", "1"),
    ("character_set_client", "utf8"),
    ("character_set_connection", "utf8"),
    ("character_set_database", "utf8"),
    ("character_set_results", "utf8"),
    ("character_set_server", "utf8"),
    ("collation_connection", "utf8_general_ci"),
    ("collation_database", "utf8_general_ci"),
    ("collation_server", "utf8_general_ci"),
    ("have_query_cache", "NO"),
    ("init_connect", ""),
    ("interactive_timeout", "28800"),
    ("language", ""),
    ("license", ""),
    ("lower_case_table_names", ""),
    ("max_allowed_packet", "67108864"),
    ("net_buffer_length", "16384"),
    ("net_write_timeout", "60"),
    ("performance_schema", "0"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("sql_auto_is_null", "0"),
    // As the status flags say: text follows SQLite's rules, which know no backslashes.
    ("sql_mode", "NO_BACKSLASH_ESCAPES"),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("transaction_read_only", "0"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("tx_read_only", "0"),
    ("wait_timeout", "28800"),
    ("server_id", "0"),
];

/// Values where `SHOW VARIABLES WHERE Variable_name in (...)` says something else than [`VALUES`].
const LISTED: [(&str, &str); 2] = [
    ("max_allowed_packet", "4194304"),
    ("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES"),
];

/// `SELECT @@a, @@session.b AS c, ... [LIMIT 1]` with nothing but variables that are known here.
/// One variable alone is answered only if it is of a session or of MySQL itself;
/// `@@max_allowed_packet` alone is the proxy's.
///
/// `fact` knows what is asked for besides: `VERSION()`, `DATABASE()` and the like.
pub(super) fn selected(statement: &str, fact: impl Fn(&str) -> Option<String>) -> Option<Answer> {
    let list = uncommented(statement);
    let list =
        list.get(..7).filter(|word| word.eq_ignore_ascii_case("SELECT ")).and_then(|_| list.get(7..))?;
    let list = cut_end(list, " LIMIT 1");
    let items: Vec<&str> = list.split(',').map(str::trim).collect();
    let alone = items.len() == 1;
    if alone && items.iter().any(|item| item.eq_ignore_ascii_case("@@max_allowed_packet")) {
        return None;
    }
    let mut cells = Vec::new();
    for item in &items {
        let (variable, column) = split_alias(item)?;
        if let Some(value) = fact(variable) {
            cells.push((column, value));
            continue;
        }
        let name = variable.strip_prefix("@@")?;
        let name = ["session.", "global."]
            .iter()
            .find_map(|scope| {
                let head = name.get(..scope.len())?;
                head.eq_ignore_ascii_case(scope).then(|| name.get(scope.len()..))?
            })
            .unwrap_or(name);
        let value = VALUES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?.1;
        cells.push((column, value.to_owned()));
    }
    let cells: Vec<_> = cells.iter().map(|(column, value)| (*column, value.as_str())).collect();
    Some(row(&cells))
}

/// The rows of `SHOW VARIABLES WHERE Variable_name IN ('a','b', ...)`, given in upper case; nothing
/// unless all are known.
pub(super) fn listed(words: &str) -> Option<Answer> {
    let (_, list) = words.split_once('(')?;
    let names = list.strip_suffix(')')?.split(',').map(str::trim);
    let mut rows = Vec::new();
    for name in names {
        let name = crate::command::unquoted(name).to_ascii_lowercase();
        let known = LISTED.iter().chain(&VALUES).find(|(known, _)| *known == name)?;
        rows.push(vec![Some(name.into_bytes()), Some(known.1.as_bytes().to_vec())]);
    }
    Some(Answer::Rows { columns: vec!["Variable_name".to_owned(), "Value".to_owned()], rows })
}

/// A statement without the comment that it begins with.
fn uncommented(statement: &str) -> &str {
    let rest = statement.strip_prefix("/*").filter(|rest| !rest.starts_with(['!', 'M']));
    rest.and_then(|rest| rest.split_once("*/")).map_or(statement, |(_, rest)| rest.trim_start())
}

/// `text` without `end` (in any case).
fn cut_end<'a>(text: &'a str, end: &str) -> &'a str {
    let cut = text.len().checked_sub(end.len());
    match cut.and_then(|at| Some((text.get(..at)?, text.get(at..)?))) {
        Some((head, tail)) if tail.eq_ignore_ascii_case(end) => head,
        _ => text,
    }
}

/// A variable and the name of its column; nothing if there is more than that.
fn split_alias(item: &str) -> Option<(&str, &str)> {
    let Some((variable, rest)) = item.split_once(' ') else { return Some((item, item)) };
    let alias = match rest.split_once(' ') {
        Some((word, alias)) => word.eq_ignore_ascii_case("AS").then_some(alias)?,
        None => rest,
    };
    let alias = crate::command::unquoted(alias);
    (!alias.contains(' ')).then_some((variable, alias))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_question_of_connector_j() {
        let text = "/* mysql-connector-j-9.1.0 (Revision: ab) */SELECT @@session.auto_increment_increment AS \
                    auto_increment_increment, @@character_set_client AS character_set_client";
        let expected = row(&[("auto_increment_increment", "1"), ("character_set_client", "utf8")]);
        assert_eq!(selected(text, |_| None), Some(expected));
    }

    #[test]
    fn the_question_of_connector_net() {
        let text = "select @@max_allowed_packet, @@character_set_client, @@character_set_connection, @@license, @@sql_mode, \
                    @@lower_case_table_names";
        let Some(Answer::Rows { rows, .. }) = selected(text, |_| None) else { panic!("no rows") };
        let cells: Vec<_> =
            rows.concat().into_iter().flatten().map(|cell| String::from_utf8(cell).unwrap()).collect();
        assert_eq!(cells, ["67108864", "utf8", "utf8", "", "NO_BACKSLASH_ESCAPES", ""]);
    }

    #[test]
    fn unknown_variables_and_more_than_variables_are_for_sqlite() {
        for text in [
            "SELECT @@a, @@sql_mode",
            "SELECT @@sql_mode FROM t",
            "SELECT 1",
            "SELECT @@max_allowed_packet",
            "",
        ] {
            assert_eq!(selected(text, |_| None), None, "{text}");
        }
        assert_eq!(
            selected("select @@sql_mode", |_| None),
            Some(row(&[("@@sql_mode", "NO_BACKSLASH_ESCAPES")]))
        );
        assert_eq!(selected("SELECT @@session.tx_isolation limit 1", |_| None).map(|_| ()), Some(()));
        // Connector/J, before it executes a statement that may write.
        assert_eq!(
            selected("select @@session.transaction_read_only", |_| None),
            Some(row(&[("@@session.transaction_read_only", "0")]))
        );
    }

    #[test]
    fn the_list_of_the_old_connector_j() {
        let text = "SHOW VARIABLES WHERE VARIABLE_NAME IN ('MAX_ALLOWED_PACKET','SQL_MODE','TIME_ZONE')";
        let Some(Answer::Rows { rows, .. }) = listed(text) else { panic!("no rows") };
        let values: Vec<_> =
            rows.iter().filter_map(|row| String::from_utf8(row.get(1)?.clone()?).ok()).collect();
        assert_eq!(
            values,
            ["4194304", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES", "SYSTEM"]
        );
        assert_eq!(listed("SHOW VARIABLES WHERE VARIABLE_NAME IN ('MYSQL-THREADS')"), None);
    }
}
