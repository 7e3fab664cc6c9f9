//! The query log, the slow log and the audit log: what is in them, which files there are, and that
//! they never make a statement wait.

mod audit;
mod events;
mod failed;
mod files;
mod recent;
mod slow;
mod stuck;

use std::path::Path;
use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// A proxy with an admin port, whose files are in its own folder.
fn setup() -> Setup {
    Setup::before(&DB.sandbox, &DB.server).datadir().admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

/// The same, which logs all statements as JSON in files called `q`.
fn all_as_json() -> Setup {
    all_as_json_in("q")
}

/// The same with another name.
fn all_as_json_in(name: &str) -> Setup {
    setup()
        .variable("eventslog_filename", format!("\"{name}\""))
        .variable("eventslog_format", 2)
        .variable("eventslog_default_log", 1)
}

/// A connection to the admin port.
async fn admin(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap()
}

/// Has everything written that was logged until now, and new files begun.
async fn flush(proxy: &Proxy) {
    admin(proxy).await.query("PROXYSQL FLUSH LOGS").await.unwrap();
}

/// A value of `stats_mysql_global`.
async fn global(admin: &mut Client, name: &str) -> u64 {
    let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    admin.query(&sql).await.unwrap().first().unwrap().parse().unwrap()
}

/// The lines of a file.
fn lines(folder: &Path, name: &str) -> Vec<String> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// The files of a log, in the order of their numbers.
fn files(folder: &Path, base: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.strip_prefix(base).is_some_and(|rest| rest.starts_with('.')));
    names.sort_unstable();
    names
}

/// The value of a name in a line of the query log, as it is written there; `None` if the name is
/// not there.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!("\"{name}\":"))? + name.len() + 3;
    let rest = &line[start..];
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next(),
    }
}
