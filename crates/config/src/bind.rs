//! From the tree of either format to typed rows: the one place where names and values are judged.

mod check;
mod unbuilt;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::Loaded;
use crate::formats::Parsed;
use crate::model::{
    Config, Listener, MysqlVariables, PointsmanVariables, Protocol, Server, ServerOptions, ServerTls, User,
};
use crate::nearest::suggestion;
use crate::problem::{Problem, Problems};
use crate::row::{PlacedRow, Row};
use crate::schema::{
    Field, LISTENERS, MYSQL_SERVERS, MYSQL_SERVERS_SSL_PARAMS, MYSQL_USERS, MYSQL_VARIABLES,
    POINTSMAN_SERVERS, POINTSMAN_VARIABLES, SECTIONS, Section, Shape, TOP_LEVEL,
};
use crate::tree::{Entry, Node, Place, Value};
use unbuilt::Unbuilt;

/// The configuration that `parsed` describes, or everything that is wrong with it.
pub(crate) fn bind(parsed: Parsed, origin: &Path) -> Result<Loaded, Problems> {
    let complete = parsed.problems.is_empty();
    let broken: HashSet<(PathBuf, usize)> =
        parsed.problems.iter().map(|problem| (problem.file.clone(), problem.line)).collect();
    let grammatical = parsed.problems.len();
    let mut binder = Binder { problems: parsed.problems, unbuilt: Unbuilt::default(), complete };
    let tables = binder.tables(parsed.root, origin);
    let listeners = check::listeners(&tables, &mut binder.problems);
    check::servers(&tables.servers, &mut binder.problems);
    for (section, rows) in [
        (&MYSQL_SERVERS, &tables.servers),
        (&POINTSMAN_SERVERS, &tables.server_options),
        (&MYSQL_USERS, &tables.users),
        (&MYSQL_SERVERS_SSL_PARAMS, &tables.server_tls),
    ] {
        check::unique(section, rows, &mut binder.problems);
    }
    if complete {
        check::tcp_hostgroups(&listeners, &tables, &mut binder.problems);
    }
    // What stands on a line that could not be read is only guessed.
    let judged = binder.problems.split_off(grammatical);
    binder
        .problems
        .extend(judged.into_iter().filter(|problem| !broken.contains(&(problem.file.clone(), problem.line))));
    if let Some(problems) = Problems::sorted(binder.problems) {
        return Err(problems);
    }
    let config = Config {
        listeners: listeners.into_iter().map(|(listener, _)| listener).collect(),
        variables: tables
            .mysql
            .as_ref()
            .map_or_else(MysqlVariables::default, |row| MysqlVariables::from_row(&row.row)),
        pointsman: tables
            .pointsman
            .as_ref()
            .map_or_else(PointsmanVariables::default, |row| PointsmanVariables::from_row(&row.row)),
        servers: tables.servers.iter().map(|row| Server::from_row(&row.row)).collect(),
        server_options: tables.server_options.iter().map(|row| ServerOptions::from_row(&row.row)).collect(),
        users: tables.users.iter().map(|row| User::from_row(&row.row)).collect(),
        server_tls: tables.server_tls.iter().map(|row| ServerTls::from_row(&row.row)).collect(),
        datadir: tables.top_level.as_ref().map_or_else(String::new, |row| row.row.get("datadir")),
    };
    let mut warnings: Vec<String> = binder.unbuilt.warning(origin).into_iter().collect();
    warnings.extend(check::warnings(&config, origin));
    Ok(Loaded { config, warnings })
}

/// What was found for the sections that do something.
#[derive(Debug, Default)]
struct Tables {
    /// The rows of `listeners`; nothing if there is no such section.
    listeners: Option<(Place, Vec<PlacedRow>)>,
    mysql: Option<PlacedRow>,
    pointsman: Option<PlacedRow>,
    servers: Vec<PlacedRow>,
    server_options: Vec<PlacedRow>,
    users: Vec<PlacedRow>,
    server_tls: Vec<PlacedRow>,
    /// What stands outside of every section.
    top_level: Option<PlacedRow>,
}

struct Binder {
    problems: Vec<Problem>,
    unbuilt: Unbuilt,
    /// Whether the whole file could be read. If not, what seems to be missing may stand where it could not.
    complete: bool,
}

impl Binder {
    fn problem(&mut self, at: &Place, message: String) {
        self.problems.push(Problem::new(&at.file, at.line, message));
    }

    /// Judges the top level and all that is in it.
    fn tables(&mut self, root: Vec<Entry>, origin: &Path) -> Tables {
        let mut tables = Tables::default();
        let mut seen: Vec<(&'static str, Place)> = Vec::new();
        let mut others = Vec::new();
        for entry in root {
            let Some(section) = SECTIONS.iter().find(|section| section.name == entry.key) else {
                others.push(entry);
                continue;
            };
            if let Some((name, first)) = seen.iter().find(|(name, _)| *name == section.name) {
                let message = format!("`{name}` stands twice, first on line {}", first.line);
                self.problem(&entry.at, message);
                continue;
            }
            seen.push((section.name, entry.at.clone()));
            let at = entry.at.clone();
            let mut rows = self.section(section, entry);
            match section.name {
                name if name == LISTENERS.name => tables.listeners = Some((at, rows)),
                name if name == MYSQL_VARIABLES.name => tables.mysql = rows.pop(),
                name if name == POINTSMAN_VARIABLES.name => tables.pointsman = rows.pop(),
                name if name == MYSQL_SERVERS.name => tables.servers = rows,
                name if name == POINTSMAN_SERVERS.name => tables.server_options = rows,
                name if name == MYSQL_USERS.name => tables.users = rows,
                name if name == MYSQL_SERVERS_SSL_PARAMS.name => tables.server_tls = rows,
                _ => check::unique(section, &rows, &mut self.problems),
            }
        }
        let file = Place { file: origin.into(), line: 0 };
        tables.top_level = Some(self.row(&TOP_LEVEL, others, file));
        tables
    }

    /// The rows of a section; one if it is a group.
    fn section(&mut self, section: &'static Section, entry: Entry) -> Vec<PlacedRow> {
        let name = section.name;
        match (section.shape, entry.node.value) {
            (Shape::Group, Value::Group(entries)) => vec![self.row(section, entries, entry.at)],
            (Shape::Open, Value::Group(entries)) => {
                if !entries.is_empty() {
                    self.unbuilt.section(name);
                }
                Vec::new()
            }
            (Shape::Group | Shape::Open, other) => {
                let message = format!("`{name}` must be a group of settings, not {other}");
                self.problem(&entry.node.at, message);
                Vec::new()
            }
            (Shape::Rows, Value::List(nodes)) => {
                if !section.built() && !nodes.is_empty() {
                    self.unbuilt.section(name);
                }
                nodes.into_iter().filter_map(|node| self.list_item(section, node)).collect()
            }
            (Shape::Rows, other) => {
                let message = format!("`{name}` must be a list of groups, not {other}");
                self.problem(&entry.node.at, message);
                Vec::new()
            }
        }
    }

    fn list_item(&mut self, section: &'static Section, node: Node) -> Option<PlacedRow> {
        match node.value {
            Value::Group(entries) => Some(self.row(section, entries, node.at)),
            other => {
                let message = format!("a row of `{}` must be a group, not {other}", section.name);
                self.problem(&node.at, message);
                None
            }
        }
    }

    /// One row, or one group of variables, that starts at `at`.
    fn row(&mut self, section: &'static Section, entries: Vec<Entry>, at: Place) -> PlacedRow {
        let before = self.problems.len();
        let mut placed = PlacedRow {
            row: Row::presets(section),
            at,
            given: vec![None; section.fields().count()],
            sound: true,
        };
        for entry in entries {
            let Some((position, field)) = section.find(&entry.key) else {
                if section.removed.contains(&entry.key.as_str()) {
                    self.unbuilt.field(section, &entry.key);
                } else {
                    self.unknown(section, &entry);
                }
                continue;
            };
            if let Some(first) = &placed.given[position] {
                let message =
                    format!("{} is set twice, first on line {}", full_name(section, field), first.line);
                self.problem(&entry.at, message);
                continue;
            }
            placed.given[position] = Some(entry.node.at.clone());
            if !field.built {
                self.unbuilt.field(section, field.name);
            }
            match field.kind.accept(&entry.node.value, field.secret) {
                Ok(value) => placed.row.set(position, value),
                Err(message) => {
                    self.problem(&entry.node.at, format!("{} {message}", full_name(section, field)));
                }
            }
        }
        if self.complete {
            self.missing(section, &placed);
        }
        placed.sound = self.problems.len() == before;
        placed
    }

    fn missing(&mut self, section: &Section, placed: &PlacedRow) {
        for (field, given) in section.fields().zip(&placed.given) {
            if field.preset == crate::schema::Preset::Required && given.is_none() {
                let message = format!("a row of `{}` needs `{}`", section.name, field.name);
                self.problem(&placed.at, message);
            }
        }
    }

    /// Says of a name that the section does not have where it belongs, or which one was meant.
    fn unknown(&mut self, section: &Section, entry: &Entry) {
        let key = entry.key.escape_debug();
        let top_level = section.name.is_empty();
        let place = if top_level { String::new() } else { format!(" in `{}`", section.name) };
        let sections = SECTIONS.iter().filter(|_| top_level).map(|section| section.name);
        let fields = section.fields().flat_map(|field| [Some(field.name), field.alias]).flatten();
        let mut hint = suggestion(&entry.key, fields.chain(sections));
        if hint.is_empty()
            && let Some(home) = SECTIONS.iter().find(|home| home.find(&entry.key).is_some())
        {
            hint = format!("; it belongs in `{}`", home.name);
        }
        self.problem(&entry.at, format!("unknown setting `{key}`{place}{hint}"));
    }
}

/// A setting as messages call it: `` `mysql_variables.threads` ``.
fn full_name(section: &Section, field: &Field) -> String {
    if section.name.is_empty() {
        format!("`{}`", field.name)
    } else {
        format!("`{}.{}`", section.name, field.name)
    }
}

/// The listeners of a configuration and where they were asked for.
type Listeners = Vec<(Listener, Place)>;

/// Whether clients of a listener log in.
fn is_mysql(listener: &Listener) -> bool {
    listener.protocol == Protocol::Mysql
}

#[cfg(test)]
mod tests;
