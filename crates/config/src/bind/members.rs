//! Members of JSON columns that mean nothing: misspelt ones, and those of ProxySQL that do nothing
//! yet. Programs may keep members of their own there, so that these are no errors, as other unknown
//! names are.

use std::collections::BTreeMap;

use super::tables::Tables;
use crate::json::{self, Json};
use crate::nearest::suggestion;
use crate::row::Row;
use crate::schema::{MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_QUERY_RULES, MYSQL_USERS, Scalar, Section};
use crate::turns::in_turns;

/// A column with JSON, and the members that it may have.
struct Column {
    section: &'static Section,
    name: &'static str,
    members: &'static [&'static str],
    /// Those that do nothing yet.
    unbuilt: &'static [&'static str],
}

const COLUMNS: [Column; 4] = [
    Column {
        section: &MYSQL_USERS,
        name: "attributes",
        members: &[
            "additional_password",
            "clear_password",
            "hints",
            "max_qps",
            "max_concurrent",
            "max_backend_connections",
            "default-transaction_isolation",
            "spiffe_id",
            "cache",
            "causal_reads",
        ],
        unbuilt: &[],
    },
    Column {
        section: &MYSQL_QUERY_RULES,
        name: "attributes",
        members: &["flagOUTs", "compare", "max_qps", "max_concurrent", "cache", "causal_reads"],
        unbuilt: &[],
    },
    Column {
        section: &MYSQL_HOSTGROUP_ATTRIBUTES,
        name: "hostgroup_settings",
        members: &[
            "balance",
            "max_backend_connections",
            "min_idle_connections",
            "monitor_slave_lag_when_null",
            "discover_replicas",
            "forget_replicas_after",
            "cache",
        ],
        unbuilt: &["handle_warnings"],
    },
    Column {
        section: &MYSQL_HOSTGROUP_ATTRIBUTES,
        name: "servers_defaults",
        members: &["weight", "max_connections", "use_ssl"],
        unbuilt: &[],
    },
];

/// A line for each such member, with the first row that has it.
pub(super) fn warnings(tables: &Tables) -> Vec<String> {
    COLUMNS.iter().flat_map(|column| column.warnings(tables)).collect()
}

impl Column {
    fn warnings(&self, tables: &Tables) -> Vec<String> {
        // By the member: the first row that has it, and how many others have.
        let mut strange: BTreeMap<String, (&Row, usize)> = BTreeMap::new();
        for row in in_turns(tables.unseen(self.section)).map(|row| &row.row) {
            for member in self.strange_members(row) {
                strange.entry(member).and_modify(|(_, more)| *more += 1).or_insert((row, 0));
            }
        }
        strange.into_iter().map(|(member, (row, more))| self.warning(&member, row, more)).collect()
    }

    /// The members in a row that mean nothing.
    fn strange_members(&self, row: &Row) -> Vec<String> {
        let Scalar::Text(text) = row.scalar(self.name) else { return Vec::new() };
        // The most rows have none.
        let json = if text.is_empty() { None } else { json::parse(text) };
        let Some(Json::Object(members)) = json else { return Vec::new() };
        let names = members.into_iter().map(|(name, _)| name);
        names.filter(|name| !self.members.contains(&name.as_str())).collect()
    }

    fn warning(&self, member: &str, row: &Row, more: usize) -> String {
        let what = if self.unbuilt.contains(&member) {
            "which has no effect so far".to_owned()
        } else {
            let known = self.members.iter().chain(self.unbuilt).copied();
            format!("which means nothing here{}", suggestion(member, known))
        };
        let others = match more {
            0 => String::new(),
            1 => ", and 1 more row has".to_owned(),
            more => format!(", and {more} more rows have"),
        };
        let (table, key) = (self.section.table_name(), row.key());
        format!("{table} row {key}{others}: `{}` with `{}`, {what}", self.name, member.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_all_members() {
        for Column { section, name, members, unbuilt } in COLUMNS {
            let (_, field) = section.find(name).unwrap();
            for member in members.iter().chain(unbuilt) {
                assert!(field.doc.contains(&format!("`{member}`")), "{name}: {member}");
            }
        }
    }
}
