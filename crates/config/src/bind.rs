//! From the tree of either format to typed rows: the one place where names and values are judged.

mod check;
mod members;
mod shards;
mod tables;
mod unbuilt;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::draft::{Checked, Draft};
use crate::formats::Parsed;
use crate::model::{
    AdminVariables, AuroraHostgroups, ClusterHostgroups, Config, FastRoute, FirewallRule, FirewallUser,
    HostgroupAttributes, Listener, MonitorVariables, MysqlVariables, PointsmanVariables, Protocol, QueryRule,
    ReplicationHostgroups, Server, ServerOptions, ServerTls, SqliFingerprint, User,
};
use crate::nearest::suggestion;
use crate::problem::{Problem, Problems, once_each};
use crate::row::{PlacedRow, Row};
use crate::schema::{
    ADMIN_VARIABLES, Field, LISTENERS, MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_FIREWALL_WHITELIST_RULES,
    MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS, MYSQL_FIREWALL_WHITELIST_USERS, MYSQL_GALERA_HOSTGROUPS,
    MYSQL_GROUP_REPLICATION_HOSTGROUPS, MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_QUERY_RULES,
    MYSQL_QUERY_RULES_FAST_ROUTING, MYSQL_REPLICATION_HOSTGROUPS, MYSQL_SERVERS, MYSQL_SERVERS_SSL_PARAMS,
    MYSQL_USERS, MYSQL_VARIABLES, POINTSMAN_SERVERS, POINTSMAN_VARIABLES, Preset, SECTIONS, Scalar, Section,
    Shape, TOP_LEVEL,
};
use crate::tree::{Entry, Node, Place, Value};
use crate::turns::in_turns;
use crate::{Loaded, Strictness};
use tables::Tables;
use unbuilt::Unbuilt;

/// The configuration that `parsed` describes, or everything that is wrong with it.
pub(crate) fn bind(parsed: Parsed, origin: &Path, strictness: Strictness) -> Result<Loaded, Problems> {
    let foreign = parsed.is_foreign;
    let lenient = foreign && strictness == Strictness::Lenient;
    let (mut read, notes) = read(parsed, origin, strictness);
    let listeners = check::all(&read.tables, read.complete, &mut read.problems);
    let layout = if read.complete { shards::layout(&read.tables, None, &mut read.problems) } else { None };
    let Read { tables, unbuilt, left_out, .. } = read.sound()?;
    let config = Config { shards: layout, ..config(&tables, listeners, None) };
    if let Some(message) = check::own_server(&config, &check::endpoints(&config)) {
        return Err(Problems::one(Problem::new(origin, 0, message)));
    }
    let file = origin.display();
    let warnings = notes.into_iter().chain(unbuilt.warning()).chain(members::warnings(&tables));
    let fast_routes = foreign.then(|| check::fast_routes(&tables)).flatten();
    let warnings = warnings.chain(check::warnings(&config)).chain(fast_routes);
    let warnings = warnings.map(|warning| format!("{file}: {warning}"));
    let left_out: Vec<_> = once_each(left_out).iter().map(Problem::to_string).collect();
    let warnings = left_out.iter().cloned().chain(warnings).collect();
    Ok(Loaded { config, draft: tables.into_draft(), warnings, left_out, lenient })
}

/// The rows that `parsed` describes, each judged by itself.
pub(crate) fn rows(parsed: Parsed, origin: &Path) -> Result<Draft, Problems> {
    let parsed = Parsed { presets: &[], ..parsed };
    Ok(read(parsed, origin, Strictness::Strict).0.sound()?.tables.into_draft())
}

/// What the rows of `draft` mean together, or everything that is wrong with them. Those that it has
/// from `sound` need not be checked by themselves, and mean what they did.
pub(crate) fn check(draft: &Draft, sound: Option<(&Draft, &Config)>) -> Result<Checked, Vec<Problem>> {
    let tables = Tables::from_draft(draft, sound.map(|(sound, _)| sound));
    let mut problems = Vec::new();
    let listeners = check::all(&tables, true, &mut problems);
    let meaning = sound.map(|(_, meaning)| meaning);
    let layout = shards::layout(&tables, meaning, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let config = Config { shards: layout, ..config(&tables, listeners, meaning) };
    let members = members::warnings(&tables);
    tables.free();
    let warnings = Unbuilt::of(draft).warning().into_iter().chain(members).chain(check::warnings(&config));
    Ok(Checked { config, warnings: warnings.collect() })
}

/// The typed form of rows that go together; those that were checked are as in `before`.
fn config(tables: &Tables, listeners: Listeners, before: Option<&Config>) -> Config {
    let group = |section| tables.of(section).first().map(|row| &row.row);
    let rows = |section| in_turns(tables.of(section)).map(|row| &row.row);
    let top = |name| group(&TOP_LEVEL).map_or_else(String::new, |row| row.get(name));
    Config {
        listeners: listeners.into_iter().map(|(listener, _)| listener).collect(),
        variables: group(&MYSQL_VARIABLES).map_or_else(MysqlVariables::default, MysqlVariables::from_row),
        monitor: group(&MYSQL_VARIABLES).map_or_else(MonitorVariables::default, MonitorVariables::from_row),
        pointsman: group(&POINTSMAN_VARIABLES)
            .map_or_else(PointsmanVariables::default, PointsmanVariables::from_row),
        admin: group(&ADMIN_VARIABLES).map_or_else(AdminVariables::default, AdminVariables::from_row),
        servers: tables.typed(&MYSQL_SERVERS, before.map(|before| &before.servers), Server::from_row),
        server_options: rows(&POINTSMAN_SERVERS).map(ServerOptions::from_row).collect(),
        users: tables.typed(&MYSQL_USERS, before.map(|before| &before.users), User::from_row),
        server_tls: rows(&MYSQL_SERVERS_SSL_PARAMS).map(ServerTls::from_row).collect(),
        query_rules: tables.typed(
            &MYSQL_QUERY_RULES,
            before.map(|before| &before.query_rules),
            QueryRule::from_row,
        ),
        fast_routes: rows(&MYSQL_QUERY_RULES_FAST_ROUTING).map(FastRoute::from_row).collect(),
        firewall_users: rows(&MYSQL_FIREWALL_WHITELIST_USERS).map(FirewallUser::from_row).collect(),
        firewall_rules: rows(&MYSQL_FIREWALL_WHITELIST_RULES).map(FirewallRule::from_row).collect(),
        sqli_fingerprints: rows(&MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS)
            .map(SqliFingerprint::from_row)
            .collect(),
        replication_hostgroups: rows(&MYSQL_REPLICATION_HOSTGROUPS)
            .map(ReplicationHostgroups::from_row)
            .collect(),
        group_replication_hostgroups: rows(&MYSQL_GROUP_REPLICATION_HOSTGROUPS)
            .map(ClusterHostgroups::from_row)
            .collect(),
        galera_hostgroups: rows(&MYSQL_GALERA_HOSTGROUPS).map(ClusterHostgroups::from_row).collect(),
        aurora_hostgroups: rows(&MYSQL_AWS_AURORA_HOSTGROUPS).map(AuroraHostgroups::from_row).collect(),
        hostgroup_attributes: rows(&MYSQL_HOSTGROUP_ATTRIBUTES).map(HostgroupAttributes::from_row).collect(),
        shards: None,
        datadir: top("datadir"),
        errorlog: top("errorlog"),
        log_format: group(&TOP_LEVEL).map_or_else(Default::default, |row| row.get("log_format")),
        pidfile: top("pidfile"),
    }
}

/// What a file holds, as far as it can be read.
struct Read {
    tables: Tables,
    /// Problems of the grammar, then those of values.
    problems: Vec<Problem>,
    /// How many of them are of the grammar.
    grammatical: usize,
    unbuilt: Unbuilt,
    /// Whether the whole file could be read.
    complete: bool,
    /// What was left out of a file of another program, and what counts in its place.
    left_out: Vec<Problem>,
}

/// Judges every value of a file; also the warnings that its format gives.
fn read(parsed: Parsed, origin: &Path, strictness: Strictness) -> (Read, Vec<String>) {
    let complete = parsed.problems.is_empty();
    let grammatical = parsed.problems.len();
    let lenient = complete && parsed.is_foreign && strictness == Strictness::Lenient;
    let unbuilt = Unbuilt::default();
    let mut binder = Binder {
        problems: parsed.problems,
        unbuilt,
        complete,
        lenient,
        left_out: parsed.left_out,
        presets: parsed.presets,
    };
    let tables = binder.tables(parsed.root, origin);
    let Binder { problems, unbuilt, left_out, .. } = binder;
    let read = Read { tables, problems, grammatical, unbuilt, complete, left_out };
    (read, parsed.warnings)
}

impl Read {
    /// Itself if nothing is wrong. What stands on a line that could not be read is only guessed,
    /// and not reported.
    fn sound(mut self) -> Result<Self, Problems> {
        let judged = self.problems.split_off(self.grammatical);
        let broken: HashSet<(PathBuf, usize)> =
            self.problems.iter().map(|problem| (problem.file.clone(), problem.line)).collect();
        let guessed = |problem: &Problem| broken.contains(&(problem.file.clone(), problem.line));
        self.problems.extend(judged.into_iter().filter(|problem| !guessed(problem)));
        match Problems::sorted(std::mem::take(&mut self.problems)) {
            Some(problems) => Err(problems),
            None => Ok(self),
        }
    }
}

struct Binder {
    problems: Vec<Problem>,
    unbuilt: Unbuilt,
    /// Whether the whole file could be read. If not, what seems to be missing may stand where it
    /// could not.
    complete: bool,
    /// Whether what another program does without is left out.
    lenient: bool,
    left_out: Vec<Problem>,
    /// Values of variables that the file does not give.
    presets: &'static [(&'static str, &'static str, Preset)],
}

impl Binder {
    fn problem(&mut self, at: &Place, message: String) {
        self.problems.push(Problem::new(&at.file, at.line, message));
    }

    /// The same, but for a file of another program: there `instead` says what becomes of it.
    fn leave_out(&mut self, at: &Place, message: String, instead: &str) {
        if self.lenient {
            self.left_out.push(Problem::new(&at.file, at.line, format!("{message}; {instead}")));
        } else {
            self.problem(at, message);
        }
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
            let rows = self.section(section, entry);
            if section.name == LISTENERS.name {
                tables.listeners_at = Some(at);
            }
            tables.put(section, rows);
        }
        let file = Place::new(&origin.into(), 0);
        for section in
            SECTIONS.iter().filter(|section| self.presets.iter().any(|(of, ..)| *of == section.name))
        {
            if !seen.iter().any(|(name, _)| *name == section.name) {
                let row = self.row(section, Vec::new(), file.clone());
                tables.put(section, row.into_iter().collect());
            }
        }
        let top_level = self.row(&TOP_LEVEL, others, file);
        tables.put(&TOP_LEVEL, top_level.into_iter().collect());
        tables
    }

    /// The rows of a section; one if it is a group.
    fn section(&mut self, section: &'static Section, entry: Entry) -> Vec<PlacedRow> {
        let name = section.name;
        match (section.shape, entry.node.value) {
            (Shape::Group, Value::Group(entries)) => {
                self.row(section, entries, entry.at).into_iter().collect()
            }
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
                let rows = nodes.into_iter().filter_map(|node| self.list_item(section, node)).collect();
                if self.lenient && section.name != LISTENERS.name {
                    self.last_of_each(section, rows)
                } else {
                    rows
                }
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
            Value::Group(entries) => self.row(section, entries, node.at),
            other => {
                let message = format!("a row of `{}` must be a group, not {other}", section.name);
                self.leave_out(&node.at, message, SKIPPED);
                None
            }
        }
    }

    /// The rows of a file in which some have the same key: the last of each counts, as where rows
    /// replace those that are there.
    fn last_of_each(&mut self, section: &Section, rows: Vec<PlacedRow>) -> Vec<PlacedRow> {
        let mut later: HashMap<(usize, Vec<Scalar>), Place> = HashMap::new();
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows.into_iter().rev() {
            let mut replaced = None;
            for (number, key) in section.unique.iter().enumerate() {
                let values = key.iter().map(|column| row.row.scalar(column).clone()).collect();
                if let Some(at) = later.insert((number, values), row.at.clone()) {
                    replaced = Some((key, at));
                }
            }
            let Some((key, at)) = replaced else {
                kept.push(row);
                continue;
            };
            let shown = key.iter().map(|column| format!("{column} = {}", row.row.scalar(column).literal()));
            let shown: Vec<String> = shown.collect();
            let message = format!("`{}` has two rows with {}", section.name, shown.join(", "));
            self.leave_out(&row.at, message, &format!("the row on line {} counts", at.line));
        }
        kept.reverse();
        kept
    }

    /// One row, or one group of variables, that starts at `at`; nothing if it is a row that is
    /// skipped.
    fn row(&mut self, section: &'static Section, entries: Vec<Entry>, at: Place) -> Option<PlacedRow> {
        let is_row = section.shape == Shape::Rows;
        let mut is_skipped = false;
        let (before, left_out) = (self.problems.len(), self.left_out.len());
        let mut row = Row::presets(section);
        for (_, name, preset) in self.presets.iter().filter(|(of, ..)| *of == section.name) {
            if let (Some((position, _)), Some(value)) = (section.find(name), preset.value()) {
                row.set(position, value);
            }
        }
        let mut given: Vec<Option<Place>> = vec![None; section.fields().count()];
        for entry in entries {
            let Some((position, field)) = section.find(&entry.key) else {
                if section.removed.contains(&entry.key.as_str()) {
                    self.unbuilt.field(section, &entry.key);
                } else {
                    self.unknown(section, &entry);
                }
                continue;
            };
            let Some(given) = given.get_mut(position) else { continue };
            if let Some(first) = given {
                let message =
                    format!("{} is set twice, first on line {}", full_name(section, field), first.line);
                self.problem(&entry.at, message);
                continue;
            }
            *given = Some(entry.node.at.clone());
            match field.kind.accept(&entry.node.value, field.secret) {
                Ok(value) => {
                    row.set(position, value);
                    self.unbuilt.given(section, field, &row);
                }
                Err(message) => {
                    let instead = if is_row { SKIPPED } else { "the default is kept" };
                    let message = format!("{} {message}", full_name(section, field));
                    self.leave_out(&entry.node.at, message, instead);
                    is_skipped |= is_row;
                }
            }
        }
        if self.complete && !(self.lenient && is_skipped) {
            is_skipped |= self.missing(section, &given, &at);
        }
        if self.lenient && is_skipped {
            self.name_row(left_out, &row, &given);
            return None;
        }
        // Also where nothing is said of it, because it may stand where the file could not be read.
        let is_whole = lacking(section, &given).next().is_none();
        let row = PlacedRow { row, at, given: Some(given), sound: is_whole && self.problems.len() == before };
        if self.lenient && is_row && row.sound && self.breaks_rule(section, &row) {
            self.name_row(left_out, &row.row, row.given.as_deref().unwrap_or_default());
            return None;
        }
        Some(row)
    }

    /// Names the row in what was left out of it, from `first` on, if its key was given.
    fn name_row(&mut self, first: usize, row: &Row, given: &[Option<Place>]) {
        let key = row.section().unique.first().copied().unwrap_or_default();
        let is_given = |column: &&str| {
            row.section().find(column).is_some_and(|(at, _)| given.get(at).is_some_and(Option::is_some))
        };
        if key.is_empty() || !key.iter().all(is_given) {
            return;
        }
        for problem in self.left_out.iter_mut().skip(first) {
            problem.message = format!("row {}: {}", row.key(), problem.message);
        }
    }

    /// Reports what does not hold between the columns of a row. Whether there is something.
    fn breaks_rule(&mut self, section: &Section, row: &PlacedRow) -> bool {
        let broken: Vec<_> = check::broken(section, row).collect();
        for (at, message) in &broken {
            self.leave_out(at, message.clone(), SKIPPED);
        }
        !broken.is_empty()
    }

    /// Reports what a row lacks. Whether it lacks something.
    fn missing(&mut self, section: &Section, given: &[Option<Place>], at: &Place) -> bool {
        let lacking: Vec<_> = lacking(section, given).collect();
        for field in &lacking {
            self.leave_out(at, format!("a row of `{}` needs `{}`", section.name, field.name), SKIPPED);
        }
        !lacking.is_empty()
    }

    /// Says of a name that the section does not have where it belongs, or which one was meant.
    fn unknown(&mut self, section: &Section, entry: &Entry) {
        let key = entry.key.escape_debug();
        let top_level = section.name.is_empty();
        let place = if top_level { String::new() } else { format!(" in `{}`", section.name) };
        let sections = SECTIONS.iter().filter(|_| top_level).map(|section| section.name);
        let fields = section.fields().flat_map(|field| [Some(field.name), field.alias]).flatten();
        let mut hint = suggestion(&entry.key, fields.chain(sections));
        if entry.key.starts_with("pgsql_") {
            // ProxySQL 3's: names of MySQL's settings are near, and not meant.
            "; PostgreSQL is not proxied".clone_into(&mut hint);
        }
        if hint.is_empty()
            && let Some(home) = SECTIONS.iter().find(|home| home.find(&entry.key).is_some())
        {
            hint = format!("; it belongs in `{}`", home.name);
        }
        self.leave_out(&entry.at, format!("unknown setting `{key}`{place}{hint}"), "it is left out");
    }
}

/// What becomes of a row of another program's file that cannot be used.
const SKIPPED: &str = "the row is skipped";

/// What a row must be given, and is not.
fn lacking(section: &Section, given: &[Option<Place>]) -> impl Iterator<Item = &'static Field> {
    let is_lacking =
        |(field, given): &(&Field, &Option<Place>)| field.preset == Preset::Required && given.is_none();
    section.fields().zip(given).filter(is_lacking).map(|(field, _)| field)
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
    listener.protocol() == Protocol::Mysql
}

#[cfg(test)]
mod tests;
