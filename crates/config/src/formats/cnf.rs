//! libconfig's grammar, in which a `proxysql.cnf` is written.
//!
//! After the "Configuration Files" chapter of libconfig's manual: settings `name = value` or
//! `name : value`, closed by `;`, `,` or nothing; groups in `{ }`, lists in `( )`, arrays of plain
//! values in `[ ]`; comments in three styles; `@include "file"` at the start of a line. One thing
//! differs: an included file is looked for beside the file that names it, not in the working
//! directory.

mod include;
mod lexer;
mod meaning;
mod parser;

use std::path::Path;
use std::rc::Rc;

use super::Parsed;
use crate::Strictness;
use crate::schema::Preset;
use include::Sources;

/// ProxySQL's defaults where this program has others of its own: accounts that are in every manual,
/// at all addresses, and scripts behind a plain GET.
pub(super) const PROXYSQL: &[(&str, &str, Preset)] = &[
    ("admin_variables", "admin_credentials", Preset::Text("admin:admin")),
    ("admin_variables", "stats_credentials", Preset::Text("stats:stats")),
    ("admin_variables", "mysql_ifaces", Preset::Text("0.0.0.0:6032")),
    ("pointsman_variables", "restapi_address", Preset::Text("0.0.0.0")),
    ("pointsman_variables", "restapi_get", Preset::Bool(true)),
];

/// Reads a libconfig document. A file whose grammar is broken is read up to the top-level setting
/// where that happens: what follows a missing quote or bracket says nothing any more.
pub(super) fn read(text: &str, file: &Rc<Path>, strictness: Strictness) -> Parsed {
    let mut tokens = Vec::new();
    Sources::new(file).read(text, file, &mut tokens);
    let (mut root, broken) = parser::parse(tokens, file);
    let left_out = meaning::as_in_proxysql(&mut root, strictness);
    let problems = broken.into_iter().collect();
    Parsed { root, problems, warnings: Vec::new(), is_foreign: true, left_out, presets: PROXYSQL }
}

/// Reads what was written here: each value counts as it stands.
pub(super) fn read_own(text: &str, file: &Rc<Path>) -> Parsed {
    let mut tokens = Vec::new();
    Sources::new(file).read(text, file, &mut tokens);
    let (root, broken) = parser::parse(tokens, file);
    let problems = broken.into_iter().collect();
    Parsed { root, problems, warnings: Vec::new(), is_foreign: false, left_out: Vec::new(), presets: &[] }
}

#[cfg(test)]
mod tests;
