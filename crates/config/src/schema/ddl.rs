//! A table's definition in SQL.

use std::fmt::Write as _;

use super::{COUNT, Field, Kind, Preset, Rule, Section, UNSIGNED};

impl Section {
    /// The statement that makes the section's table under the name `table`: one column per line,
    /// indented by four blanks, as ProxySQL shows its own. Checks of SQLite are not stricter than
    /// ProxySQL's; what else a value must be is judged when the rows are read.
    pub fn ddl(&self, table: &str) -> String {
        let mut lines: Vec<String> = self.fields().map(|field| column(field, self.rules)).collect();
        let inline_key =
            self.fields().any(|field| field.sql_type.is_some_and(|sql| sql.contains("PRIMARY KEY")));
        for (index, key) in self.unique.iter().enumerate().skip(usize::from(inline_key)) {
            let kind = if index == 0 { "PRIMARY KEY" } else { "UNIQUE" };
            lines.push(format!("{kind} ({})", key.join(", ")));
        }
        format!("CREATE TABLE {table} (\n    {})", lines.join(",\n    "))
    }
}

/// A column: type, checks, nullability, default.
fn column(field: &Field, rules: &[Rule]) -> String {
    let name = field.name;
    let mut out = format!("{name} {}", field.sql_type.unwrap_or(type_of(field.kind)));
    let checks: Vec<String> = check(field)
        .into_iter()
        .chain(rules.iter().filter(|rule| rule.column() == name).map(|rule| format!("({})", rule.sql())))
        .collect();
    // A `String` takes everything.
    if let [check] = checks.as_slice() {
        let _ = write!(
            out,
            " CHECK ({})",
            check.strip_prefix('(').and_then(|c| c.strip_suffix(')')).unwrap_or(check)
        );
    } else if !checks.is_empty() {
        let _ = write!(out, " CHECK ({})", checks.join(" AND "));
    }
    if !field.is_nullable() {
        out.push_str(" NOT NULL");
    }
    match field.preset {
        Preset::Int(value) => drop(write!(out, " DEFAULT {value}")),
        Preset::Bool(value) => drop(write!(out, " DEFAULT {}", i32::from(value))),
        // NULL is the default of what may be NULL and would be empty without a value.
        Preset::Text("") if field.is_nullable() => {}
        Preset::Text(text) => drop(write!(out, " DEFAULT '{text}'")),
        Preset::Required | Preset::Null | Preset::Cores => {}
    }
    out
}

const fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool | Kind::Int { .. } => "INT",
        _ => "VARCHAR",
    }
}

/// The condition on a column's own value.
fn check(field: &Field) -> Option<String> {
    let name = field.name;
    match field.kind {
        Kind::Bool => Some(format!("{name} IN (0,1)")),
        Kind::Int { min: i64::MIN, .. }
        | Kind::Text
        | Kind::Address
        | Kind::Addresses
        | Kind::Networks
        | Kind::Password
        | Kind::Credentials => None,
        Kind::Int { min, max, .. } if max == COUNT.1 || max == UNSIGNED.1 || max == i64::MAX => {
            Some(format!("{name} >= {min}"))
        }
        Kind::Int { min, max, .. } => Some(format!("{name} >= {min} AND {name} <= {max}")),
        Kind::Json | Kind::UserAttributes | Kind::HostgroupSettings => {
            Some(format!("(JSON_VALID({name}) OR {name} = '')"))
        }
        Kind::Choice(of) => {
            let words: Vec<String> =
                of.iter().map(|word| format!("'{}'", word.to_ascii_uppercase())).collect();
            Some(format!("UPPER({name}) IN ({})", words.join(",")))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::{MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_QUERY_RULES, MYSQL_SERVERS, MYSQL_USERS};

    #[test]
    fn tables_are_shown_one_column_per_line() {
        assert_eq!(
            MYSQL_SERVERS.ddl("mysql_servers"),
            "CREATE TABLE mysql_servers (
    hostgroup_id INT CHECK (hostgroup_id >= 0) NOT NULL DEFAULT 0,
    hostname VARCHAR NOT NULL,
    port INT CHECK (port >= 0 AND port <= 65535) NOT NULL DEFAULT 3306,
    gtid_port INT CHECK (gtid_port >= 0 AND gtid_port <= 65535 AND (gtid_port = 0 OR gtid_port <> port)) NOT NULL DEFAULT 0,
    status VARCHAR CHECK (UPPER(status) IN ('ONLINE','SHUNNED','OFFLINE_SOFT','OFFLINE_HARD')) NOT NULL DEFAULT 'ONLINE',
    weight INT CHECK (weight >= 0 AND weight <= 10000000) NOT NULL DEFAULT 1,
    compression INT CHECK (compression IN (0,1)) NOT NULL DEFAULT 0,
    max_connections INT CHECK (max_connections >= 0) NOT NULL DEFAULT 1000,
    max_replication_lag INT CHECK (max_replication_lag >= 0 AND max_replication_lag <= 126144000) NOT NULL DEFAULT 0,
    use_ssl INT CHECK (use_ssl IN (0,1)) NOT NULL DEFAULT 0,
    max_latency_ms INT UNSIGNED CHECK (max_latency_ms >= 0) NOT NULL DEFAULT 0,
    comment VARCHAR NOT NULL DEFAULT '',
    PRIMARY KEY (hostgroup_id, hostname, port))"
        );
    }

    #[test]
    fn keys_and_nulls() {
        let rules = MYSQL_QUERY_RULES.ddl("runtime_mysql_query_rules");
        assert!(rules.starts_with("CREATE TABLE runtime_mysql_query_rules (\n    rule_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,\n"), "{rules}");
        assert!(rules.ends_with("    comment VARCHAR)"), "{rules}");
        let users = MYSQL_USERS.ddl("mysql_users");
        assert!(users.contains("\n    password VARCHAR,\n"), "{users}");
        assert!(users.contains("\n    attributes VARCHAR CHECK (JSON_VALID(attributes) OR attributes = '') NOT NULL DEFAULT '',\n"), "{users}");
        assert!(
            users.ends_with("    PRIMARY KEY (username, backend),\n    UNIQUE (username, frontend))"),
            "{users}"
        );
        let aurora = MYSQL_AWS_AURORA_HOSTGROUPS.ddl("t");
        assert!(
            aurora.contains("domain_name VARCHAR CHECK (SUBSTR(domain_name,1,1) = '.') NOT NULL"),
            "{aurora}"
        );
    }
}
