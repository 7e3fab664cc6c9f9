//! What ProxySQL makes of the rows of its file, where that differs from an INSERT of the same
//! values: its reader of the file has defaults of its own, does not read every column, and takes
//! no other type than the column's.

use std::collections::HashMap;

use crate::Strictness;
use crate::problem::Problem;
use crate::schema::{Field, Kind, Preset, SECTIONS, Scalar, Section};
use crate::tree::{Entry, Node, Place, Value};

/// Sections that ProxySQL reads from a file.
const READ: [&str; 10] = [
    "mysql_servers",
    "mysql_users",
    "mysql_query_rules",
    "scheduler",
    "restapi",
    "mysql_replication_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_servers_ssl_params",
];

/// Columns with another default in the reader of the file than in the table.
const PRESETS: [(&str, &str, i64); 2] =
    [("mysql_query_rules", "active", 1), ("mysql_aws_aurora_hostgroups", "check_timeout_ms", 1_000)];

/// Columns that the reader of the file does not read: their default counts.
const UNREAD: [(&str, &str); 5] = [
    ("mysql_users", "backend"),
    ("mysql_users", "frontend"),
    ("mysql_group_replication_hostgroups", "active"),
    ("mysql_galera_hostgroups", "active"),
    ("mysql_aws_aurora_hostgroups", "active"),
];

/// Words in whose place the reader of the file takes the default of the column, and those that it
/// knows.
const WORDS: [(&str, &str, &[&str]); 2] = [
    ("mysql_servers", "status", &["ONLINE", "SHUNNED", "OFFLINE_SOFT", "OFFLINE_HARD"]),
    ("mysql_replication_hostgroups", "check_type", &["read_only", "innodb_read_only", "super_read_only"]),
];

/// Turns the rows of `root` into what they are in ProxySQL's tables. Each value that it passes over
/// is a problem, of which its reader says nothing.
///
/// A file with variables of this proxy was saved here: what it says counts.
pub(super) fn as_in_proxysql(root: &mut [Entry], strictness: Strictness) -> Vec<Problem> {
    let mut passed_over = Vec::new();
    let is_own = root.iter().any(|entry| entry.key == "pointsman_variables");
    for entry in root {
        let section = SECTIONS.iter().find(|section| section.name == entry.key);
        let Some(section) = section.filter(|section| READ.contains(&section.name)) else { continue };
        let Value::List(rows) = &mut entry.node.value else { continue };
        if section.name == "mysql_users" && !is_own {
            join_halves(rows);
        }
        for row in rows {
            let Value::Group(cells) = &mut row.value else { continue };
            if !is_own {
                cells.retain(|cell| match judged(section, cell, strictness) {
                    Judged::Counts => true,
                    Judged::IsNull => false,
                    Judged::PassedOver(why) => {
                        passed_over.extend(why);
                        false
                    }
                });
            }
            cells.extend(presets(section, cells, &row.at));
            if section.name == "mysql_servers" && !cells.iter().any(|cell| is_hostgroup(section, &cell.key)) {
                let message = "ProxySQL skips a row of `mysql_servers` without `hostgroup`; 0 counts";
                passed_over.push(Problem::new(&row.at.file, row.at.line, message.to_owned()));
            }
        }
    }
    passed_over
}

/// Makes one row of the two that ProxySQL saves for a user: one for clients, one for servers. Its
/// reader replaces the first by the second, and reads neither `backend` nor `frontend`.
fn join_halves(rows: &mut Vec<Node>) {
    let of = |row: &Node| match &row.value {
        Value::Group(cells) => {
            let is_half = cells.iter().any(|cell| is_half(&cell.key) && cell.node.value == Value::Int(0));
            let name = cells.iter().find(|cell| cell.key == "username")?;
            let Value::Text(name) = &name.node.value else { return None };
            is_half.then(|| name.clone())
        }
        _ => None,
    };
    let names: Vec<Option<String>> = rows.iter().map(of).collect();
    let mut last = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(name) = name {
            let (_, count) = last.insert(name, (at, 0)).unwrap_or((at, 0));
            last.insert(name, (at, count + 1));
        }
    }
    let mut at = 0;
    rows.retain_mut(|row| {
        let halves = names.get(at).and_then(Option::as_ref).and_then(|name| last.get(name));
        let is_last = halves.is_none_or(|(last, _)| *last == at);
        at += 1;
        if halves.is_some_and(|(_, count)| *count > 1)
            && let Value::Group(cells) = &mut row.value
        {
            cells.retain(|cell| !is_half(&cell.key));
        }
        is_last
    });
}

/// Whether a column of users says that the account is for one side only.
fn is_half(column: &str) -> bool {
    column == "backend" || column == "frontend"
}

/// Values that the reader of the file adds to a row that does not have them.
fn presets(section: &Section, cells: &[Entry], at: &Place) -> Vec<Entry> {
    let lacking = PRESETS
        .iter()
        .filter(|(name, column, _)| *name == section.name && !cells.iter().any(|cell| cell.key == *column));
    let added = lacking.map(|(_, column, value)| Entry {
        key: (*column).to_owned(),
        at: at.clone(),
        node: Node { value: Value::Int(*value), at: at.clone() },
    });
    added.collect()
}

/// What becomes of a value.
enum Judged {
    Counts,
    /// A negative number, by which the reader of the file means NULL.
    IsNull,
    /// It is as if it were not there. Nothing is said if that makes no difference.
    PassedOver(Option<Problem>),
}

fn judged(section: &Section, cell: &Entry, strictness: Strictness) -> Judged {
    let Some((_, field)) = section.find(&cell.key) else { return Judged::Counts };
    let is_mandatory = field.preset == Preset::Required || is_hostgroup(section, &cell.key);
    let is_number = matches!(field.kind, Kind::Bool | Kind::Int { .. }) && !is_mandatory;
    let value = &cell.node.value;
    let message = if UNREAD.contains(&(section.name, field.name)) {
        format!("ProxySQL does not read `{}.{}` from a file", section.name, field.name)
    } else if is_number && !matches!(value, Value::Int(_)) {
        format!("ProxySQL reads only whole numbers in `{}.{}`, not {value}", section.name, field.name)
    } else if let Some(message) = unknown_word(section, field, value) {
        message
    } else if field.is_nullable() && is_number && matches!(value, Value::Int(..0)) {
        return Judged::IsNull;
    } else {
        return Judged::Counts;
    };
    let accepted = field.kind.accept(value, field.secret);
    if strictness == Strictness::Strict && accepted.is_err() {
        // It is refused.
        return Judged::Counts;
    }
    let preset = preset(section, field);
    if preset.is_some() && preset == accepted.ok() {
        return Judged::PassedOver(None);
    }
    let instead = match preset {
        Some(Scalar::Bool(value)) => format!("{} counts", i32::from(value)),
        Some(value) => format!("{value} counts"),
        None => "it is as if it were not there".to_owned(),
    };
    let at = &cell.node.at;
    Judged::PassedOver(Some(Problem::new(&at.file, at.line, format!("{message}; {instead}"))))
}

/// Whether it is the hostgroup of a server. ProxySQL skips a row without one.
fn is_hostgroup(section: &Section, key: &str) -> bool {
    section.name == "mysql_servers" && (key == "hostgroup" || key == "hostgroup_id")
}

/// What counts if the file does not give the field.
fn preset(section: &Section, field: &Field) -> Option<Scalar> {
    let own = PRESETS.iter().find(|(name, column, _)| (*name, *column) == (section.name, field.name));
    let own = own.and_then(|(_, _, value)| field.kind.accept(&Value::Int(*value), false).ok());
    own.or_else(|| field.preset.value())
}

/// What is wrong with a word that the reader of the file replaces.
fn unknown_word(section: &Section, field: &Field, value: &Value) -> Option<String> {
    let (name, column, words) =
        WORDS.iter().find(|(name, column, _)| (*name, *column) == (section.name, field.name))?;
    let Value::Text(text) = value else { return None };
    let is_known = words.iter().any(|word| word.eq_ignore_ascii_case(text));
    (!is_known)
        .then(|| format!("ProxySQL reads only `{}` in `{name}.{column}`, not {value}", words.join("`, `")))
}

#[cfg(test)]
mod tests;
