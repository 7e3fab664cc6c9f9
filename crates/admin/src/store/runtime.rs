//! The tables `runtime_...`, which show what the proxy runs with.

use std::collections::HashMap;

use config::Row;
use config::schema::{MYSQL_SERVERS, MYSQL_USERS, Scalar, Section};
use observe::rows::MemberStats;
use rusqlite::types::Value;

use super::variables::values;
use super::{Store, rows};
use crate::answer::AdminError;
use crate::tables::{config_tables, variable_groups};

impl Store {
    /// Fills the table of runtime that is called `table` (`runtime_...`) from what the proxy runs
    /// with. False if there is no such table.
    pub fn refresh_runtime(&mut self, table: &str) -> Result<bool, AdminError> {
        let Some(name) = table.strip_prefix("runtime_") else { return Ok(false) };
        let contents: Vec<Vec<Value>> = if name == "global_variables" {
            let text = |(name, value)| vec![Value::Text(name), Value::Text(value)];
            variable_groups().flat_map(|(_, group)| values(&self.runtime, group)).map(text).collect()
        } else if name == "checksums_values" {
            self.checksums.rows()
        } else if let Some(section) = config_tables().find(|section| section.table_name() == name) {
            let runs = self.runtime.rows(section).iter();
            let members = self.plane.as_ref().filter(|_| section.name == MYSQL_SERVERS.name);
            if let Some(members) = members.and_then(|plane| plane.members()) {
                in_use(self.runtime.rows(section), &members)
            } else if section.name == MYSQL_USERS.name {
                runs.flat_map(sides).collect()
            } else {
                runs.map(cells).collect()
            }
        } else {
            // The filters of core files are copied when they are loaded.
            return Ok(name == "coredump_filters");
        };
        rows::refill(&mut self.admin, "main", table, contents)?;
        Ok(true)
    }
}

/// The rows of servers where they are in use, and how: what the monitor has found is shown here
/// only, and is never saved.
fn in_use(rows: &[Row], members: &[MemberStats]) -> Vec<Vec<Value>> {
    let key = |row: &Row| match (row.scalar("hostgroup_id"), row.scalar("hostname"), row.scalar("port")) {
        (Scalar::Int(hostgroup), Scalar::Text(host), Scalar::Int(port)) => {
            Some((*hostgroup, host.clone(), *port))
        }
        _ => None,
    };
    let configured: HashMap<(i64, String, i64), &Row> =
        rows.iter().filter_map(|row| Some((key(row)?, row))).collect();
    let row = |member: &MemberStats| {
        let key = (i64::from(member.configured_in), member.host.clone(), i64::from(member.port));
        // Both ways of being shunned are one here, as in ProxySQL.
        let status = if member.status.starts_with("SHUNNED") { "SHUNNED" } else { member.status };
        let discovered = member.discovered.as_ref().map(config::Server::row);
        let row = configured.get(&key).copied().or(discovered.as_ref())?;
        let row = row.with("hostgroup_id", Scalar::Int(member.hostgroup.into()));
        Some(cells(&row.with("status", Scalar::Text(status.to_owned()))))
    };
    members.iter().filter_map(row).collect()
}

fn cells(row: &Row) -> Vec<Value> {
    row.cells().iter().map(rows::value).collect()
}

/// The rows that show an account: one towards servers and one towards clients, if it is for both.
fn sides(row: &Row) -> Vec<Vec<Value>> {
    let section: &Section = &MYSQL_USERS;
    let at = |name: &str| section.find(name).map(|(at, _)| at);
    let is = |name: &str| *row.scalar(name) == Scalar::Bool(true);
    let side = |frontend: bool| {
        let mut cells = cells(row);
        for (name, value) in [("frontend", frontend), ("backend", !frontend)] {
            if let Some(cell) = at(name).and_then(|at| cells.get_mut(at)) {
                *cell = Value::Integer(i64::from(value));
            }
        }
        cells
    };
    let inactive = !is("active");
    match (is("frontend"), is("backend")) {
        _ if inactive => Vec::new(),
        (true, true) => vec![side(true), side(false)],
        (true, false) => vec![side(true)],
        (false, true) => vec![side(false)],
        (false, false) => Vec::new(),
    }
}
