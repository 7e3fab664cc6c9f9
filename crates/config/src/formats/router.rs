//! MySQL Router's `mysqlrouter.conf`, with static destinations.
//!
//! After the chapters "Configuration File Syntax" and "Configuration File Options" of MySQL
//! Router's manual. Every `[routing]` section becomes a listener with the role `tcp` and a
//! hostgroup of its own: Router knows no users, and where it does not end TLS itself it passes on
//! what client and server say. What it does that cannot be done here is a problem, with the line.

mod destination;
mod ini;
mod options;
mod route;

use std::path::Path;
use std::rc::Rc;

use super::Parsed;
use crate::Strictness;
use crate::nearest::suggestion;
use crate::problem::Problem;
use crate::tree::{Entry, Node, Place, Value};
use ini::Section;
use route::Route;

/// Sections without effect here, which are only warned of.
const IGNORED: [&str; 13] = [
    "keepalive",
    "io",
    "connection_pool",
    "destination_status",
    "http_server",
    "http_auth_realm",
    "http_auth_backend",
    "rest_api",
    "rest_router",
    "rest_routing",
    "rest_metadata_cache",
    "rest_connection_pool",
    "syslog",
];

/// The other sections.
const KNOWN: [&str; 5] = ["DEFAULT", "logger", "routing", "metadata_cache", "pointsman"];

/// Whether `text` begins with a section of MySQL Router.
pub(super) fn is_router(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let Some(first) = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';'])) else {
        return false;
    };
    let Some(name) = first.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let name = name.split(':').next().unwrap_or_default();
    KNOWN.iter().chain(&IGNORED).any(|known| known.eq_ignore_ascii_case(name))
}

/// Reads the file. With problems there are no rows.
pub(super) fn read(text: &str, file: &Rc<Path>, strictness: Strictness) -> Parsed {
    let mut reader = Reader {
        file: Rc::clone(file),
        problems: Vec::new(),
        ignored: Vec::new(),
        lenient: strictness == Strictness::Lenient,
        left_out: Vec::new(),
    };
    let sections = ini::read(text, file, &mut reader.problems);
    let root = reader.root(&sections);
    let root = if reader.problems.is_empty() { root } else { Vec::new() };
    let names = reader.ignored.join(", ");
    let warning = (!names.is_empty()).then(|| format!("accepted, but without effect here: {names}"));
    Parsed {
        root,
        problems: reader.problems,
        warnings: warning.into_iter().collect(),
        is_foreign: true,
        presets: &[],
        left_out: reader.left_out,
    }
}

/// What is found out while the sections are read.
#[derive(Debug)]
struct Reader {
    file: Rc<Path>,
    problems: Vec<Problem>,
    /// Sections and options without effect, as a warning names them.
    ignored: Vec<String>,
    /// Whether what cannot be done is left out where MySQL Router would start.
    lenient: bool,
    left_out: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, line: usize, message: String) {
        let problem = Problem::new(&self.file, line, message);
        // What is wrong in [DEFAULT] is so for every route.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The same, unless it may be left out: then `instead` says what becomes of it.
    fn leave_out(&mut self, line: usize, message: String, instead: &str) {
        if !self.lenient {
            return self.problem(line, message);
        }
        let problem = Problem::new(&self.file, line, format!("{message}; {instead}"));
        if !self.left_out.contains(&problem) {
            self.left_out.push(problem);
        }
    }

    fn ignore(&mut self, what: String) {
        if !self.ignored.contains(&what) {
            self.ignored.push(what);
        }
    }

    /// The tree that means the same.
    fn root(&mut self, sections: &[Section<'_>]) -> Vec<Entry> {
        let defaults = sections.iter().find(|section| section.name == "DEFAULT");
        let mut routes = Vec::new();
        for section in sections {
            match section.name {
                "DEFAULT" => options::defaults(section, self),
                "logger" => options::logger(section, self),
                "routing" => routes.extend(Route::read(section, defaults, self)),
                "pointsman" => options::own(section, self),
                "metadata_cache" => self.problem(
                    section.line,
                    format!(
                        "{} needs the metadata of an InnoDB Cluster, which is not read here: give `destinations` as \
                         `host:port,host:port`",
                        section.title()
                    ),
                ),
                name if IGNORED.contains(&name) => self.ignore(section.title()),
                name => {
                    let near = suggestion(name, KNOWN.into_iter().chain(IGNORED));
                    let message = format!("unknown section {}{near}", section.title());
                    self.leave_out(section.line, message, "it is left out");
                }
            }
        }
        if routes.is_empty() && self.problems.is_empty() {
            self.problem(0, "there is no section [routing:NAME]".to_owned());
        }
        let total = options::max_total_connections(defaults, self);
        let own = sections.iter().find(|section| section.name == "pointsman");
        self.tree(&routes, total, own)
    }

    fn tree(
        &mut self,
        routes: &[Route],
        (total, total_at): (i64, usize),
        own: Option<&Section<'_>>,
    ) -> Vec<Entry> {
        let top = Place::new(&self.file, 0);
        let mut listeners = Vec::new();
        let mut servers = Vec::new();
        for (hostgroup, route) in (0..).zip(routes) {
            listeners.extend(route.listeners(hostgroup, &self.file));
            servers.extend(route.servers(hostgroup, total, &self.file));
        }
        let mut variables = route::variables(routes, &self.file);
        // MySQL Router does not log in to static destinations.
        variables.push(entry("monitor_enabled", Value::Bool(false), &top));
        variables.push(entry("max_connections", Value::Int(total), &Place::new(&self.file, total_at)));
        let list = |key: &str, rows: Vec<Node>| entry(key, Value::List(rows), &top);
        let admin = vec![options::admin(own, &top), options::accounts(own, &top)];
        vec![
            list("listeners", listeners),
            list("mysql_servers", servers),
            entry("mysql_variables", Value::Group(variables), &top),
            entry("pointsman_variables", Value::Group(vec![options::health(own, &top)]), &top),
            entry("admin_variables", Value::Group(admin), &top),
        ]
    }
}

/// A setting, and where what it comes from stands.
fn entry(key: &str, value: Value, at: &Place) -> Entry {
    Entry { key: key.to_owned(), at: at.clone(), node: Node { value, at: at.clone() } }
}

#[cfg(test)]
mod tests;
