//! Options that are not those of a route: `[DEFAULT]`, `[logger]`, and a section that MySQL Router
//! does not have.

use super::ini::{Section, Setting};
use super::{Reader, entry, route};
use crate::nearest::suggestion;
use crate::tree::{Entry, Place, Value};

/// Options of `[DEFAULT]` that are about MySQL Router's own files and processes.
const WITHOUT_EFFECT: [&str; 21] = [
    "logging_folder",
    "plugin_folder",
    "config_folder",
    "runtime_folder",
    "data_folder",
    "keyring_path",
    "master_key_path",
    "master_key_reader",
    "master_key_writer",
    "user",
    "pid_file",
    "sinks",
    "name",
    "core-file",
    "dynamic_state",
    "read_timeout",
    "thread_stack_size",
    "event_source_name",
    "filename",
    "unknown_config_option",
    "max_idle_server_connections",
];

/// MySQL Router's default of `max_total_connections`.
const TOTAL_CONNECTIONS: i64 = 512;

/// The option of `[DEFAULT]` that holds for all routes together.
const MAX_TOTAL: &str = "max_total_connections";

const LOGGER: [&str; 5] = ["level", "filename", "destination", "sinks", "timestamp_precision"];

/// MySQL Router's levels.
const LEVELS: [&str; 7] = ["fatal", "system", "error", "warning", "info", "note", "debug"];

/// An option of `[pointsman]`: where the admin port listens.
const ADMIN: &str = "admin_address";

/// Another one: the accounts of the admin port.
const ACCOUNTS: &str = "admin_credentials";

/// Another one: where health checks are answered.
const HEALTH: &str = "health_address";

/// Judges the names in `[DEFAULT]`; values of routes are judged where they are used.
pub(super) fn defaults(section: &Section<'_>, reader: &mut Reader) {
    for setting in section.settings() {
        let name = setting.name.as_str();
        if WITHOUT_EFFECT.contains(&name) {
            reader.ignore(format!("{} {name}", section.title()));
        } else if name != MAX_TOTAL && !route::knows(name) {
            let valid = WITHOUT_EFFECT.into_iter().chain(route::names()).chain([MAX_TOTAL]);
            unknown(section, setting, valid, reader);
        }
    }
}

/// Most clients in all, and the line that says so.
pub(super) fn max_total_connections(defaults: Option<&Section<'_>>, reader: &mut Reader) -> (i64, usize) {
    let Some((section, setting)) = defaults.and_then(|section| Some((section, section.get(MAX_TOTAL)?)))
    else {
        return (TOTAL_CONNECTIONS, 0);
    };
    (number(section, setting, (1, 100_000), reader).unwrap_or(TOTAL_CONNECTIONS), setting.line)
}

/// Logs go to standard error here, and `RUST_LOG` says which.
pub(super) fn logger(section: &Section<'_>, reader: &mut Reader) {
    for setting in section.settings() {
        let name = setting.name.as_str();
        if !LOGGER.contains(&name) {
            unknown(section, setting, LOGGER, reader);
        } else if name == "level" && !LEVELS.contains(&setting.value.to_ascii_lowercase().as_str()) {
            choice(section, setting, &LEVELS, reader);
        } else {
            reader.ignore(format!("{} {name}", section.title()));
        }
    }
}

/// Judges the names in `[pointsman]`.
pub(super) fn own(section: &Section<'_>, reader: &mut Reader) {
    for setting in section.settings() {
        if ![ADMIN, ACCOUNTS, HEALTH].contains(&setting.name.as_str()) {
            unknown(section, setting, [ADMIN, ACCOUNTS, HEALTH], reader);
        }
    }
}

/// The admin port's addresses. It is closed unless the file has an address for it: MySQL Router has
/// none, and so are its accounts.
pub(super) fn admin(own: Option<&Section<'_>>, top: &Place) -> Entry {
    variable(own, ADMIN, "mysql_ifaces", top)
}

/// The accounts of the admin port.
pub(super) fn accounts(own: Option<&Section<'_>>, top: &Place) -> Entry {
    variable(own, ACCOUNTS, "admin_credentials", top)
}

/// Where health checks are answered.
pub(super) fn health(own: Option<&Section<'_>>, top: &Place) -> Entry {
    variable(own, HEALTH, "health_address", top)
}

/// A variable that an option of `[pointsman]` sets; empty if it is not there.
fn variable(own: Option<&Section<'_>>, option: &str, name: &str, top: &Place) -> Entry {
    match own.and_then(|section| section.get(option)) {
        Some(setting) => {
            let at = Place { line: setting.line, ..top.clone() };
            entry(name, Value::Text(setting.value.to_owned()), &at)
        }
        None => entry(name, Value::Text(String::new()), top),
    }
}

/// Reports an option that the section does not have.
pub(super) fn unknown<'a>(
    section: &Section<'_>,
    setting: &Setting<'_>,
    valid: impl IntoIterator<Item = &'a str>,
    reader: &mut Reader,
) {
    let near = suggestion(&setting.name, valid);
    let (name, title) = (setting.name.escape_debug(), section.title());
    reader.leave_out(setting.line, format!("unknown option `{name}` in {title}{near}"), "it is left out");
}

/// Reports a value that is not one of these words.
pub(super) fn choice(section: &Section<'_>, setting: &Setting<'_>, of: &[&str], reader: &mut Reader) {
    let near = suggestion(setting.value, of.iter().copied());
    wrong(
        section,
        setting,
        &format!("must be one of `{}`, not `{}`{near}", of.join("`, `"), setting.value.escape_debug()),
        reader,
    );
}

/// Reports a value; `why` is the rest of a sentence that begins with the option.
pub(super) fn wrong(section: &Section<'_>, setting: &Setting<'_>, why: &str, reader: &mut Reader) {
    reader.problem(setting.line, format!("`{}` in {} {why}", setting.name, section.title()));
}

/// A number within `range`; nothing, and a problem, if it is none.
pub(super) fn number(
    section: &Section<'_>,
    setting: &Setting<'_>,
    (min, max): (i64, i64),
    reader: &mut Reader,
) -> Option<i64> {
    let value = setting.value.parse().ok().filter(|value| (min..=max).contains(value));
    if value.is_none() {
        let why =
            format!("must be a whole number from {min} to {max}, not `{}`", setting.value.escape_debug());
        wrong(section, setting, &why, reader);
    }
    value
}
