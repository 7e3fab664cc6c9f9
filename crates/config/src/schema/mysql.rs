//! The group `mysql_variables`: ProxySQL's `mysql-` family, in the five parts of its manual.

mod client;
mod monitor;
mod routing;
mod servers;
mod statistics;

use super::{Section, Shape};

/// The group `mysql_variables`.
pub static MYSQL_VARIABLES: Section = Section::new(
    "mysql_variables",
    Shape::Group,
    &[client::FIELDS, servers::FIELDS, routing::FIELDS, statistics::FIELDS, monitor::FIELDS],
    "How the data plane behaves: listeners, login, limits, timeouts, connections to servers.",
)
.prefix("mysql-")
.removed(&["forward_autocommit"])
.examples(&[&[("read_write_split", "true")]]);
