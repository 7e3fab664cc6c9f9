//! Every table of the admin port, by schema, with the statement that makes it.
//!
//! Tables of the configuration are defined in [`config::schema`]; the others here, column by
//! column. Names, order, types and defaults are those of ProxySQL 2.7; tables called
//! `pointsman_...` it does not have.

mod collations;
mod history;
mod main;
mod monitor;
mod pgsql;
mod stats;

use config::schema::{SECTIONS, Section, Shape};

pub(crate) use collations::COLLATIONS;

/// The tables about digests, of which the second one starts the counters again. They may have
/// 100,000 rows: they show the [lists](memtable) that the data plane gives, and nothing of them is
/// written into SQLite.
pub(crate) const DIGESTS: &str = "stats_mysql_query_digest";
/// See [`DIGESTS`].
pub(crate) const DIGESTS_RESET: &str = "stats_mysql_query_digest_reset";
/// See [`DIGESTS`].
pub(crate) const DIGEST_LATENCY: &str = "stats_pointsman_digest_latency";

/// The table of prepared statements; a list as well.
pub(crate) const PREPARED_STATEMENTS: &str = "stats_mysql_prepared_statements_info";

/// Whether a table shows a list.
pub(crate) fn is_list(table: &str) -> bool {
    [DIGESTS, DIGESTS_RESET, DIGEST_LATENCY, PREPARED_STATEMENTS].contains(&table)
}

/// A table that is not a section of the configuration.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    name: &'static str,
    /// The column of the time in front of the others, if it is one of rows that another table had.
    time: Option<&'static str>,
    /// Its columns: name, type, constraints, default.
    columns: &'static [&'static str],
    /// Keys behind the columns.
    keys: &'static [&'static str],
}

impl Table {
    const fn new(
        name: &'static str,
        columns: &'static [&'static str],
        keys: &'static [&'static str],
    ) -> Self {
        Self { name, time: None, columns, keys }
    }

    /// A table of the rows that `of` had, with the time in front.
    const fn with_time(
        name: &'static str,
        time: &'static str,
        of: &Self,
        keys: &'static [&'static str],
    ) -> Self {
        Self { name, time: Some(time), columns: of.columns, keys }
    }

    /// The statement that makes it under the name `name`.
    fn ddl(&self, name: &str) -> String {
        let lines: Vec<&str> = self.time.iter().chain(self.columns).chain(self.keys).copied().collect();
        format!("CREATE TABLE {name} (\n    {})", lines.join(",\n    "))
    }
}

/// A database of the admin's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    /// What an admin edits, and copies of what runs.
    Main,
    /// What is there after a restart.
    Disk,
    /// Counters.
    Stats,
    /// Results of checks of servers.
    Monitor,
    /// Counters over time.
    StatsHistory,
}

impl Schema {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Main, Self::Disk, Self::Stats, Self::Monitor, Self::StatsHistory];

    /// Its name in SQL.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Disk => "disk",
            Self::Stats => "stats",
            Self::Monitor => "monitor",
            Self::StatsHistory => "stats_history",
        }
    }

    /// Its tables: names, and the statements that make them, which do not name the schema.
    pub(crate) fn tables(self) -> Vec<(String, String)> {
        let own = |tables: &[&Table]| -> Vec<(String, String)> {
            tables.iter().map(|table| (table.name.to_owned(), table.ddl(table.name))).collect()
        };
        let sections = |prefix: &str| {
            config_tables()
                .map(|section| {
                    let name = format!("{prefix}{}", section.table_name());
                    (name.clone(), section.ddl(&name))
                })
                .collect::<Vec<_>>()
        };
        match self {
            Self::Main => {
                let copies = main::COPIED.iter().chain(pgsql::TABLES).map(|table| {
                    let name = format!("runtime_{}", table.name);
                    (name.clone(), table.ddl(&name))
                });
                [
                    sections(""),
                    sections("runtime_"),
                    own(main::MAIN),
                    own(main::COPIED),
                    own(pgsql::TABLES),
                    copies.collect(),
                ]
                .concat()
            }
            Self::Disk => [sections(""), own(main::DISK), own(pgsql::TABLES)].concat(),
            Self::Stats => {
                let resets = stats::WITH_RESET.iter().map(|table| {
                    let name = format!("{}_reset", table.name);
                    (name.clone(), table.ddl(&name))
                });
                [own(stats::TABLES), own(stats::WITH_RESET), resets.collect()].concat()
            }
            Self::Monitor => own(monitor::TABLES),
            Self::StatsHistory => {
                let rolled = history::ROLLED.iter().flat_map(|table| {
                    ["", "_hour", "_day"].map(|period| {
                        let name = format!("{}{period}", table.name);
                        (name.clone(), table.ddl(&name))
                    })
                });
                rolled.chain(own(history::TABLES)).collect()
            }
        }
    }

    /// Statements that make indexes.
    pub(crate) const fn indexes(self) -> &'static [&'static str] {
        match self {
            Self::StatsHistory => history::INDEXES,
            _ => &[],
        }
    }
}

/// The sections of the configuration that are tables.
pub(crate) fn config_tables() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().copied().filter(|section| section.shape == Shape::Rows)
}

/// The groups of variables that `global_variables` holds.
pub(crate) fn variable_groups() -> impl Iterator<Item = (&'static str, &'static Section)> {
    SECTIONS.iter().filter_map(|section| Some((section.prefix?, *section)))
}

#[cfg(test)]
mod tests;
