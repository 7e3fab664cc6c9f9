//! Tables of `main` and `disk` beside those of the configuration.

use super::Table;

const GLOBAL_VARIABLES: Table = Table::new(
    "global_variables",
    &["variable_name VARCHAR NOT NULL PRIMARY KEY", "variable_value VARCHAR NOT NULL"],
    &[],
);

const COREDUMP_FILTERS: Table = Table::new(
    "coredump_filters",
    &["filename VARCHAR NOT NULL", "line INT NOT NULL"],
    &["PRIMARY KEY (filename, line)"],
);

const MYSQL_COLLATIONS: Table = Table::new(
    "mysql_collations",
    &[
        "Id INTEGER NOT NULL PRIMARY KEY",
        "Collation VARCHAR NOT NULL",
        "Charset VARCHAR NOT NULL",
        "`Default` VARCHAR NOT NULL",
    ],
    &[],
);

const CHECKSUMS: Table = Table::new(
    "runtime_checksums_values",
    &["name VARCHAR NOT NULL", "version INT NOT NULL", "epoch INT NOT NULL", "checksum VARCHAR NOT NULL"],
    &["PRIMARY KEY (name)"],
);

const GLOBAL_SETTINGS: Table = Table::new(
    "global_settings",
    &["variable_name VARCHAR NOT NULL PRIMARY KEY", "variable_value VARCHAR NOT NULL"],
    &[],
);

/// Every configuration that was loaded to runtime, a module at a time.
const VERSIONS: Table = Table::new(
    "pointsman_versions",
    &[
        "version INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "module VARCHAR NOT NULL",
        "applied_at INT NOT NULL",
        "username VARCHAR NOT NULL",
        "config VARCHAR NOT NULL",
    ],
    &[],
);

/// What was done to `pointsman.db` when a newer program first opened it.
const MIGRATIONS: Table = Table::new(
    "pointsman_migrations",
    &[
        "id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "layout INT NOT NULL",
        "applied_at INT NOT NULL",
        "what VARCHAR NOT NULL",
    ],
    &[],
);

/// Those that have a `runtime_` copy.
pub(super) const COPIED: &[&Table] = &[&GLOBAL_VARIABLES, &COREDUMP_FILTERS];

/// The others of `main`.
pub(super) const MAIN: &[&Table] = &[&MYSQL_COLLATIONS, &CHECKSUMS];

/// Those of `disk`.
pub(super) const DISK: &[&Table] =
    &[&GLOBAL_VARIABLES, &MYSQL_COLLATIONS, &GLOBAL_SETTINGS, &VERSIONS, &MIGRATIONS];
