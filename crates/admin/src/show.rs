//! `SHOW ...` as SQL: what MySQL's clients and ProxySQL's operators ask, in words that SQLite
//! understands.
//!
//! Source: ProxySQL 2.7's admin interface, whose columns and order these have.

mod programs;

use crate::command::{Statement, unquoted};
use crate::who::Rights;

/// Statements that are always the same, and what they stand for.
const FIXED: [(&str, &str); 18] = [
    (
        "SHOW TABLES",
        "SELECT name AS tables FROM sqlite_master WHERE type='table' AND name<>'sqlite_sequence' ORDER BY name",
    ),
    ("SHOW DATABASES", "SELECT seq, name, file FROM pragma_database_list"),
    ("SHOW SCHEMAS", "SELECT seq, name, file FROM pragma_database_list"),
    ("SHOW VARIABLES", ALL_VARIABLES),
    ("SHOW ALL VARIABLES", ALL_VARIABLES),
    ("SHOW GLOBAL VARIABLES", ALL_VARIABLES),
    (
        "SHOW MYSQL VARIABLES",
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables WHERE variable_name LIKE 'mysql-%' ORDER BY variable_name",
    ),
    (
        "SHOW ADMIN VARIABLES",
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables WHERE variable_name LIKE 'admin-%' ORDER BY variable_name",
    ),
    (
        "SHOW LDAP VARIABLES",
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables WHERE variable_name LIKE 'ldap-%' ORDER BY variable_name",
    ),
    (
        "SHOW POINTSMAN VARIABLES",
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables WHERE variable_name LIKE 'pointsman-%' ORDER BY variable_name",
    ),
    ("SHOW MYSQL USERS", "SELECT * FROM mysql_users ORDER BY username, active DESC, backend DESC"),
    ("SHOW MYSQL SERVERS", "SELECT * FROM mysql_servers ORDER BY hostgroup_id, hostname, port"),
    (
        "SHOW MYSQL STATUS",
        "SELECT Variable_Name AS Variable_name, Variable_Value AS Value FROM stats_mysql_global ORDER BY variable_name",
    ),
    (
        "SHOW PROCESSLIST",
        "SELECT SessionID, user, db, hostgroup, command, time_ms, substr(info, 1, 100) AS info FROM stats_mysql_processlist",
    ),
    ("SHOW FULL PROCESSLIST", "SELECT * FROM stats_mysql_processlist"),
    ("SHOW CHARSET", CHARSETS),
    ("SHOW CHARACTER SET", CHARSETS),
    (
        "SHOW COLLATION",
        "SELECT Collation, Charset, Id, \"Default\", 'Yes' AS Compiled, 1 AS Sortlen FROM mysql_collations ORDER BY Collation",
    ),
];

const ALL_VARIABLES: &str = "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables ORDER BY variable_name";

const CHARSETS: &str = "SELECT Charset, Collation AS \"Default collation\" FROM mysql_collations WHERE \"Default\"='Yes' ORDER BY Charset";

/// Schemas that an admin sees, in the order in which SQLite looks for a table.
const ADMIN_SCHEMAS: [&str; 5] = ["main", "disk", "stats", "monitor", "stats_history"];

/// Schemas that a stats user sees; its `main` is `stats`.
const STATS_SCHEMAS: [&str; 3] = ["main", "monitor", "stats_history"];

/// The statements without a value, for those who misspell one.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FIXED.iter().map(|(show, _)| *show).chain(std::iter::once("SHOW PROMETHEUS METRICS"))
}

/// The SQL that a SHOW stands for; nothing if the statement is none that is known.
pub(crate) fn rewrite(statement: &Statement<'_>, rights: Rights) -> Option<String> {
    if statement.starts_with("SHOW ")
        && let Some(opened) = programs::opened(&statement.plain)
    {
        return rewrite(&Statement::new(&opened), rights);
    }
    named(statement, rights).or_else(|| programs::rewrite(statement, rights))
}

/// The same for those of ProxySQL.
fn named(statement: &Statement<'_>, rights: Rights) -> Option<String> {
    let words = statement.upper.as_str();
    if rights == Rights::Stats && matches!(words, "SHOW DATABASES" | "SHOW SCHEMAS") {
        // They may not ask SQLite, which would tell where files are.
        return Some(list_of_schemas(&STATS_SCHEMAS));
    }
    if let Some((_, sql)) = FIXED.iter().find(|(show, _)| *show == words) {
        return Some((*sql).to_owned());
    }
    let (rest, make) =
        WITH_VALUES.iter().find_map(|(start, make)| statement.after(start).map(|rest| (rest, make)))?;
    match make {
        Make::Value(make) => Some(make(rest)),
        Make::Table(make) => make(rest, rights),
    }
}

/// How SQL is made of what follows the words.
#[derive(Debug, Clone, Copy)]
enum Make {
    /// Of any text.
    Value(fn(&str) -> String),
    /// Of the name of a table, if it is one.
    Table(fn(&str, Rights) -> Option<String>),
}

/// Statements that go on after these words.
const WITH_VALUES: [(&str, Make); 10] = [
    ("SHOW TABLES LIKE", Make::Value(tables_like)),
    ("SHOW TABLES FROM", Make::Value(tables_of)),
    ("SHOW TABLES IN", Make::Value(tables_of)),
    ("SHOW VARIABLES LIKE", Make::Value(variables_like)),
    ("SHOW VARIABLES WHERE", Make::Value(variables_where)),
    ("SHOW CREATE TABLE", Make::Table(create_table)),
    ("SHOW FIELDS FROM", Make::Table(fields)),
    ("SHOW TABLE STATUS LIKE", Make::Table(table_status)),
    ("DESC", Make::Table(fields)),
    ("DESCRIBE", Make::Table(fields)),
];

fn list_of_schemas(names: &[&str]) -> String {
    let row =
        |(seq, name): (usize, &&str)| format!("SELECT {seq} AS seq, {} AS name, '' AS file", text(name));
    names.iter().enumerate().map(row).collect::<Vec<_>>().join(" UNION ALL ")
}

fn tables_like(pattern: &str) -> String {
    let pattern = text(unquoted(pattern));
    format!(
        "SELECT name AS tables FROM sqlite_master WHERE type='table' AND name<>'sqlite_sequence' AND name LIKE {pattern} ESCAPE '\\' \
         ORDER BY name"
    )
}

fn tables_of(schema: &str) -> String {
    let schema = identifier(unquoted(schema));
    format!(
        "SELECT name AS tables FROM {schema}.sqlite_master WHERE type='table' AND name<>'sqlite_sequence' ORDER BY name"
    )
}

fn create_table(name: &str, rights: Rights) -> Option<String> {
    let (schema, table) = qualified(name)?;
    let (table, sql) = (text(table), memtable::as_usual("sql"));
    let all: &[&str] = match rights {
        Rights::Admin => &ADMIN_SCHEMAS,
        Rights::Stats => &STATS_SCHEMAS,
    };
    let one = [schema.unwrap_or_default()];
    let schemas = if schema.is_some() { &one } else { all };
    let parts: Vec<String> = schemas
        .iter()
        .enumerate()
        .map(|(place, schema)| {
            let schema = identifier(schema);
            format!(
                "SELECT {place} AS place, name, {sql} AS sql FROM {schema}.sqlite_master WHERE type='table' AND name={table}"
            )
        })
        .collect();
    let union = parts.join(" UNION ALL ");
    Some(format!("SELECT name AS \"table\", sql AS \"Create Table\" FROM ({union}) ORDER BY place LIMIT 1"))
}

fn fields(name: &str, _: Rights) -> Option<String> {
    let (schema, table) = qualified(name)?;
    let table = text(table);
    let schema = schema.map(|schema| format!(", {}", text(schema))).unwrap_or_default();
    Some(format!(
        "SELECT name AS Field, 'varchar(255)' AS Type, CASE WHEN \"notnull\" OR pk THEN 'NO' ELSE 'YES' END AS \"Null\", \
         CASE WHEN pk THEN 'PRI' ELSE '' END AS \"Key\", \
         CASE WHEN dflt_value LIKE '''%''' THEN substr(dflt_value, 2, length(dflt_value) - 2) ELSE dflt_value END \
         AS \"Default\", '' AS Extra FROM pragma_table_info({table}{schema})"
    ))
}

/// MySQL's 18 columns, about one table.
fn table_status(name: &str, _: Rights) -> Option<String> {
    let (_, table) = qualified(name)?;
    let table = text(table);
    Some(format!(
        "SELECT name AS Name, 'SQLite' AS Engine, '10' AS Version, 'Dynamic' AS Row_format, 0 AS Rows, \
         0 AS Avg_row_length, 0 AS Data_length, 0 AS Max_data_length, 0 AS Index_length, 0 AS Data_free, \
         NULL AS Auto_increment, NULL AS Create_time, NULL AS Update_time, NULL AS Check_time, \
         'utf8_bin' AS Collation, NULL AS Checksum, '' AS Create_options, '' AS Comment \
         FROM pragma_table_list WHERE type IN ('table', 'virtual') AND name LIKE {table} ESCAPE '\\' GROUP BY name"
    ))
}

fn variables_like(pattern: &str) -> String {
    let pattern = text(unquoted(pattern));
    format!(
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables \
         WHERE variable_name LIKE {pattern} ESCAPE '\\' ORDER BY variable_name"
    )
}

fn variables_where(condition: &str) -> String {
    format!(
        "SELECT variable_name AS Variable_name, variable_value AS Value FROM global_variables \
         WHERE {condition} ORDER BY variable_name"
    )
}

/// A table's name with or without a schema; nothing if there is more than that.
fn qualified(name: &str) -> Option<(Option<&str>, &str)> {
    let whole = unquoted(name);
    let (schema, table) = match name.trim().split_once('.') {
        Some((schema, table)) => (Some(unquoted(schema)), unquoted(table)),
        None => (None, whole),
    };
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '\'', '"', '`', '.']);
    (schema.is_none_or(is_name) && is_name(table)).then_some((schema, table))
}

/// `value` as a text of SQL.
pub(crate) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// `name` as a name of SQL.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        rewrite(&Statement::new(text), Rights::Admin)
    }

    #[test]
    fn names_come_with_and_without_schema_and_quotes() {
        assert_eq!(qualified("t"), Some((None, "t")));
        assert_eq!(qualified("`t`"), Some((None, "t")));
        assert_eq!(qualified("stats.t"), Some((Some("stats"), "t")));
        assert_eq!(qualified("`stats`.`t`"), Some((Some("stats"), "t")));
        assert_eq!(qualified("a b"), None);
        assert_eq!(qualified("a' OR 1"), None);
        assert_eq!(qualified(""), None);
    }

    #[test]
    fn quotes_in_values_stay_values() {
        let sql = rewritten("SHOW TABLES LIKE 'it''s'").unwrap();
        assert!(sql.contains("LIKE 'it''''s'"), "{sql}");
        let sql = rewritten("SHOW TABLES FROM a\"b").unwrap();
        assert!(sql.contains("FROM \"a\"\"b\".sqlite_master"), "{sql}");
    }

    #[test]
    fn what_mysql_shows_and_the_admin_port_does_not_is_left_to_sqlite() {
        for text in ["SHOW PLUGINS", "SHOW GRANTS", "SHOW MASTER STATUS", "SHOW DATABASES x", "SHOW"] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }
}
